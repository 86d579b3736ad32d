// The commands' end of the control socket.
public import MirrorPlatform

public enum ControlClient {
  /// Asks and waits for the answer; `step` is told of the steps before it. Throws ECONNREFUSED where the daemon is dead,
  /// ENOENT where there never was one, and EAGAIN where it says nothing for so long.
  public static func ask(
    _ request: ControlRequest, at path: String, patience: Duration = .seconds(60),
    step: (ControlStep) -> Void = { _ in }
  ) throws(Errno) -> ControlAnswer {
    let socket = try connect(path)
    socket.limitWaits(to: patience)
    try socket.send(request.line)
    socket.finishSending()
    var bytes: [UInt8] = []
    while true {
      let part = try socket.receive()
      bytes += part
      while bytes.first == 0x2B, let end = bytes.firstIndex(of: 0x0A) {
        if let next = ControlStep(line: bytes[..<end]) { step(next) }
        bytes.removeSubrange(...end)
      }
      if part.isEmpty { break }
      if bytes.count > 1 << 30 { throw Errno.inputOutput }
    }
    guard let answer = ControlAnswer(bytes: bytes) else { throw Errno.inputOutput }
    return answer
  }

  /// A connection that ends when the daemon is gone.
  public final class Attendance {
    private let socket: LocalSocket
    public let process: Int32?

    /// `stop` asks the daemon to end; `attend` only waits for it.
    public init(_ verb: ControlRequest.Verb, at path: String) throws(Errno) {
      socket = try connect(path)
      process = socket.peerProcess
      try socket.send(ControlRequest(verb).line)
      socket.finishSending()
    }

    /// Waits until the daemon has gone; false when it is still there after `limit`.
    public func wait(atMost limit: Duration) -> Bool {
      socket.limitWaits(to: limit)
      do throws(Errno) { _ = try socket.receiveAll(limit: 1 << 20) } catch { return error != .wouldBlock }
      // Its descriptors close shortly before it is gone.
      let clock = SystemClock()
      let start = clock.now()
      while let process, Processes.isRunning(process), clock.now() - start < .seconds(1) { pause(.milliseconds(5)) }
      return true
    }
  }

  /// The daemon's process; nil where none listens.
  public static func process(at path: String) -> Int32? {
    (try? connect(path)).flatMap { $0.peerProcess }
  }

  /// Nobody listens at this socket any more.
  public static func isAbandoned(_ path: String) -> Bool {
    do throws(Errno) { _ = try LocalSocket.connect(to: path) } catch { return error == .connectionRefused }
    return false
  }

  private static func connect(_ path: String) throws(Errno) -> LocalSocket {
    let socket = try LocalSocket.connect(to: path)
    // Another user could have put a socket there, were the directory not private.
    guard let peer = socket.peerUser, peer == ThisProcess.user || peer == 0 || ThisProcess.user == 0 else {
      throw Errno.accessDenied
    }
    return socket
  }
}
