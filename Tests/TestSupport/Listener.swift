// A loopback port that answers, refuses, or swallows, and the thread that accepts on it.
import Glibc
import Synchronization

/// What a server does with connections.
public enum ServerMode: Sendable {
  /// Answers.
  case ok
  /// Connections are refused, open ones are cut.
  case refuse
  /// Connections are accepted, nothing is ever answered; those swallowed are cut when the mode ends.
  case blackhole
}

/// Accepts connections on a port of 127.0.0.1 and serves each on a thread of its own.
final class Listener: Sendable {
  private struct State {
    var wanted = ServerMode.ok
    var applied = ServerMode.ok
    var stopped = false
    /// The thread is gone, and with it the pipe that wakes it: its number may be somebody else's by now.
    var ended = false
    var connections: [Int: Connection] = [:]
    var accepted = 0
  }
  let port: UInt16
  private let state = Mutex(State())
  private let wake: (read: Int32, write: Int32)

  init(serve: @escaping @Sendable (Connection) -> Void) throws {
    var pipes: [Int32] = [0, 0]
    guard pipe(&pipes) == 0 else { throw SystemFailure("pipe") }
    for end in pipes { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    wake = (pipes[0], pipes[1])
    let (descriptor, port) = try Self.bound(port: 0)
    self.port = port
    guard listen(descriptor, 512) == 0 else { throw SystemFailure("listen") }
    detachThread { self.run(descriptor, serve) }
  }

  var mode: ServerMode { state.withLock { $0.wanted } }
  /// Connections accepted since the start.
  var accepted: Int { state.withLock { $0.accepted } }

  /// Returns when the new mode holds.
  func set(_ mode: ServerMode) {
    state.withLock { state in
      if mode == .refuse || (state.wanted == .blackhole && mode != .blackhole) {
        state.connections.values.forEach { $0.cut() }
      }
      state.wanted = mode
    }
    poke()
    while state.withLock({ $0.applied != mode && !$0.stopped }) { pause(.microseconds(200)) }
    // Those accepted between the two.
    if mode == .refuse { cutConnections() }
  }

  /// Ends every connection and frees the port.
  func stop() {
    let open = state.withLock { state -> [Connection] in
      state.stopped = true
      return Array(state.connections.values)
    }
    open.forEach { $0.cut() }
    poke()
  }

  /// Cuts the open connections, as a restarted server does.
  func cutConnections() { state.withLock { Array($0.connections.values) }.forEach { $0.cut() } }

  private func poke() {
    state.withLock { state in
      var byte: UInt8 = 1
      if !state.ended { _ = Glibc.write(wake.write, &byte, 1) }
    }
  }

  /// A bound socket; with a queue it listens, without one its port refuses.
  private static func bound(port: UInt16) throws -> (Int32, UInt16) {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC | O_NONBLOCK, 0)
    guard descriptor >= 0 else { throw SystemFailure("socket") }
    var one: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
    guard withLoopback(port, { bind(descriptor, $0, $1) }) == 0 else { throw SystemFailure("bind port \(port)") }
    var address = sockaddr_in()
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutablePointer(to: &address) { pointer in
      _ = pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
    }
    return (descriptor, UInt16(bigEndian: address.sin_port))
  }

  private func run(_ first: Int32, _ serve: @escaping @Sendable (Connection) -> Void) {
    var descriptor = first
    defer {
      close(descriptor)
      state.withLock { state in
        state.ended = true
        close(wake.read)
        close(wake.write)
      }
    }
    while true {
      var waits = [
        pollfd(fd: wake.read, events: Int16(POLLIN), revents: 0),
        pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
      ]
      let (stopped, wanted, applied) = state.withLock { ($0.stopped, $0.wanted, $0.applied) }
      if stopped { return }
      if wanted != applied {
        descriptor = change(descriptor, from: applied, to: wanted)
        state.withLock { $0.applied = wanted }
        continue
      }
      poll(&waits, wanted == .refuse ? 1 : 2, -1)
      if waits[0].revents != 0 {
        var byte: UInt8 = 0
        _ = Glibc.read(wake.read, &byte, 1)
      } else if waits[1].revents != 0 {
        accept(descriptor, serve)
      }
    }
  }

  /// Refusing keeps the port bound without listening, so that nobody else gets it.
  private func change(_ descriptor: Int32, from: ServerMode, to: ServerMode) -> Int32 {
    if to == .refuse {
      close(descriptor)
      for _ in 0..<200 {
        if let (held, _) = try? Self.bound(port: port) { return held }
        pause(.milliseconds(5))
      }
      preconditionFailure("port \(port) was taken")
    }
    if from == .refuse { listen(descriptor, 512) }
    return descriptor
  }

  private func accept(_ descriptor: Int32, _ serve: @escaping @Sendable (Connection) -> Void) {
    let accepted = Glibc.accept(descriptor, nil, nil)
    guard accepted >= 0 else { return }
    _ = fcntl(accepted, F_SETFD, FD_CLOEXEC)
    let connection = state.withLock { state -> Connection in
      state.accepted += 1
      let connection = Connection(owning: accepted, number: state.accepted)
      state.connections[connection.number] = connection
      return connection
    }
    detachThread {
      serve(connection)
      self.state.withLock { $0.connections[connection.number] = nil }
    }
  }
}
