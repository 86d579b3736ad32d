// Stream sockets: how the commands speak with a running daemon, and others read its metrics.
import CGlibc
import Glibc

/// A listening or connected stream socket of this machine, closed when released.
public final class LocalSocket: Sendable {
  private let file: File
  private init(owning descriptor: Int32) { file = File(owning: descriptor) }

  /// Listens at a path that must not exist yet; mode 0600.
  public static func listen(at path: String) throws(Errno) -> LocalSocket {
    LocalSocket(owning: try checked { unsafe cglibc_local_listen(path) })
  }

  /// Listens by TCP at a numeric address or `localhost`; port 0 is any that is free. EINVAL for no such address.
  public static func listen(address: String, port: UInt16) throws(Errno) -> LocalSocket {
    LocalSocket(owning: try checked { unsafe cglibc_tcp_listen(address, "\(port)") })
  }

  /// The TCP port that it listens at.
  public var port: UInt16? { UInt16(exactly: cglibc_tcp_port(file.descriptor)) }

  /// connect(2); ECONNREFUSED where nobody listens any more.
  public static func connect(to path: String) throws(Errno) -> LocalSocket {
    LocalSocket(owning: try checked { unsafe cglibc_local_connect(path) })
  }

  /// Waits for the next connection; EINVAL after `shutDown`.
  public func accept() throws(Errno) -> LocalSocket {
    let descriptor = try checked { cglibc_local_accept(file.descriptor) }
    return LocalSocket(owning: descriptor)
  }

  /// Ends both directions and wakes who waits in `accept`.
  public func shutDown() { _ = shutdown(file.descriptor, Int32(SHUT_RDWR)) }
  /// Says that nothing more will be sent.
  public func finishSending() { _ = shutdown(file.descriptor, Int32(SHUT_WR)) }

  /// The user and the process at the other end (SO_PEERCRED).
  public var peerUser: UInt32? { UInt32(exactly: cglibc_peer_user(file.descriptor)) }
  public var peerProcess: Int32? { Int32(exactly: cglibc_peer_process(file.descriptor)).flatMap { $0 > 0 ? $0 : nil } }

  /// The other end is closed, in both directions.
  public var isAbandoned: Bool {
    var state = pollfd(fd: file.descriptor, events: 0, revents: 0)
    return unsafe poll(&state, 1, 0) == 1 && Int32(state.revents) & POLLHUP != 0
  }

  /// Bounds each wait for bytes to arrive or leave (EWOULDBLOCK after it).
  public func limitWaits(to limit: Duration) {
    let (seconds, attoseconds) = limit.components
    var time = timeval(tv_sec: Int(seconds), tv_usec: Int(attoseconds / 1_000_000_000_000))
    for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
      _ = unsafe setsockopt(file.descriptor, SOL_SOCKET, option, &time, socklen_t(MemoryLayout<timeval>.size))
    }
  }

  /// All bytes until the other end finishes sending; EMSGSIZE beyond `limit`.
  public func receiveAll(limit: Int) throws(Errno) -> [UInt8] {
    var bytes: [UInt8] = []
    while true {
      let part = try file.readSequential(count: 65536)
      if part.isEmpty { return bytes }
      bytes += part
      if bytes.count > limit { throw Errno(rawValue: EMSGSIZE) }
    }
  }

  /// The next bytes, some at least; none once the other end has finished sending.
  public func receive() throws(Errno) -> [UInt8] { try file.readSequential(count: 65536) }

  public func send(_ bytes: [UInt8]) throws(Errno) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let sent = try checked {
        unsafe rest.withUnsafeBytes {
          unsafe Glibc.send(file.descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
      }
      rest = rest.dropFirst(sent)
    }
  }
}

extension Errno {
  public static let addressInUse = Errno(rawValue: EADDRINUSE)
  public static let connectionRefused = Errno(rawValue: ECONNREFUSED)
}
