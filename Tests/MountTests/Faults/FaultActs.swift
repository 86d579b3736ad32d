// What is done in each phase: made ready before the fault, done under it, and done again after it.
import Glibc
import MirrorPlatform
import MirrorStore
import Synchronization
import TestSupport

extension FaultScene {
  /// Before the fault.
  func prepare(_ phase: FaultPhase) async throws {
    if !phase.isStart, !mount.isMounted { try await mountWell() }
    switch phase {
    case .mount:
      guard kind.needsCatalogue else { return }
      try await mountWell()
      try await unmountWell()
    case .firstLook: break
    case .validation:
      try await mustBeRight(phase, atOnce: true)
      try await Task.sleep(for: .milliseconds(450))
      if round % 2 == 1 {
        server.put(
          FaultContent.key(phase), FaultContent.bytes(FaultContent.key(phase), FaultContent.small, edition: round))
      }
    case .listFirst, .listMiddle, .listLast: _ = try await mount.attributes(phase.directory)
    case .coldFirst, .coldMiddle, .coldLast: _ = try await mount.list(phase.directory)
    case .eviction:
      _ = try await mount.list(phase.directory)
      for name in FaultContent.fillers { _ = try await mount.read("evict/\(name)") }
    case .warm, .verify, .unmount:
      try await mustBeRight(.warm, atOnce: true)
      await forgetPages(FaultContent.key(.warm))
    case .remount:
      if !mount.isMounted { try await mountWell() }
      try await mustBeRight(.warm, atOnce: true)
      try await unmountWell()
    }
  }

  /// Programs that other lanes begin at the same time have our open files until they run.
  func unmountWell() async throws {
    var last: CommandResult?
    let unmounted = try await eventually {
      let result = try await mount.unmount()
      last = result
      return result.succeeded
    }
    if !unmounted { throw FaultFailure("does not unmount: \(last.map { "\($0)" } ?? "")") }
  }

  /// Under the fault, and after it.
  func act(_ phase: FaultPhase, _ expected: FaultExpectation) async -> FaultOutcome {
    do {
      switch phase {
      case .mount, .remount: return outcome(try await mountNow())
      case .firstLook:
        let size = try await mount.attributes(FaultContent.key(phase)).size
        return size == Int64(FaultContent.looked) ? .right : .wrong("size \(size)")
      case .listFirst, .listMiddle, .listLast:
        let names = try await mount.list(phase.directory)
        return names == FaultContent.names ? .right : .wrong("\(names.count) names: \(names)")
      case .validation, .coldFirst, .coldMiddle, .coldLast, .warm, .eviction: return try await read(phase, expected)
      case .verify: return outcome(try await mount.command(["cache", "verify", "--cache-dir", mount.cache]))
      case .unmount:
        let daemon = mount.daemon
        let result = try await mount.command(["unmount", mount.point])
        guard result.succeeded else { return outcome(result) }
        if mount.isMounted { return .wrong("still mounted") }
        if let daemon, !kind.endsProcess, await !eventually(within: .seconds(1), { Self.hasEnded(daemon) }) {
          return .wrong("process \(daemon) goes on")
        }
        return .right
      }
    } catch {
      return (error as? Errno).map { .failed($0) } ?? .wrong("\(error)")
    }
  }

  /// Gone, or waiting for its parent to look.
  static func hasEnded(_ process: pid_t) -> Bool {
    let text = String(decoding: (try? FileSystem.read("/proc/\(process)/stat")) ?? [], as: UTF8.self)
    return text.isEmpty || text.split(separator: ")").last?.split(separator: " ").first == "Z"
  }

  private func outcome(_ result: CommandResult) -> FaultOutcome {
    if result.timedOut { return .wrong("the command hangs") }
    if !result.succeeded { state.withLock { $0.lastWords = "\(result)" } }
    return result.succeeded ? .right : .exit(result.status)
  }

  private func read(_ phase: FaultPhase, _ expected: FaultExpectation) async throws -> FaultOutcome {
    let key = FaultContent.key(phase)
    let seen = try await mount.read(key)
    let right = FaultContent.bytes(key, FaultContent.size(phase))
    guard let difference = FaultContent.difference(seen, right) else { return .right }
    if phase == .validation, FaultContent.difference(seen, server.bytes(key)) == nil { return .right }
    // One in each body that came.
    let asked = server.requests(.get).count { $0.key == ObjectKey(key) }
    if expected.showsAsSent, let wrong = FaultContent.wrongBytes(seen, right), wrong <= asked { return .right }
    return .wrong(difference)
  }

  /// After the fault: right again, without help, from the kernel's pages and from ours.
  func mustBeRight(_ phase: FaultPhase, atOnce: Bool = false, within limit: Duration = .seconds(12)) async throws {
    let strict = FaultExpectation(allowed: [.right], within: .seconds(30), recovery: .zero)
    if phase.isStart || phase == .unmount || phase == .verify { return try await mustBeRight(.warm, within: limit) }
    for isFromDisk in [false, true] where !(isFromDisk && (phase == .firstLook || phase.isListing)) {
      if isFromDisk { await forgetPages(FaultContent.key(phase)) }
      var last = FaultOutcome.right
      let isRight = await eventually(within: atOnce ? .seconds(5) : limit) {
        last = await act(phase, strict)
        return last == .right && (phase != .validation || isNewest)
      }
      if !isRight { throw FaultFailure("afterwards\(isFromDisk ? " from the cache" : ""): \(last)") }
    }
  }

  /// Whether the file that is validated is shown as the bucket has it by now.
  private var isNewest: Bool {
    let key = FaultContent.key(.validation)
    let seen = (try? FileSystem.read(mount.path(key))) ?? []
    return FaultContent.difference(seen, server.bytes(key)) == nil
  }

  /// Has the kernel ask for the content again.
  func forgetPages(_ name: String) async {
    _ = try? await blocking { [path = mount.path(name)] in
      try File.open(path, .read).forgetPages(offset: 0, length: 0)
    }
  }
}
