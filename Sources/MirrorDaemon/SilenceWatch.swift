// When a detached mount's last readers wait for a server that has gone silent: nobody can free them but its end.
import MirrorCache
import MirrorFUSE
import MirrorPlatform
import MirrorStore

struct SilenceWatch: Sendable {
  /// Nothing arrived for so long, while readers wait.
  private static let limit = Duration.seconds(4)
  private let assembly: Assembly

  init(_ assembly: Assembly) { self.assembly = assembly }

  private struct Progress: Equatable {
    let requests: Int
    let cachedBytes: Int64
    /// Of bodies under way, as they come.
    let received: Int64
  }

  /// Calls `end` once, on a thread of its own.
  func start(_ end: @escaping @Sendable () -> Void) {
    startThread("silence") {
      let clock = SystemClock()
      var last = progress
      var since = clock.now()
      while clock.now() - since < Self.limit {
        pause(.milliseconds(250))
        let now = progress
        if now == last, assembly.session.waitingRequests > 0 { continue }
        (last, since) = (now, clock.now())
      }
      end()
    }
  }

  private var progress: Progress {
    Progress(
      requests: assembly.ledger.sinceMount.total, cachedBytes: assembly.cache.usage().bytes,
      received: assembly.traffic.report.underWay.reduce(0) { $0.addingSaturating($1.received) })
  }
}
