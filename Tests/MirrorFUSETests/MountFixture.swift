// One real mount of a synthetic tree in a temporary directory, taken down whatever the test does.
import Dispatch
import Glibc
import MirrorCore
import MirrorPlatform
import Testing

@testable import MirrorFUSE

final class MountFixture: Sendable {
  let path: String
  let session: KernelSession
  let tree: SyntheticTree
  private let ended = DispatchSemaphore(value: 0)

  static func temporaryDirectory() throws -> String {
    var template = Array("/tmp/s3mirror-fuse-XXXXXX\0".utf8CString)
    guard mkdtemp(&template) != nil else { throw Errno.last }
    return template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
  }

  /// Mounts, and returns when the kernel has taken the answer to INIT.
  init(_ tree: SyntheticTree, _ change: (inout MountOptions) -> Void = { _ in }) throws {
    self.tree = tree
    path = try Self.temporaryDirectory()
    var options = MountOptions(source: "s3://bucket/a,b\\c")
    change(&options)
    let session = try KernelSession(tree: tree, options: options, log: try Log())
    self.session = session
    try session.mount(at: path)
    let ready = DispatchSemaphore(value: 0)
    let ended = ended
    let thread = pthread(ended) { try session.run { ready.signal() } }
    guard thread, ready.wait(timeout: .now() + 10) == .success else {
      try? session.unmount(lazy: true)
      throw Errno(rawValue: ETIMEDOUT)
    }
  }

  /// Lets every held answer go, unmounts, and waits for the end of `run`.
  func close() {
    tree.release()
    try? session.unmount(lazy: true)
    #expect(waitForEnd(), "the session did not end")
    #expect(!DeadMount.isMounted(path))
    rmdir(path)
  }

  func waitForEnd() -> Bool {
    guard ended.wait(timeout: .now() + 10) == .success else { return false }
    ended.signal()
    return true
  }
}

/// Runs on a thread of its own; signals at its end.
private func pthread(_ ended: DispatchSemaphore, _ body: @escaping @Sendable () throws -> Void) -> Bool {
  DispatchQueue(label: "session").async {
    do { try body() } catch { Issue.record(error) }
    ended.signal()
  }
  return true
}

/// Mounts `tree` for the length of `body`.
func withMount(
  _ tree: SyntheticTree, options change: (inout MountOptions) -> Void = { _ in },
  _ body: (MountFixture) async throws -> Void
) async throws {
  let mount = try MountFixture(tree, change)
  defer { mount.close() }
  try await body(mount)
}

/// Waits until `condition` holds, at most so long.
func eventually(within limit: Duration = .seconds(5), _ condition: () -> Bool) async -> Bool {
  let clock = SystemClock()
  let deadline = clock.now() + limit
  while !condition() {
    if clock.now() > deadline { return false }
    try? await Task.sleep(for: .milliseconds(5))
  }
  return true
}

enum Mounting {
  /// Whether this machine lets us mount at all, found by doing it.
  static let isPossible: Bool = {
    guard Child.interpreter != nil, let path = try? MountFixture.temporaryDirectory() else { return false }
    defer { rmdir(path) }
    guard let session = try? KernelSession(tree: SyntheticTree(), options: MountOptions(source: "probe"), log: .none)
    else { return false }
    guard (try? session.mount(at: path)) != nil else { return false }
    try? session.unmount(lazy: true)
    return true
  }()

  static var isRoot: Bool { geteuid() == 0 }
}

/// Bytes that differ at every offset, so that a shifted read cannot look right.
func pattern(_ count: Int) -> [UInt8] {
  (0..<count).map { UInt8(truncatingIfNeeded: ($0 &* 2_654_435_761) >> 13) }
}

/// Everything that needs a real mount: one after the other, so that times mean something.
@Suite(.serialized, .enabled(if: Mounting.isPossible), .timeLimit(.minutes(1)))
enum Mounted {}
