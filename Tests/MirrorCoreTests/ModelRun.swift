// Runs one program against a mirror, and stops at the first answer that the reference does not allow.
import Dispatch
import Glibc
import MirrorPlatform
import MirrorStore
import Synchronization
import TestSupport

@testable import MirrorCache
@testable import MirrorCore

/// An open file: a node that is held on to, and the version that it stands for.
struct ModelHandle {
  let key: [UInt8]
  let node: NodeID
  let version: Int
  let inode: UInt64
  /// What was read of it.
  var read: [Range<Int>] = []
  /// Given out as a whole.
  var whole: (file: File, lease: any AnyObject & Sendable)?
  var isOpen = true
}

/// Sendable because all but `arrive` happens on the model's one thread.
final class ModelRun: @unchecked Sendable {
  let program: ModelProgram
  let time = ModelTime()
  let store: ModelStore
  let directory: TemporaryDirectory
  var cache: Cache
  var mirror: BucketMirror
  var judge: ModelJudge
  var handles: [ModelHandle] = []
  var pending = 0
  var pendingReads = 0
  var operations = 0
  private var isHolding = false
  private(set) var isEnding = false
  private var steppedBack = Duration.zero
  private var line = 0
  private(set) var failure: String?
  private let arrivals = Mutex<[@Sendable () -> Void]>([])

  init(_ program: ModelProgram) throws {
    self.program = program
    store = ModelStore(clock: time.clock, pageSize: program.settings.page, halves: program.settings.halves)
    directory = try TemporaryDirectory("model")
    judge = ModelJudge(settings: program.settings)
    (cache, mirror) = try Self.open(program.settings, directory, store, time)
  }

  private static func open(
    _ settings: ModelSettings, _ directory: TemporaryDirectory, _ store: ModelStore, _ time: ModelTime
  ) throws -> (Cache, BucketMirror) {
    let cache = try Cache.open(
      CacheConfiguration(
        root: directory.path + "/cache", endpoint: "http://test", bucket: "b", prefix: ObjectKey(""),
        limit: Int64(settings.limit), minimumFree: 0), clock: time.clock, log: .none)
    let sleep: @Sendable (Duration) async -> Void = { [time] in await time.sleep($0) }
    let mirror = BucketMirror(
      configuration: MirrorConfiguration(rules: try settings.rules(), partSize: Int64(settings.part)), store: store,
      cache: cache, ledger: Ledger(prices: settings.prices, clock: time.clock), clock: time.clock, sleep: sleep,
      pause: sleep)
    return (cache, mirror)
  }

  /// Runs all steps; what was wrong first, or nil.
  static func run(_ program: ModelProgram) -> (failure: String?, operations: Int) {
    do {
      let run = try ModelRun(program)
      for (index, step) in program.steps.enumerated() where run.failure == nil {
        run.line = index + 1
        run.perform(step)
      }
      run.end()
      return (run.failure, run.operations)
    } catch { return ("\(error)", 0) }
  }

  func fail(_ message: String) {
    if failure == nil { failure = "step \(line): \(message)" }
  }

  // MARK: Steps

  private func perform(_ step: ModelStep) {
    time.come(to: time.now + .milliseconds(1))
    let now = time.now
    switch step {
    case .put(let key, let size, let said): store.change { $0.put(key, size: size, cacheControl: said, at: now) }
    case .touch(let key): store.change { $0.touch(key) }
    case .restore(let key, let back): store.change { $0.restore(key, back, at: now) }
    case .delete(let key): store.change { $0.delete(key, at: now) }
    case .look(let path): walk(path, keep: false)
    case .open(let path): walk(path, keep: true)
    case .read(let handle, let offset, let count): read(handle, offset, count)
    case .whole(let handle): openWhole(handle)
    case .stat(let handle): stat(handle)
    case .close(let handle): close(handle)
    case .list(let path, let plus): list(path, plus: plus)
    case .refresh(let path):
      judge.refreshed(path, now)
      finish { [mirror] in _ = await mirror.refresh(path) }
    case .advance(let milliseconds): pass(.milliseconds(milliseconds))
    case .wall(let milliseconds):
      time.clock.stepWall(.milliseconds(milliseconds))
      if milliseconds < 0 { steppedBack = steppedBack + .milliseconds(-milliseconds) }
    case .hold: isHolding = true
    case .free: isHolding = false
    case .serve(let number): store.serve(number)
    case .deliver(let number): store.deliver(number)
    case .fail(let number, let fault): store.deliver(number, .fail(fault.code))
    case .down(let fault): store.goDown(fault.code)
    case .up: store.goDown(nil)
    case .restart: restart(cleanly: true)
    case .crash: restart(cleanly: false)
    case .evict:
      judge.evicted()
      finish { [mirror] in _ = await mirror.evict(under: ObjectKey("")) }
    }
    settle()
    store.forget(before: time.now + .seconds(-200))
  }

