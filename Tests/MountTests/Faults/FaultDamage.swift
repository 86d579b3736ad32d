// Faults of the disk, of time and of the process, put in and taken out.
import Glibc
import MirrorPlatform
import MirrorStore
import Synchronization
import TestSupport

extension FaultScene {
  /// Puts the fault in place.
  func begin(_ phase: FaultPhase) async throws {
    if kind.isAtServer { return try beginAtServer(phase) }
    switch kind {
    case .diskFull: try disk?.fillSpace()
    case .noInodes: try disk?.fillInodes()
    case .quota: try refuse([.write, .make], EDQUOT)
    case .blobReadError: try shim.fail(.read, .blob, EIO)
    case .blobWriteError:
      try shim.fail(.write, .blob, EIO)
      try shim.fail(.make, .blob, EIO)
    case .catalogueError:
      for act in [FaultShim.Act.read, .write, .make, .open] { try shim.fail(act, .catalogue, EIO) }
    case .readOnly: try refuse([.write, .make], EROFS)
    case .cacheDeleted: for name in (try? FileSystem.list(mount.cache)) ?? [] { remove("\(mount.cache)/\(name)") }
    case .cacheSwapped:
      if (try? FileSystem.attributes(mount.cache)) == nil { return }
      try FileSystem.rename(mount.cache, to: mount.cache + ".away")
      try FileSystem.makeDirectory(mount.cache)
    case .catalogueLocked: try await lockCatalogue()
    case .catalogueCorrupted: try corruptCatalogue()
    case .catalogueNewer: try await setVersion(by: 1000)
    case .clockAhead: try shim.step(wall: 7200)
    case .clockBack: try shim.step(wall: -7200)
    case .suspend: try await sleepAnHour()
    case .killed: signalSoon(SIGKILL)
    case .terminated: signalSoon(SIGTERM)
    case .stopped: stopForAWhile()
    case .memoryLimit: try limitMemory()
    case .descriptorLimit: try await limitDescriptors()
    default: break
    }
  }

  /// Takes it away again; what it did to the process and to the disk stays.
  func end(_ phase: FaultPhase) async throws {
    try endAtServer()
    try shim.clear()
    disk?.clear()
    let helper = state.withLock { state in
      defer { state.helper = nil }
      return state.helper
    }
    switch kind {
    case .cacheSwapped where (try? FileSystem.attributes(mount.cache + ".away")) != nil:
      remove(mount.cache)
      try FileSystem.rename(mount.cache + ".away", to: mount.cache)
    case .catalogueLocked: try FileSystem.write([], to: stop, mode: 0o600)
    case .catalogueNewer: try await setVersion(by: -1000)
    case .clockAhead, .clockBack: try shim.step(wall: 0)
    case .memoryLimit:
      let group = state.withLock { state in
        defer { state.group = nil }
        return state.group
      }
      group?.remove()
    case .descriptorLimit:
      try await freeDescriptors(phase)
    default: break
    }
    try await helper?.value
    if kind.endsProcess { try await afterItsEnd(phase) }
  }

  private func refuse(_ acts: [FaultShim.Act], _ errno: Int32) throws {
    for act in acts { for place in [FaultShim.Place.blob, .catalogue] { try shim.fail(act, place, errno) } }
  }

  private func remove(_ path: String) {
    if (try? FileSystem.removeTree(path)) == nil { try? FileSystem.removeFile(path) }
  }

  private var stop: String { mount.point + ".stop" }
  private var catalogue: String? { sourceDirectory.map { $0 + "/catalogue.sqlite" } }

  private func lockCatalogue() async throws {
    guard let catalogue else { return }
    remove(stop)
    remove(stop + ".begun")
    let script = """
      import os, sqlite3, sys, time
      db = sqlite3.connect(sys.argv[1], timeout=20, isolation_level=None)
      db.execute("BEGIN IMMEDIATE")
      open(sys.argv[2] + ".begun", "w").close()
      end = time.monotonic() + 120
      while not os.path.exists(sys.argv[2]) and time.monotonic() < end: time.sleep(0.02)
      """
    let helper = Task { [stop] in
      let result = try await python(script, catalogue, stop, limit: .seconds(150))
      if !result.succeeded { throw FaultFailure("the lock: \(result)") }
    }
    state.withLock { $0.helper = helper }
    let begun = await eventually { access(stop + ".begun", F_OK) == 0 }
    if !begun { throw FaultFailure("the catalogue can't be locked") }
  }

  private func corruptCatalogue() throws {
    guard let catalogue else { return }
    for path in [catalogue, catalogue + "-wal"] {
      guard let size = (try? FileSystem.attributes(path))?.size, size > 0 else { continue }
      // Now the header too, now only what comes after it.
      let from: Int64 = round % 2 == 0 ? 0 : min(4096, size)
      let count = Int(min(size - from, 64 << 10))
      try File.open(path, .write).write(content(count, UInt64(round)), at: from)
    }
  }

