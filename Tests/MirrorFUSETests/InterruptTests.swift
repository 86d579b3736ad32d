// Signals: a deadly one frees the caller at once, any other goes unnoticed.
import Glibc
import MirrorCore
import MirrorPlatform
import Testing

@testable import MirrorFUSE

extension Mounted {
  @Suite struct Interrupts {
    @Test func `a program with a timer of 1 ms never sees EINTR`() async throws {
      let tree = SyntheticTree(readDelay: .milliseconds(150))
      for index in 0..<3 {
        tree.addFile("file\(index)", .bytes(pattern(4096)))
        tree.delay("file\(index)", .milliseconds(250))
      }
      try await withMount(tree) { mount in
        // The C library's calls, since Python's own hide EINTR.
        let script = """
          ticks = 0
          def tick(*_):
              global ticks
              ticks += 1
          signal.signal(signal.SIGALRM, tick)
          signal.siginterrupt(signal.SIGALRM, False)
          signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
          bytes = ctypes.create_string_buffer(4096)
          for i in range(3):
              f = libc.open(f"{root}/file{i}".encode(), 0)
              print(f >= 0 or errno.errorcode[ctypes.get_errno()], libc.read(f, bytes, 4096))
          signal.setitimer(signal.ITIMER_REAL, 0)
          print(ticks > 2)
          """
        await Child.run(script, [mount.path], prints: "True 4096\nTrue 4096\nTrue 4096\nTrue")
        #expect(mount.tree.failedReplies == 0)
      }
    }

    @Test func `SIGKILL frees a process that waits in a look-up in less than 300 ms`() async throws {
      let tree = SyntheticTree()
      tree.addFile("never", .bytes([]))
      tree.hold("never")
      try await withMount(tree) { mount in
        let child = try Child("os.stat(root + '/never')", [mount.path])
        #expect(await eventually { mount.tree.waiting == 1 })
        let clock = SystemClock()
        let start = clock.now()
        kill(child.pid, SIGKILL)
        let status = child.reap(within: .seconds(3))
        #expect(status == SIGKILL)
        #expect(clock.now() - start < .milliseconds(300))
        #expect(await eventually { mount.session.waitingRequests == 0 })
        // The tree's own answer comes too late, and it is told so.
        mount.tree.release()
        #expect(mount.tree.failedReplies == 1)
      }
    }

    @Test func `a deadly signal after a harmless one frees the process too`() async throws {
      let tree = SyntheticTree()
      tree.addFile("never", .bytes([]))
      tree.hold("never")
      try await withMount(tree) { mount in
        let child = try Child(
          "signal.signal(signal.SIGUSR1, lambda *_: None); os.stat(root + '/never')", [mount.path])
        #expect(await eventually { mount.tree.waiting == 1 })
        kill(child.pid, SIGUSR1)
        try await Task.sleep(for: .milliseconds(250))
        #expect(mount.session.waitingRequests == 1)
        kill(child.pid, SIGTERM)
        #expect(child.reap(within: .seconds(1)) == SIGTERM)
      }
    }

    @Test func `signals during thousands of quick look-ups lose no answer`() async throws {
      let tree = SyntheticTree(entryTimeout: .zero)
      for index in 0..<8 {
        tree.addFile("file\(index)", .bytes([]))
        tree.delay("file\(index)", .milliseconds(1))
      }
      try await withMount(tree) { mount in
        let script = """
          signal.signal(signal.SIGALRM, lambda *_: None)
          signal.siginterrupt(signal.SIGALRM, False)
          signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
          failures = sum(libc.access(f"{root}/file{i % 8}".encode(), 0) != 0 for i in range(1000))
          signal.setitimer(signal.ITIMER_REAL, 0)
          print(failures)
          """
        await Child.run(script, [mount.path], prints: "0")
        #expect(await eventually { mount.session.waitingRequests == 0 })
      }
    }
  }
}
