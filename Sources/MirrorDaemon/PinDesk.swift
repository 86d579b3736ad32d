// Answers `cache pin` and `cache unpin`: what is pinned is fetched at once, and looked after from then on.
import MirrorCache
import MirrorCore
import MirrorPlatform
import MirrorStore

struct PinDesk: Sendable {
  let mirror: BucketMirror
  let keeper: PinKeeper
  let mountPoint: String

  func pin(_ question: PinQuestion, _ tell: @escaping ControlServer.Listener) async -> ControlAnswer {
    let prefix: ObjectKey
    do throws(Errno) { prefix = try await key(question) } catch { return failure(question, error) }
    let plan = await mirror.planWarming(prefix: prefix)
    let limit = mirror.status().cache.limit
    if plan.bytes > limit {
      return .failure(
        CommandFailure(
          .failure,
          "'\(prefix)': \(ByteCount(plan.bytes)) are more than the cache may hold (\(ByteCount(limit))); "
            + "mount with a larger --cache-size"))
    }
    await mirror.pin(prefix, true)
    let answer = await WarmDesk(mirror, mountPoint).fetch(plan, tell)
    keeper.start()
    guard case .text(let text) = answer else { return answer }
    return .text("pinned \(quoted("'\(prefix)'")): \(text)")
  }

  func unpin(_ question: PinQuestion) async -> ControlAnswer {
    let pins = await mirror.pins()
    let prefix: ObjectKey
    do throws(Errno) { prefix = try await pinned(question, pins) } catch { return failure(question, error) }
    await mirror.pin(prefix, false)
    let count = pins.count { $0.bytes.starts(with: prefix.bytes) }
    if count == 0 {
      return .failure(CommandFailure(.failure, "\(quoted("'\(prefix)'")) is not pinned; see 's3mirror cache pins'"))
    }
    return .text("\(count) \(count == 1 ? "pin" : "pins") taken away\n")
  }

  private func key(_ question: PinQuestion) async throws(Errno) -> ObjectKey {
    switch question {
    case .path(let path): try await mirror.key(ofPath: path)
    case .prefix(let prefix): prefix
    }
  }

  /// What was pinned may be gone from the bucket by now.
  private func pinned(_ question: PinQuestion, _ pins: [ObjectKey]) async throws(Errno) -> ObjectKey {
    if case .path(let path) = question {
      let key = mirror.keyPrefix.bytes + path
      for pin in [ObjectKey(key + [0x2F]), ObjectKey(key)] where pins.contains(pin) { return pin }
    }
    return try await key(question)
  }

  private func failure(_ question: PinQuestion, _ error: Errno) -> ControlAnswer {
    var name = ""
    if case .path(let path) = question { name = path.isEmpty ? "" : "/" + ObjectKey(path).description }
    return .failure(CommandFailure(.failure, "\(quoted("'\(mountPoint)\(name)'")): \(error)"))
  }
}
