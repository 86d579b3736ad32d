// The files that are open in a mount with passthrough: decides once whether it works here, then for each open.
import CFUSE
import Glibc
import MirrorCore
import MirrorPlatform
import Synchronization

/// How file content reaches programs.
public enum DataPath: Equatable, Sendable {
  /// Whole files are read by the kernel, from the cache's own.
  case passthrough
  /// Through this process, into the kernel's page cache; why not the other way, where that was wanted.
  case cached(because: String?)
}

/// What an OPEN is answered with.
struct OpenedFile: Sendable {
  fileprivate let way: OpenWay<BackingFile>
  /// 0 where the kernel asks us for the bytes.
  var backing: Int32 { way.backing?.id ?? 0 }
}

final class OpenFiles: Sendable {
  /// A registration costs the kernel an open file and us a few hundred bytes, so that many are no burden.
  private static let kept = 16384

  private struct State {
    /// Nil until the kernel has answered.
    var path: DataPath?
    var device: File?
    var table = OpenTable<NodeID, BackingFile>(limit: kept)
  }
  private let state = Mutex(State())
  /// Any file beside those that will be opened.
  private let probe: String
  private let log: Log

  init(beside probe: String, log: Log) {
    self.probe = probe
    self.log = log
  }

  var depth: UInt32 { BackingFile.depth(for: probe) }

  var path: DataPath { state.withLock { $0.path } ?? .cached(because: "the mount is not ready") }

  /// OPEN is of no use: the kernel may open files by itself.
  var isRefused: Bool { state.withLock { $0.path != nil && $0.path != .passthrough } }

  /// The kernel has answered: finds out whether it lets us. `device` is null where it does not know passthrough.
  func decide(_ device: File?) {
    let problem = device.map(tryOut) ?? "this kernel does not offer it; Linux 6.9 and later may"
    state.withLock { state in
      state.path = problem.map { .cached(because: $0) } ?? .passthrough
      state.device = problem == nil ? device : nil
    }
    if let problem { log.warning("no passthrough, files are read through this process: \(problem)") }
  }

  private func tryOut(_ device: File) -> String? {
    do throws(Errno) {
      _ = try BackingFile(try File.open(probe, .read), on: device, lease: self)
      return nil
    } catch { return Self.explanation(error) }
  }

  static func explanation(_ error: Errno) -> String {
    switch error.rawValue {
    case EPERM: "it takes the rights of root (CAP_SYS_ADMIN)"
    case ELOOP: "the cache lies on file systems stacked too deep; --cache-dir can name a place on a plain one"
    case EOPNOTSUPP, EINVAL, EBADF: "the cache's file system does not allow it (\(error))"
    default: "\(error)"
    }
  }

  // MARK: Handles

  /// One handle more of a node that has some, or whose file is ready; nil for others.
  func join(_ node: NodeID) -> OpenedFile? {
    state.withLock { $0.table.join(node) }.map { OpenedFile(way: $0) }
  }

  /// The first handle of a node whose bytes come by READ.
  func open(_ node: NodeID) -> OpenedFile { open(node, .cached) }

  /// The first handle of a node that is in a file whole.
  func open(_ node: NodeID, _ file: File, lease: any AnyObject & Sendable) -> OpenedFile {
    guard let device = state.withLock({ $0.device }) else { return open(node) }
    do throws(Errno) {
      // Where two are first at one time, one registration is given up unused.
      return open(node, .passthrough(try BackingFile(file, on: device, lease: lease)))
    } catch {
      log.once(.warning, key: "passthrough", "a file is read through this process: \(Self.explanation(error))")
      return open(node)
    }
  }

  private func open(_ node: NodeID, _ way: OpenWay<BackingFile>) -> OpenedFile {
    let (settled, dropped) = state.withLock { ($0.table.open(node, way), $0.table.trim()) }
    // Released here, not under the lock.
    withExtendedLifetime((way, dropped)) {}
    return OpenedFile(way: settled)
  }

  func close(_ node: NodeID) {
    let dropped = state.withLock { $0.table.close(node) }
    withExtendedLifetime(dropped) {}
  }

  func contains(_ node: NodeID) -> Bool { state.withLock { $0.table.contains(node) } }

  func forget(_ node: NodeID) {
    let dropped = state.withLock { $0.table.forget(node) }
    withExtendedLifetime(dropped) {}
  }

  /// The session is over: nothing is registered any more.
  func end() {
    let dropped = state.withLock { state in
      defer { state.device = nil }
      return (state.table.removeAll(), state.device)
    }
    withExtendedLifetime(dropped) {}
  }
}