  private func setVersion(by difference: Int) async throws {
    guard let catalogue else { return }
    let script = """
      import sqlite3, sys
      with sqlite3.connect(sys.argv[1], timeout=20) as db:
        name = [row[1] for row in db.execute("PRAGMA table_info(meta)")]
        changed = db.execute(f"UPDATE meta SET {name[1]} = {name[1]} + ? WHERE {name[0]} = 'version'", (int(sys.argv[2]),))
      # After the commit.
      sys.exit(changed.rowcount != 1)
      """
    let result = try await python(script, catalogue, "\(difference)")
    if !result.succeeded { throw FaultFailure("the version: \(result)") }
  }

  private func sleepAnHour() async throws {
    mount.signal(SIGSTOP)
    let slept = state.withLock { state in
      state.slept += 3600
      return state.slept
    }
    try shim.step(wall: slept, steady: slept)
    server.configure { $0.clockAhead = Int64(slept) }
    server.cutConnections()
    try await Task.sleep(for: .milliseconds(50))
    mount.signal(SIGCONT)
  }

  /// While the phase is under way; another moment each round.
  private func signalSoon(_ signal: Int32) {
    server.inject(.delay(.milliseconds(60)))
    let helper = Task { [mount, round] in
      try await Task.sleep(for: .milliseconds(5 + 23 * (round % 8)))
      // A start may not have come so far, and what it has begun may begin another.
      let told = Mutex<[pid_t]>([])
      _ = await eventually(within: .seconds(5)) {
        told.withLock { told in
          let others = mount.processes.filter { !told.contains($0) }
          for process in others { _ = kill(process, signal) }
          told += others
          return others.isEmpty && !told.isEmpty
        }
      }
    }
    state.withLock { $0.helper = helper }
  }

  private func stopForAWhile() {
    mount.signal(SIGSTOP)
    let helper = Task { [mount, isShort] in
      try await Task.sleep(for: .milliseconds(isShort ? 300 : 1000))
      mount.signal(SIGCONT)
    }
    state.withLock { $0.helper = helper }
  }

  /// What the process now takes and a little more, the kernel's cache of its files included.
  private func limitMemory() throws {
    let group = try MemoryGroup(limit: 96 << 20)
    if let daemon = mount.daemon { try group.take(daemon) }
    state.withLock { $0.group = group }
  }

  /// As many as it has open, and none to two more; a start has a few, or too few.
  private func limitDescriptors() async throws {
    guard let daemon = mount.daemon else { return state.withLock { $0.limit = round % 2 == 0 ? "40:40" : "24:24" } }
    let count = try FileSystem.list("/proc/\(daemon)/fd").count
    let result = try await run(["prlimit", "--pid", "\(daemon)", "--nofile=\(count + round % 3):"])
    if !result.succeeded { throw FaultFailure("prlimit: \(result)") }
  }

  /// A process that was started with few keeps its hard limit.
  private func freeDescriptors(_ phase: FaultPhase) async throws {
    let wasStarted = state.withLock { state in
      defer { state.limit = nil }
      return state.limit != nil
    }
    if wasStarted {
      if mount.isMounted { try await mount.unmount() }
    } else if let daemon = mount.daemon {
      let all = try await run([
        "sh", "-c", "prlimit --pid $0 --nofile=$(prlimit --pid $0 --nofile -o HARD --noheadings | tr -d ' '):",
        "\(daemon)",
      ])
      if !all.succeeded { throw FaultFailure("prlimit: \(all)") }
    }
  }

  /// The daemon is gone within ten seconds; a dead mount is taken away by the next start.
  private func afterItsEnd(_ phase: FaultPhase) async throws {
    let ended = await eventually(within: .seconds(10)) { mount.daemon.map { Self.hasEnded($0) } ?? true }
    if !ended { throw FaultFailure("the daemon goes on after the signal") }
    if kind == .terminated, mount.isMounted { throw FaultFailure("a daemon that was told to end leaves a mount") }
    try await mount.killDaemon()
  }
}

/// A cgroup (version 1) with a limit of memory.
final class MemoryGroup: Sendable {
  private static let root = "/sys/fs/cgroup/memory"
  static let isAvailable = access("\(root)/memory.limit_in_bytes", W_OK) == 0
  private let path: String
  var processes: String { path + "/cgroup.procs" }

  init(limit: Int) throws {
    path = "\(Self.root)/s3mirror-test-\(getpid())-\(UInt32.random(in: 0...(.max)))"
    try FileSystem.makeDirectory(path)
    try write("\(limit)", "memory.limit_in_bytes")
  }

  func take(_ process: pid_t) throws { try write("\(process)", "cgroup.procs") }

  /// Its processes go back to where all are.
  func remove() {
    let list = String(decoding: (try? FileSystem.read(processes)) ?? [], as: UTF8.self)
    for process in list.split(separator: "\n") {
      try? File.open("\(Self.root)/cgroup.procs", .write).write(Array(process.utf8), at: 0)
    }
    for _ in 0..<50 where (try? FileSystem.removeDirectory(path)) == nil { usleep(20_000) }
  }

  private func write(_ text: String, _ name: String) throws {
    try File.open("\(path)/\(name)", .write).write(Array(text.utf8), at: 0)
  }
}
