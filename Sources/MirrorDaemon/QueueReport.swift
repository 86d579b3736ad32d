// What `status` says of listening to a queue.
import MirrorPlatform
import MirrorStore

extension QueueStatus {
  var json: JSON {
    let (state, since, problem): (String, WallTime?, String?) =
      switch condition {
      case .starting: ("starting", nil, nil)
      case .listening(let since): ("listening", since, nil)
      case .failing(let since, let problem): ("failing", since, problem)
      }
    return .object([
      ("queue", .string(queue)), ("state", .string(state)), ("since", since.map { .string(rfc3339($0)) } ?? .null),
      ("problem", problem.map { .string($0) } ?? .null), ("requests", .int(Int64(requests))),
      ("messages", .int(Int64(messages))), ("changes", .int(Int64(changes))), ("cost", .decimal(cost, places: 7)),
    ])
  }

  var text: String {
    let state =
      switch condition {
      case .starting: "starting"
      case .listening(let since): "listening since \(rfc3339(since))"
      case .failing(let since, let problem): "failing since \(rfc3339(since)), only lifetimes count: \(problem)"
      }
    return
      "\(state); \(changes) changes in \(messages) messages, \(requests) requests (\(decimal(cost, places: 6)) USD)"
  }
}
