// One cell of the fault matrix: made ready, met by the fault, freed of it, and looked at from all sides.
import Glibc
import MirrorPlatform
import MirrorStore
import Synchronization
import TestSupport

struct FaultResult: Sendable {
  let kind: FaultKind
  let phase: FaultPhase
  let round: Int
  let outcome: FaultOutcome?
  let time: Duration
  /// What is wrong; none: the cell has passed.
  let failures: [String]
}

extension FaultScene {
  /// What a machine with many lanes may take longer than the program itself would.
  private static let slack = Duration.seconds(6)

  func meet(_ phase: FaultPhase) async -> FaultResult {
    let expected = FaultExpectation.of(kind, phase)
    var failures: [String] = []
    var outcome: FaultOutcome?
    var time = Duration.zero
    func noting(_ what: String, _ body: () async throws -> Void) async {
      do { try await body() } catch { failures.append("\(what): \(error)") }
    }
    await noting("before") { try await prepare(phase) }
    let before = Footprint(mount.daemon)
    await noting("begin") { try await begin(phase) }
    if failures.isEmpty {
      let started = ContinuousClock.now
      let seen = await within(expected.within + .seconds(30)) { await self.act(phase, expected) }
      time = ContinuousClock.now - started
      outcome = seen
      if let seen, !expected.allowed.contains(seen) {
        var words = ""
        if case .exit = seen { words = ": \(state.withLock { $0.lastWords })" }
        failures.append("\(seen)\(words)")
      }
      if seen == nil { failures.append("no answer for \(time)") }
      if time > expected.within + Self.slack { failures.append("took \(time), \(expected.within) are allowed") }
    }
    await noting("end") { try await end(phase) }
    await noting("recovery") { try await recover(phase, expected) }
    await noting("ledger") { try await compareLedger() }
    await noting("footprint") { try await compare(before) }
    if !failures.isEmpty, let last = lastLines { failures.append(last) }
    return FaultResult(
      kind: kind, phase: phase, round: round, outcome: outcome, time: time, failures: failures)
  }

  /// Of the mount's log.
  private var lastLines: String? {
    let folder = mount.cache + "/log"
    guard let name = ((try? FileSystem.list(folder)) ?? []).first(where: { $0.hasSuffix(".log") }),
      let text = try? FileSystem.read("\(folder)/\(name)")
    else { return nil }
    return "log:\n    "
      + String(decoding: text, as: UTF8.self).split(separator: "\n").suffix(4).joined(separator: "\n    ")
  }

  private func recover(_ phase: FaultPhase, _ expected: FaultExpectation) async throws {
    // Only what has no mount by now is mounted; all others come right by themselves.
    if !mount.isMounted { try await mountWell() }
    let isOnline = try await eventually(within: expected.recovery + Self.slack) {
      try await mount.status().text("state") == "online"
    }
    if !isOnline { throw FaultFailure("stays offline") }
    let limit = expected.recovery + Self.slack
    let done = await within(limit + .seconds(30)) { () -> String in
      do {
        try await self.mustBeRight(phase, within: limit)
        return ""
      } catch { return "\(error)" }
    }
    guard let done else { throw FaultFailure("no answer after the fault") }
    if !done.isEmpty { throw FaultFailure(done) }
  }

  /// What `status` counts is what the server was asked.
  private func compareLedger() async throws {
    var told: [Int] = []
    var seen: [Int] = []
    let isEqual = try await eventually(within: .seconds(8)) {
      let sums = server.sums
      seen = [sums.gets, sums.heads + sums.bucketHeads, sums.lists, sums.others]
      let status = try await mount.status()
      told = try ["get", "head", "list", "other"].map { try status.count($0) }
      if told == seen { return true }
      // What other phases have left is not this one's.
      let limits = state.withLock { $0.unread }.map { $0 + 4 }
      // What a process that has ended sent may be read by the server after the next has begun to count.
      let late = kind.endsProcess ? 4 : 0
      return kind.cutsConnections
        && zip(zip(told, seen), limits).allSatisfy { $0.0 + late >= $0.1 && $0.0 <= $0.1 + $1 }
    }
    if kind.cutsConnections { state.withLock { $0.unread = zip(told, seen).map { max(0, $0 - $1) } } }
    if !isEqual { throw FaultFailure("status counts \(told), the server \(seen) (GET, HEAD, LIST, others)") }
  }

  /// Memory and descriptors are back where they were, where the process is the same.
  private func compare(_ before: Footprint?) async throws {
    guard let before else { return }
    let isBack = await eventually(within: .seconds(8)) {
      Footprint(mount.daemon).map { $0.isBack(to: before) } ?? true
    }
    if !isBack { throw FaultFailure("\(before) became \(Footprint(mount.daemon).map { "\($0)" } ?? "nothing")") }
  }

  /// The value of `body` if it comes in time; else the daemon is killed, so that who waits is freed.
  private func within<Value: Sendable>(
    _ limit: Duration, _ body: @escaping @Sendable () async -> Value
  ) async -> Value? {
    let once = Once()
    return await withCheckedContinuation { continuation in
      let work = Task {
        let value = await body()
        if once.first { continuation.resume(returning: value) }
      }
      Task { [mount] in
        try? await Task.sleep(for: limit)
        guard once.first else { return }
        mount.signal(SIGCONT)
        try? await mount.killDaemon()
        work.cancel()
        continuation.resume(returning: nil)
      }
    }
  }
}

/// What a process holds.
struct Footprint: Sendable, CustomStringConvertible {
  let process: pid_t
  let sockets: Int
  let others: Int
  let resident: Int64

  /// Connections that are kept for reuse at most (HTTPSettings).
  private static let pool = 64

  init?(_ process: pid_t?) {
    guard let process, let names = try? FileSystem.list("/proc/\(process)/fd") else { return nil }
    let targets = names.compactMap { Self.target("/proc/\(process)/fd/\($0)") }
    self.process = process
    sockets = targets.count { $0.hasPrefix("socket:") }
    // Blobs are kept open as long as there are few.
    others = targets.count { !$0.hasPrefix("socket:") && !$0.contains("/blobs/") }
    let pages = (try? FileSystem.read("/proc/\(process)/statm"))
      .map { String(decoding: $0, as: UTF8.self).split(separator: " ") }
    resident = pages.flatMap { $0.count > 1 ? Int64($0[1]) : nil }.map { $0 * 4096 } ?? 0
  }

  func isBack(to before: Footprint) -> Bool {
    guard process == before.process else { return true }
    return sockets <= max(before.sockets, 8) + Self.pool && others <= before.others + 4
      && resident <= before.resident + 64 << 20
  }

  var description: String { "\(sockets) sockets, \(others) other descriptors, \(resident >> 20) MiB" }

  private static func target(_ path: String) -> String? {
    var buffer = [CChar](repeating: 0, count: 4096)
    let count = readlink(path, &buffer, buffer.count)
    return count < 0 ? nil : String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
