// Answers `warm`: the plan and its price, or the fetching, with steps told on the way.
import MirrorCache
import MirrorCore
import MirrorPlatform
import MirrorStore
import Synchronization

struct WarmDesk: Sendable {
  /// How often a step is told.
  private static let pace = Duration.milliseconds(100)

  private let mirror: BucketMirror
  private let mountPoint: String

  init(_ mirror: BucketMirror, _ mountPoint: String) {
    self.mirror = mirror
    self.mountPoint = mountPoint
  }

  /// The first line of the answer is for people, each line after it names something that could not be had.
  func answer(_ question: WarmQuestion, _ tell: @escaping ControlServer.Listener) async -> ControlAnswer {
    await telling(tell) { await carryOut(question, $0) }
  }

  /// The same for a plan that was made.
  func fetch(_ plan: WarmPlan, _ tell: @escaping ControlServer.Listener) async -> ControlAnswer {
    await telling(tell) { await fetch(plan, $0) }
  }

  private func telling(
    _ tell: @escaping ControlServer.Listener, _ work: @escaping @Sendable (Steps) async -> ControlAnswer
  ) async -> ControlAnswer {
    let steps = Steps()
    let work = Task { await work(steps) }
    // Telling may wait for the listener, so it has a thread of its own.
    startThread("warm-steps") {
      while !steps.isOver {
        // Whoever asked has gone, most likely by Control-C.
        if !tell(steps.current) { work.cancel() }
        pause(Self.pace)
      }
      _ = tell(steps.current)
      steps.close()
    }
    let answer = await work.value
    steps.finish()
    await steps.closed()
    return answer
  }

  private func carryOut(_ question: WarmQuestion, _ steps: Steps) async -> ControlAnswer {
    let plan = await mirror.planWarming(question.targets)
    let limit = mirror.status().cache.limit
    let isTooMuch = plan.missingBytes > 0 && plan.bytes > limit
    if question.isDry { return .text(lines(dryText(plan) + (isTooMuch ? tooMuch(limit) : ""), plan.failures)) }
    if isTooMuch {
      return .failure(
        CommandFailure(.failure, "\(plan.objects) objects, \(ByteCount(plan.bytes))" + tooMuch(limit)))
    }
    return await fetch(plan, steps)
  }

  private func fetch(_ plan: WarmPlan, _ steps: Steps) async -> ControlAnswer {
    steps.begin(plan)
    let failures = plan.failures + (await mirror.warm(plan) { steps.advance($0) })
    let failed = failures.count - plan.failures.count
    let got = max(0, plan.missingObjects - failed)
    let text =
      "\(count(got)) fetched, \(ByteCount(plan.missingBytes)) were missing; "
      + "\(plan.objects - plan.missingObjects) cached before"
    return .text(lines(text, failures))
  }

  private func count(_ objects: Int) -> String { "\(objects) \(objects == 1 ? "object" : "objects")" }

  private func dryText(_ plan: WarmPlan) -> String {
    "\(count(plan.objects)), \(ByteCount(plan.bytes)): \(plan.objects - plan.missingObjects) cached whole, "
      + "\(plan.missingObjects) to fetch, \(ByteCount(plan.missingBytes)); \(plan.requests) GET, "
      + "\(decimal(plan.cost, places: 6)) USD"
  }

  private func tooMuch(_ limit: Int64) -> String {
    ": more than the cache may hold (\(ByteCount(limit))); mount with a larger --cache-size"
  }

  private func lines(_ text: String, _ failures: [WarmFailure]) -> String {
    ([text]
      + failures.map { failure in
        let path = failure.path.isEmpty ? "" : "/" + ObjectKey(failure.path).description
        return "\(quoted("'\(mountPoint)\(path)'")): \(failure.reason)"
      }).joined(separator: "\n") + "\n"
  }
}

/// How far the work has come, for who tells it.
private final class Steps: Sendable {
  private struct State {
    var step = ControlStep()
    var isOver = false
    var isClosed = false
    var waiter: CheckedContinuation<Void, Never>?
  }
  private let state = Mutex(State())

  var current: ControlStep { state.withLock { $0.step } }
  var isOver: Bool { state.withLock { $0.isOver } }

  func begin(_ plan: WarmPlan) {
    state.withLock { $0.step = ControlStep(objects: plan.missingObjects, bytes: plan.missingBytes) }
  }

  func advance(_ progress: WarmProgress) {
    state.withLock {
      $0.step.doneObjects = max($0.step.doneObjects, progress.objects)
      $0.step.doneBytes = max($0.step.doneBytes, progress.bytes)
    }
  }

  func finish() { state.withLock { $0.isOver = true } }

  /// Nobody tells any more.
  func close() {
    state.withLock { state in
      state.isClosed = true
      defer { state.waiter = nil }
      return state.waiter
    }?.resume()
  }

  func closed() async {
    await withCheckedContinuation { continuation in
      let isClosed = state.withLock { state in
        if !state.isClosed { state.waiter = continuation }
        return state.isClosed
      }
      if isClosed { continuation.resume() }
    }
  }
}