  /// Lets time pass, with all that falls due meanwhile.
  func pass(_ duration: Duration) {
    let end = time.now + duration
    while true {
      settle()
      let due = [time.nextDue, store.nextDeadline].compactMap { $0 }.min()
      guard let due, due <= end else { break }
      time.come(to: max(due, time.now))
      while let expired = store.expired(at: time.now) { store.deliver(expired, .fail(.timeout)) }
    }
    time.come(to: end)
  }

  /// Until nothing moves by itself any more.
  func settle() {
    drain()
    while !isHolding, store.parkedCount > 0 {
      store.deliver(0)
      drain()
    }
  }

  private func drain() {
    while true {
      var moved = ModelThread.shared.runReady()
      if moved || pending > 0 { waitForOthers() }
      if ModelThread.shared.admit() { moved = true }
      for arrival in takeArrivals() {
        moved = true
        arrival()
      }
      if mirror.store.offlineSince != nil { judge.noteOffline(time.now) }
      if mirror.store.isLate { judge.noteLate(time.now) }
      guard moved else { return }
    }
  }

  private func takeArrivals() -> [@Sendable () -> Void] {
    let arrived = arrivals.withLock { arrivals in
      defer { arrivals = [] }
      return arrivals
    }
    judge.heard(store.takeNews(), store.history)
    if mirror.store.offlineSince != nil { judge.noteOffline(time.now) }
    return arrived
  }

  /// An answer came, on any thread; it is looked at on the model's.
  func arrive(_ body: @escaping @Sendable () -> Void) { arrivals.withLock { $0.append(body) } }

  /// What came in place.
  func handleArrivals() { for arrival in takeArrivals() { arrival() } }

  /// The catalogue's thread and those that answer readers have done what they were given.
  private func waitForOthers() {
    let done = DispatchSemaphore(value: 0)
    if cache.catalogue.thread.post(.job { _ in done.signal() }) { done.wait() }
    guard pendingReads > 0 else { return }
    let (first, second) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    mirror.sources.replies.submit {
      first.signal()
      second.wait()
      done.signal()
    }
    mirror.sources.replies.submit {
      second.signal()
      first.wait()
      done.signal()
    }
    done.wait()
    done.wait()
  }

  /// Does something to its end, whatever waits.
  func finish(_ body: @escaping @Sendable () async -> Void) {
    let flag = Flag()
    Task {
      await body()
      flag.set()
    }
    // A clean end waits for the disk, which has its own time.
    let end = ContinuousClock.now + .seconds(60)
    var round = 0
    while !flag.isSet, ContinuousClock.now < end {
      round += 1
      drain()
      if store.parkedCount > 0, !isHolding || round > 200 {
        store.deliver(0)
      } else if round > 20, let due = time.nextDue {
        time.come(to: max(due, time.now))
      } else if round > 100 {
        usleep(200)
      }
    }
    if !flag.isSet { fail("it does not come to its end") }
  }

  // MARK: Ends

  private func restart(cleanly: Bool) {
    isEnding = true
    for index in handles.indices { release(index) }
    // Whoever waits dies with the process.
    while store.parkedCount > 0 {
      store.deliver(0, .fail(.cancelled))
      drain()
    }
    if cleanly {
      finish { [mirror, cache] in
        await mirror.stop()
        await cache.close()
      }
    } else {
      finish { [cache] in await cache.abandon() }
    }
    isEnding = false
    (pending, pendingReads, handles) = (0, 0, [])
    judge.ended(cleanly: cleanly, steppedBack: steppedBack)
    do { (cache, mirror) = try Self.open(program.settings, directory, store, time) } catch { return fail("\(error)") }
    // Where it would not mount, it goes on as one that has not asked yet.
    finish { [mirror] in _ = try? await mirror.start() }
  }

  private func end() {
    store.goDown(nil)
    isHolding = false
    for _ in 0..<50 where pending > 0 && failure == nil { pass(.seconds(1)) }
    if pending > 0, failure == nil { fail("\(pending) operations are never answered") }
    for index in handles.indices { release(index) }
    finish { [mirror, cache] in
      await mirror.stop()
      await cache.close()
    }
    for _ in 0..<20 where time.nextDue != nil { pass(.seconds(60)) }
    directory.remove()
  }
}

private final class Flag: Sendable {
  private let state = Mutex(false)
  var isSet: Bool { state.withLock { $0 } }
  func set() { state.withLock { $0 = true } }
}
