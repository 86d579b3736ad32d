// The daemon's end of the control socket: takes questions of its own user and of root, and nobody else's.
public import MirrorPlatform
import Synchronization

/// Listens on a thread of its own; each connection is one question.
public final class ControlServer: Sendable {
  public typealias Responder = @Sendable (ControlRequest) async -> ControlAnswer
  /// Tells of a step, on a thread that may wait; false when nobody listens any more.
  public typealias Listener = @Sendable (ControlStep) -> Bool
  /// One that may tell of steps before it answers.
  public typealias SlowResponder = @Sendable (ControlRequest, @escaping Listener) async -> ControlAnswer

  /// Lists of names come as one line.
  private static let longestLine = 64 << 20

  public let path: String
  private let socket: LocalSocket
  /// Of the socket's name: another mount may have given it another one since.
  private let inode: UInt64?
  private let responder: SlowResponder
  /// Connections that close with the process, for who waits for its end.
  let attending = Mutex<[LocalSocket]>([])

  /// Listens at `path`; a socket that an earlier process left there is replaced.
  public convenience init(path: String, responder: @escaping Responder) throws(Errno) {
    try self.init(path: path, slow: { request, _ in await responder(request) })
  }

  public init(path: String, slow responder: @escaping SlowResponder) throws(Errno) {
    self.path = path
    self.responder = responder
    do throws(Errno) {
      socket = try LocalSocket.listen(at: path)
    } catch {
      guard error == Errno.addressInUse, ControlClient.isAbandoned(path) else { throw error }
      try FileSystem.removeFile(path)
      socket = try LocalSocket.listen(at: path)
    }
    inode = (try? FileSystem.attributes(path))?.inode
  }

  /// Gives the socket of a mount that was detached here, and that programs still use, a name of its own: whoever lists
  /// the sockets finds it, and its mount point may be mounted anew.
  static func setAside(_ path: String) throws(Errno) {
    guard (try? FileSystem.attributes(path)) != nil, !ControlClient.isAbandoned(path) else { return }
    let name = path.hasSuffix(suffix) ? String(path.dropLast(suffix.count)) : path
    try FileSystem.rename(path, to: "\(name)-\(ThisProcess.identifier)\(suffix)")
  }

  static let suffix = ".sock"

  public func start() {
    startThread("control") { [self] in
      var spare: [File] = []
      var isShort = false
      while true {
        while !isShort, spare.count < Self.spares, let file = try? File.open("/dev/null", .read) { spare.append(file) }
        do throws(Errno) {
          let connection = try socket.accept()
          isShort = false
          try tryThread("control-answer") { [self] in answer(connection) }
        } catch {
          if error == .invalid { return }
          // Out of descriptors or threads, most likely: accept(2) takes one of ours and waits with it, others will be closed.
          isShort = true
          if spare.popLast() == nil { pause(.milliseconds(100)) }
        }
      }
    }
  }

  /// Connections that there is a descriptor for when all others are taken: `unmount` attends and asks, others look
  /// whether somebody listens.
  private static let spares = 3

  /// Takes no more questions and removes the socket.
  public func stop() {
    if let inode, (try? FileSystem.attributes(path))?.inode == inode { try? FileSystem.removeFile(path) }
    socket.shutDown()
  }

  private func answer(_ connection: LocalSocket) {
    guard let peer = connection.peerUser, peer == ThisProcess.user || peer == 0 else { return }
    connection.limitWaits(to: .seconds(5))
    guard let line = try? connection.receiveAll(limit: Self.longestLine) else { return }
    guard let request = ControlRequest(line: line) else {
      let failure = CommandFailure(.failure, "the running mount does not know this command; is it an older version?")
      return reply(.failure(failure), on: connection)
    }
    if request.verb == .stop || request.verb == .attend {
      attending.withLock { attending in
        // Of an `unmount` that was refused.
        attending.removeAll { $0.isAbandoned }
        attending.append(connection)
      }
    }
    let responder = responder
    let listener: Listener = { step in (try? connection.send(step.line)) != nil }
    reply(waitFor { await responder(request, listener) }, on: connection)
  }

  private func reply(_ answer: ControlAnswer, on connection: LocalSocket) { try? connection.send(answer.bytes) }
}
