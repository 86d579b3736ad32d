import MirrorPlatform
import Synchronization
import TestSupport
import Testing

@testable import MirrorDaemon

@Suite(.timeLimit(.minutes(1)))
struct ControlSocketTests {
  /// A socket in a directory of its own that is removed at the end. The body blocks, so it has a thread of its own.
  private func withServer(
    _ responder: @escaping ControlServer.Responder, _ body: @escaping @Sendable (ControlServer) throws -> Void
  ) async throws {
    try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
      startThread("test") {
        done.resume(
          with: Result {
            let directory = "/tmp/s3mirror-control-\(ThisProcess.identifier)-\(UInt64.random(in: 0...UInt64.max))"
            try FileSystem.makeDirectory(directory)
            defer { try? FileSystem.removeTree(directory) }
            let server = try ControlServer(path: directory + "/x.sock", responder: responder)
            server.start()
            defer { server.stop() }
            try body(server)
          })
      }
    }
  }

  @Test func `question and answer arrive as they were said, whatever bytes they hold`() async throws {
    let asked = Mutex<[ControlRequest]>([])
    let path: [UInt8] = [0x61, 0x0A, 0x20, 0x25, 0xFF, 0x2F, 0x2B]
    try await withServer({ request in
      asked.withLock { $0.append(request) }
      return .text("line\nOK\n{\"a\":1}")
    }) { server in
      let answer = try ControlClient.ask(ControlRequest(.refresh, path), at: server.path)
      #expect(answer == .text("line\nOK\n{\"a\":1}"))
    }
    #expect(asked.withLock { $0 } == [ControlRequest(.refresh, path)])
  }

  @Test func `a failure keeps its exit code`() async throws {
    let failure = CommandFailure(.notMounted, "no such path: 'x'")
    try await withServer({ _ in .failure(failure) }) { server in
      let answer = try ControlClient.ask(ControlRequest(.explain), at: server.path)
      #expect(answer == .failure(failure))
    }
  }

  @Test func `a detached mount is reached under another name, and neither takes the other's`() async throws {
    try await withServer({ _ in .text("first") }) { server in
      try ControlServer.setAside(server.path)
      let second = try ControlServer(path: server.path) { _ in .text("second") }
      second.start()
      let aside = server.path.replacing(".sock", with: "-\(ThisProcess.identifier).sock")
      #expect(try ControlClient.ask(ControlRequest(.status), at: aside) == .text("first"))
      server.stop()
      #expect(try ControlClient.ask(ControlRequest(.status), at: server.path) == .text("second"))
      second.stop()
      #expect((try? FileSystem.attributes(server.path)) == nil)
    }
  }

  @Test func `who waited for the end and has gone is waited for no more`() async throws {
    try await withServer({ _ in .text("") }) { server in
      for _ in 0..<5 {
        do { _ = try ControlClient.Attendance(.attend, at: server.path) }
        pause(.milliseconds(20))
      }
      let last = try ControlClient.Attendance(.attend, at: server.path)
      let start = SystemClock().now()
      while server.attending.withLock({ $0.count }) != 1, SystemClock().now() - start < .seconds(10) {
        pause(.milliseconds(5))
      }
      #expect(server.attending.withLock { $0.count } == 1)
      withExtendedLifetime(last) {}
    }
  }

  @Test func `a process that takes no more connections is given up on`() async throws {
    try await blocking {
      let path = "/tmp/s3mirror-queue-\(ThisProcess.identifier).sock"
      let silent = try LocalSocket.listen(at: path)
      defer { try? FileSystem.removeFile(path) }
      var held: [LocalSocket] = []
      let failure = #expect(throws: Errno.self) {
        for _ in 0..<100 { held.append(try LocalSocket.connect(to: path)) }
      }
      #expect(failure == .wouldBlock && !ControlClient.isAbandoned(path))
      silent.shutDown()
    }
  }

  @Test func `only its user can reach the socket`() async throws {
    try await withServer({ _ in .text("") }) { server in
      let permissions = try FileSystem.attributes(server.path).permissions
      #expect(permissions == 0o600)
    }
  }

  @Test func `a socket that a dead daemon left is recognised and replaced`() async throws {
    try await withServer({ _ in .text("first") }) { server in
      #expect(!ControlClient.isAbandoned(server.path))
      #expect(throws: Errno.self) { try ControlServer(path: server.path) { _ in .text("second") } }
      // Whoever dies leaves the name behind, and nobody who listens.
      let left = server.path + ".left"
      try FileSystem.rename(server.path, to: left)
      server.stop()
      #expect(ControlClient.isAbandoned(left))
      let successor = try ControlServer(path: left) { _ in .text("second") }
      successor.start()
      let answer = try ControlClient.ask(ControlRequest(.status), at: left)
      #expect(answer == .text("second"))
      successor.stop()
    }
  }

  @Test func `who attends is told of the end and not before`() async throws {
    try await withServer({ _ in .text("") }) { server in
      let attendance = try ControlClient.Attendance(.attend, at: server.path)
      #expect(attendance.process == ThisProcess.identifier)
      #expect(!attendance.wait(atMost: .milliseconds(50)))
    }
  }
}
