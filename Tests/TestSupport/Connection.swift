// One accepted or made TCP connection, in blocking calls.
import Glibc
import Synchronization

/// POLLRDHUP of poll(2), which the C library shows to GNU sources only.
private let peerClosed: Int32 = 0x2000

/// A connected socket, closed when released; one thread reads and writes, any may cut it.
final class Connection: Sendable {
  let descriptor: Int32
  let number: Int
  private let pending = Mutex<[UInt8]>([])
  private let isCut = Atomic(false)

  init(owning descriptor: Int32, number: Int) {
    self.descriptor = descriptor
    self.number = number
    var one: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
  }
  deinit { close(descriptor) }

  /// Connects to a loopback port.
  static func open(port: UInt16, number: Int = 0) throws -> Connection {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
    guard descriptor >= 0 else { throw SystemFailure("socket") }
    let connection = Connection(owning: descriptor, number: number)
    let done = withLoopback(port) { connect(descriptor, $0, $1) }
    guard done == 0 else { throw SystemFailure("connect to port \(port)") }
    return connection
  }

  /// Ends both directions; the thread inside a read or write returns.
  func cut() {
    isCut.store(true, ordering: .releasing)
    shutdown(descriptor, Int32(SHUT_RDWR))
  }

  /// Makes the coming close a reset (RST) in place of an orderly end.
  func resetWhenClosed() {
    var hard = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &hard, socklen_t(MemoryLayout<linger>.size))
  }

  /// Cut by us, or left by the other side.
  var isGone: Bool {
    if isCut.load(ordering: .acquiring) { return true }
    var query = pollfd(fd: descriptor, events: Int16(peerClosed), revents: 0)
    return poll(&query, 1, 0) > 0 && Int32(query.revents) & (peerClosed | Int32(POLLHUP) | Int32(POLLERR)) != 0
  }

  /// Waits while the connection lasts: false when it is gone before `condition` holds.
  func wait(until condition: () -> Bool) -> Bool {
    var looks = 0
    while !condition() {
      if isGone { return false }
      // Whoever waits for long need not be told within the millisecond.
      pause(.milliseconds(looks < 200 ? 2 : 10))
      looks += 1
    }
    // What is cut before the condition comes to hold stays cut.
    return !isCut.load(ordering: .acquiring)
  }

  /// Waits for a time; false when the connection is gone before.
  func wait(_ duration: Duration) -> Bool {
    let end = ContinuousClock.now + duration
    return wait { ContinuousClock.now >= end }
  }

  /// Some bytes; empty at the end of the stream.
  func read(upTo count: Int = 65536) -> [UInt8] {
    let kept = pending.withLock { held -> [UInt8] in
      let part = Array(held.prefix(count))
      held.removeFirst(part.count)
      return part
    }
    if !kept.isEmpty { return kept }
    return [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      var got: Int
      repeat { got = recv(descriptor, buffer.baseAddress, count, 0) } while got < 0 && errno == EINTR
      filled = max(0, got)
    }
  }

  func read(exactly count: Int) -> [UInt8]? {
    var bytes: [UInt8] = []
    while bytes.count < count {
      let part = read(upTo: count - bytes.count)
      if part.isEmpty { return nil }
      bytes += part
    }
    return bytes
  }

  /// The bytes up to and with the empty line that ends a message's head; nil at the end of the stream.
  func readHead() -> [UInt8]? {
    var bytes: [UInt8] = []
    while bytes.count < 1 << 20 {
      let part = read()
      if part.isEmpty { return nil }
      let from = max(0, bytes.count - 3)
      bytes += part
      if let end = endOfHead(bytes, from: from) {
        let rest = Array(bytes[end...])
        pending.withLock { $0 = rest + $0 }
        return Array(bytes[..<end])
      }
    }
    return nil
  }

  private func endOfHead(_ bytes: [UInt8], from: Int) -> Int? {
    guard bytes.count >= 4 else { return nil }
    for index in from...(bytes.count - 4)
    where bytes[index] == 13 && bytes[index + 1] == 10 && bytes[index + 2] == 13 && bytes[index + 3] == 10 {
      return index + 4
    }
    return nil
  }

  /// A line without its CRLF, for chunk sizes.
  func readLine() -> [UInt8]? {
    var line: [UInt8] = []
    while let byte = read(exactly: 1)?[0] {
      if byte == 10 { return line.last == 13 ? line.dropLast() : line }
      line.append(byte)
    }
    return nil
  }

  /// Sends all; false when the connection is gone.
  @discardableResult
  func write(_ bytes: [UInt8]) -> Bool {
    bytes.withUnsafeBytes { buffer in
      var done = 0
      while done < buffer.count {
        let sent = send(descriptor, buffer.baseAddress.map { $0 + done }, buffer.count - done, Int32(MSG_NOSIGNAL))
        if sent < 0, errno == EINTR { continue }
        if sent <= 0 { return false }
        done += sent
      }
      return true
    }
  }
}

/// A call of the system that failed, with its errno.
public struct SystemFailure: Error, CustomStringConvertible {
  public let description: String
  init(_ call: String) { description = "\(call): \(String(cString: strerror(errno)))" }
  init(message: String) { description = message }
}

func withLoopback<Value>(_ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Value) -> Value {
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_port = port.bigEndian
  address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
  return withUnsafePointer(to: &address) { pointer in
    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
  }
}
