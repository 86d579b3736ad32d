// Every fault at every moment of a mount's life: what is seen of it is what the manual promises, and then it is over.
import Glibc
import MirrorPlatform
import MirrorStore
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(180)), .enabled(if: Machine.canMount && Machine.isRoot))
struct FaultMatrixTests {
  /// How often each cell is run, where the whole matrix is ($S3MIRROR_TEST_FAULTS).
  private static let rounds = startEnvironment["S3MIRROR_TEST_FAULTS"].flatMap { Int($0) }

  /// Row by row, each fault in all phases of the same mount.
  @Test(.enabled(if: rounds != nil)) func `every fault in every phase`() async throws {
    let environment = startEnvironment
    let lanes = environment["S3MIRROR_TEST_FAULT_LANES"].flatMap { Int($0) } ?? 24
    let folder = environment["S3MIRROR_TEST_FAULT_RECORD"]
    let wanted = environment["S3MIRROR_TEST_FAULT_KINDS"]?.split(separator: ",").map(String.init)
    let kinds = FaultKind.all.filter { kind in wanted?.contains { kind.name.contains($0) } ?? true }
    let table = FaultTable(log: folder.map { $0 + "/faults.failures" })
    // Begins no row after so many minutes: what was run by then is what counts.
    let minutes = environment["S3MIRROR_TEST_FAULT_MINUTES"].flatMap { Int($0) } ?? 24 * 60
    let end = ContinuousClock.now + .seconds(60 * minutes)
    // Those that wait long first, so that nobody waits for them in the end.
    let rows = (0..<(Self.rounds ?? 0)).flatMap { round in
      kinds.sorted { $0.isSlow && !$1.isSlow }.map { Row(kind: $0, round: round, phases: FaultPhase.allCases) }
    }
    await Self.run(rows, lanes: lanes, isShort: false, table, until: end)
    print(table.text)
    if let folder {
      try FileSystem.write(Array(table.text.utf8), to: folder + "/faults.table", mode: 0o644)
      try FileSystem.write(Array(table.outcomes.utf8), to: folder + "/faults.outcomes", mode: 0o644)
      let sum = "\(table.runs) \(table.cells) \(table.fewest) \(table.failed)\n"
      try FileSystem.write(Array(sum.utf8), to: folder + "/faults.sum", mode: 0o644)
    }
    #expect(table.failures.isEmpty, "\(table.failures.joined(separator: "\n"))")
  }

  /// A cell of each row, and all columns among them.
  @Test(.enabled(if: rounds == nil)) func `each fault in one phase, each phase with a fault`() async throws {
    let table = FaultTable(log: nil)
    await Self.run(Self.slice, lanes: 12, isShort: true, table)
    #expect(table.failures.isEmpty, "\(table.failures.joined(separator: "\n"))")
    #expect(table.runs == FaultKind.all.count)
  }

  @Test func `the slice has every fault and every phase`() {
    #expect(Set(Self.slice.map(\.kind)) == Set(FaultKind.all))
    #expect(Set(Self.slice.flatMap(\.phases)) == Set(FaultPhase.allCases))
    #expect(Set(FaultKind.all.map(\.name)).count == FaultKind.all.count)
  }

  struct Row: Sendable {
    let kind: FaultKind
    let round: Int
    let phases: [FaultPhase]
  }

  private static var slice: [Row] {
    var turn = 0
    return FaultKind.all.map { kind in
      // Whoever needs the server would have to wait for it.
      let waits = kind.nature == .outage || kind.isSlow
      let phases = FaultPhase.allCases.filter { !waits || $0.isLocal || $0 == .remount }
      turn += 1
      return Row(kind: kind, round: turn, phases: [phases[turn % phases.count]])
    }
  }

  private static func run(
    _ rows: [Row], lanes: Int, isShort: Bool, _ table: FaultTable, until end: ContinuousClock.Instant? = nil
  ) async {
    let position = Position()
    await withTaskGroup { group in
      for _ in 0..<lanes {
        group.addTask {
          while end.map({ ContinuousClock.now < $0 }) ?? true, let index = position.next(below: rows.count) {
            await run(rows[index], isShort: isShort, table)
          }
        }
      }
    }
  }

  private static func run(_ row: Row, isShort: Bool, _ table: FaultTable) async {
    if row.kind == .memoryLimit, !MemoryGroup.isAvailable { return }
    if row.kind.needsSecurity, !SecureServer.isAvailable { return }
    var scene: FaultScene?
    for phase in row.phases {
      do {
        let current = try scene ?? FaultScene(row.kind, round: row.round, isShort: isShort)
        scene = current
        let result = await current.meet(phase)
        table.add(result)
        // What one cell has spoilt is not to be held against the next.
        if !result.failures.isEmpty { scene = nil }
      } catch {
        table.add(
          FaultResult(
            kind: row.kind, phase: phase, round: row.round, outcome: nil, time: .zero, failures: ["\(error)"]))
      }
    }
    await endWell(scene, row, table)
  }

  /// After all of it the cache is whole, and the mount ends as it should.
  private static func endWell(_ scene: FaultScene?, _ row: Row, _ table: FaultTable) async {
    guard let scene, let last = row.phases.last, scene.mount.isMounted else { return }
    var failures: [String] = []
    do {
      try await scene.unmountWell()
      let verified = try await scene.mount.command(["cache", "verify", "--cache-dir", scene.mount.cache])
      if !verified.succeeded { failures.append("cache verify in the end: \(verified)") }
    } catch { failures.append("in the end: \(error)") }
    if !failures.isEmpty {
      table.add(
        FaultResult(
          kind: row.kind, phase: last, round: row.round, outcome: nil, time: .zero, failures: failures))
    }
  }
}

/// Hands out the rows.
private final class Position: Sendable {
  private let value = Mutex(0)
  func next(below end: Int) -> Int? {
    value.withLock { value in
      guard value < end else { return nil }
      defer { value += 1 }
      return value
    }
  }
}
