// Serves metrics over HTTP/1.1: one small answer to each connection, and nothing that could be asked to change.
import MirrorPlatform
import Synchronization

/// Takes its port when it is made, so that one that can't be had is known before the mount; answers on threads of its
/// own once it is started.
final class MetricsServer: Sendable {
  /// Connections at one time; others are closed at once.
  private static let largestCrowd = 8
  private static let longestRequest = 16 << 10

  let address: MetricsAddress
  private let socket: LocalSocket
  private let crowd = Mutex(0)

  init(_ asked: MetricsAddress) throws(CommandFailure) {
    do throws(Errno) { socket = try LocalSocket.listen(address: asked.host, port: asked.port) } catch {
      throw CommandFailure(.failure, "--metrics \(asked): \(error); choose another port or address")
    }
    address = MetricsAddress(host: asked.host, port: socket.port ?? asked.port)
  }

  var url: String { "http://\(address)/metrics" }

  func start(_ metrics: @escaping @Sendable () async -> String) {
    startThread("metrics") { [self] in
      while true {
        do throws(Errno) {
          let connection = try socket.accept()
          guard enter() else { continue }
          do throws(Errno) {
            try tryThread("metrics-answer") { [self] in
              answer(connection, metrics)
              crowd.withLock { $0 -= 1 }
            }
          } catch { crowd.withLock { $0 -= 1 } }
        } catch {
          if error == .invalid { return }
          pause(.milliseconds(100))
        }
      }
    }
  }

  func stop() { socket.shutDown() }

  private func enter() -> Bool {
    crowd.withLock { crowd in
      guard crowd < Self.largestCrowd else { return false }
      crowd += 1
      return true
    }
  }

  private func answer(_ connection: LocalSocket, _ metrics: @escaping @Sendable () async -> String) {
    connection.limitWaits(to: .seconds(5))
    guard let head = head(of: connection) else { return }
    let words = head.prefix { $0 != 0x0D && $0 != 0x0A }.split(separator: 0x20)
      .map { String(decoding: $0, as: UTF8.self) }
    guard words.count == 3, words[2].hasPrefix("HTTP/1.") else {
      return reply("400 Bad Request", "text/plain", "not understood\n", on: connection)
    }
    guard words[0] == "GET" || words[0] == "HEAD" else {
      return reply("405 Method Not Allowed", "text/plain", "only GET\n", on: connection)
    }
    let isHead = words[0] == "HEAD"
    switch words[1].split(separator: "?", omittingEmptySubsequences: false).first {
    case "/metrics":
      reply("200 OK", MetricsText.contentType, waitFor { await metrics() }, isHead: isHead, on: connection)
    case "/": reply("200 OK", "text/plain", "s3mirror: see /metrics\n", isHead: isHead, on: connection)
    default: reply("404 Not Found", "text/plain", "see /metrics\n", isHead: isHead, on: connection)
    }
  }

  /// The request up to its empty line; nil where that does not come.
  private func head(of connection: LocalSocket) -> [UInt8]? {
    var bytes: [UInt8] = []
    let clock = SystemClock()
    let begun = clock.now()
    while bytes.count < Self.longestRequest, clock.now() - begun < .seconds(5) {
      guard let part = try? connection.receive(), !part.isEmpty else { return nil }
      bytes += part
      if bytes[...].range(of: Array("\r\n\r\n".utf8)) != nil { return bytes }
    }
    return nil
  }

  private func reply(
    _ status: String, _ type: String, _ body: String, isHead: Bool = false, on connection: LocalSocket
  ) {
    let head =
      "HTTP/1.1 \(status)\r\nContent-Type: \(type)\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n"
    try? connection.send(Array((head + (isHead ? "" : body)).utf8))
    connection.finishSending()
  }
}
