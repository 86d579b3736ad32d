// An HTTP proxy on loopback, of the kind that HTTPS_PROXY names: passes on requests and tunnels, whatever their host.
import MirrorPlatform
import Synchronization

/// Every host leads to one loopback port, so that names need not exist. It ends with its last reference.
public final class ForwardProxy: Sendable {
  private let listener: Listener
  private let seen: Seen

  private final class Seen: Sendable { let lines = Mutex<[String]>([]) }

  /// In front of a server on a loopback port.
  public init(to port: UInt16) throws {
    let seen = Seen()
    self.seen = seen
    listener = try Listener { connection in
      guard let head = connection.readHead().flatMap(MessageHead.init) else { return }
      seen.lines.withLock { $0.append("\(head.method) \(String(decoding: head.target, as: UTF8.self))") }
      guard let server = try? Connection.open(port: port) else { return }
      if head.method == "CONNECT" {
        connection.write(Array("HTTP/1.1 200 Connection established\r\n\r\n".utf8))
      } else {
        server.write(Self.passedOn(head))
      }
      // What comes back ends with the server's side.
      detachThread {
        while true {
          let part = server.read()
          guard !part.isEmpty, connection.write(part) else { break }
        }
        connection.cut()
      }
      while true {
        let part = connection.read()
        guard !part.isEmpty else { break }
        if head.method == "CONNECT" {
          guard server.write(part) else { break }
        } else {
          // The next request on this connection comes in absolute form too.
          guard let next = MessageHead(part), server.write(Self.passedOn(next)) else { break }
          seen.lines.withLock { $0.append("\(next.method) \(String(decoding: next.target, as: UTF8.self))") }
        }
      }
      server.cut()
    }
  }
  deinit { listener.stop() }

  public var endpoint: String { "http://127.0.0.1:\(listener.port)" }
  /// `GET http://host/path`, `CONNECT host:443`.
  public var requests: [String] { seen.lines.withLock { $0 } }
  public func stop() { listener.stop() }

  /// The request in origin form.
  private static func passedOn(_ head: MessageHead) -> [UInt8] {
    let target = String(decoding: head.target, as: UTF8.self)
    let rest = target.dropFirst("http://".count).drop { $0 != "/" }
    return Array("\(head.method) \(rest) HTTP/1.1\r\n\(head.fields.text)\r\n".utf8)
  }
}
