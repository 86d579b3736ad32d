// A loopback port that leads to one server or another, or to none.
import Glibc
import MirrorPlatform
import Synchronization

/// Passes bytes on to where it is set to; it ends with its last reference.
public final class PortSwitch: Sendable {
  public enum Way: Sendable {
    case to(UInt16)
    /// Closes what connects, after its first bytes.
    case nowhere
  }

  private final class Points: Sendable {
    let way: Mutex<Way>
    init(_ way: Way) { self.way = Mutex(way) }
  }
  private let points: Points
  private let listener: Listener

  public init(_ way: Way) throws {
    let points = Points(way)
    self.points = points
    listener = try Listener { connection in
      switch points.way.withLock({ $0 }) {
      case .nowhere: _ = connection.read()
      case .to(let port):
        guard let server = try? Connection.open(port: port) else { return }
        detachThread {
          Self.copy(from: server, to: connection)
          connection.cut()
        }
        Self.copy(from: connection, to: server)
        server.cut()
      }
    }
  }
  deinit { listener.stop() }

  public var port: UInt16 { listener.port }

  /// Connections there are end, as those of a rerouted network do.
  public func set(_ way: Way) {
    points.way.withLock { $0 = way }
    listener.cutConnections()
  }
  public func stop() { listener.stop() }

  private static func copy(from: Connection, to: Connection) {
    while true {
      let part = from.read()
      guard !part.isEmpty, to.write(part) else { return }
    }
  }
}

/// A port of 127.0.0.4 that lets nobody in: connecting to it takes until the caller gives up.
public final class SilentAddress: Sendable {
  private let sockets: [Int32]

  public init(port: UInt16) throws {
    func address<Value>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Value) -> Value {
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = port.bigEndian
      address.sin_addr.s_addr = UInt32(0x7F00_0004).bigEndian
      return withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
    }
    let own = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
    guard own >= 0, address({ bind(own, $0, $1) }) == 0, listen(own, 0) == 0 else {
      close(own)
      throw SystemFailure("bind 127.0.0.4")
    }
    // Its queue, which takes one or two, is full from here on.
    sockets =
      [own]
      + (0..<3).map { _ in
        let guest = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC | O_NONBLOCK, 0)
        _ = address { connect(guest, $0, $1) }
        return guest
      }
  }
  deinit { for socket in sockets { close(socket) } }
}
