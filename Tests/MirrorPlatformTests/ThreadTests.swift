// Threads that wait for each other, and local sockets.
import Glibc
import MirrorPlatform
import Testing

@Suite(.timeLimit(.minutes(1)))
struct `Threads` {
  @Test func `a promise gives its first value to who waits`() async {
    let promise = Promise<Int>()
    startThread("test") {
      promise.set(1)
      promise.set(2)
    }
    let answer = Promise<Int>()
    startThread("test") { answer.set(promise.wait()) }
    #expect(await value(of: answer) == 1)
  }

  @Test func `a promise without a value is waited for only so long`() async {
    let done = Promise<Bool>()
    startThread("test") { done.set(Promise<Int>().wait(atMost: .milliseconds(20)) == nil) }
    #expect(await value(of: done))
  }

  @Test func `a local socket carries bytes both ways, for its owner`() async throws {
    let scratch = try Scratch()
    let path = scratch("s")
    let server = try LocalSocket.listen(at: path)
    #expect(try FileSystem.attributes(path).permissions == 0o600)
    #expect(throws: Errno(rawValue: EADDRINUSE)) { try LocalSocket.listen(at: path) }
    startThread("test") {
      guard let client = try? server.accept(), let question = try? client.receiveAll(limit: 1000) else { return }
      try? client.send(question.reversed())
    }
    let answer = Promise<[UInt8]?>()
    startThread("test") {
      let client = try? LocalSocket.connect(to: path)
      try? client?.send([1, 2, 3])
      client?.finishSending()
      answer.set(try? client?.receiveAll(limit: 1000))
    }
    #expect(await value(of: answer) == [3, 2, 1])
    server.shutDown()
    #expect(throws: Errno.self) { try server.accept() }
  }

  /// Waits off the cooperative pool.
  private func value<Value: Sendable>(of promise: Promise<Value>) async -> Value {
    await withCheckedContinuation { continuation in
      startThread("wait") { continuation.resume(returning: promise.wait()) }
    }
  }
}
