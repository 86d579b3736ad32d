// Directories of many pages: listed once each way, read in any order, and not listed at all for one of their files.
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(4)), .enabled(if: Machine.canMount))
struct LargeDirectoryTests {
  private func large(_ count: Int) throws -> FakeS3 {
    let server = try FakeS3()
    for number in 1...count {
      server.put("big/f\(1_000_000 + number)", [120], etag: .value("\"t\""), modified: 1_600_000_000)
    }
    return server
  }

  // A031
  @Test func `a hundred thousand names cost their pages, with all attributes, once`() async throws {
    let server = try large(100_000)
    let stage = try await server.mounted("--freshness", "600s", limit: .seconds(200))
    let (names, first) = try await stage.cost {
      try await stage.mount.shell("ls -f big | sort -u | wc -l", limit: .seconds(90))
    }
    #expect(names.output == "100002\n", "\(names)")
    #expect((100...101).contains(first.lists) && first.total == first.lists, "\(first)")
    // Not from within the mount: find lists the directory that it is called in.
    let script = "find \"$0\" -size +0 -type f | wc -l; ls -l \"$0\" | tail -1"
    let (sizes, second) = try await stage.cost {
      try await run(["sh", "-c", script, stage.mount.path("big")], limit: .seconds(90))
    }
    #expect(sizes.output.hasPrefix("100000\n"), "\(sizes)")
    #expect(second.total == 0, "\(server.requests.suffix(2).map { "\($0.method) \($0.target)" })")
  }

  // A031
  @Test func `the first names are there before the last page is`() async throws {
    let server = try large(5000)
    let stage = try await server.mounted("--freshness", "600s")
    server.inject(.hang, on: .list, skip: 2)
    let script = "import os, sys; e = os.scandir(sys.argv[1]); print(sum(1 for _ in zip(range(900), e))); os._exit(0)"
    let early = try await python(script, stage.mount.path("big"), limit: .seconds(20))
    #expect(early.output == "900\n", "\(early)")
    server.clearFaults()
    let all = try await stage.mount.shell("ls -f big | wc -l", limit: .seconds(60))
    #expect(all.output == "5002\n", "\(all)")
  }

  // A032
  @Test func `what is there throughout is listed once, though names come and go between pages`() async throws {
    let server = try large(5000)
    let stage = try await server.mounted("--freshness", "600s")
    server.inject(
      .meanwhile(after: 10) { [weak server] in
        server?.delete("big/f1003000")
        server?.delete("big/f1003001")
        for name in ["big/f10029995", "big/f10030005", "big/f1003000a"] { server?.put(name, "new") }
      }, on: .list, skip: 2, times: 1)
    let listed = try await stage.mount.shell("ls -f big", limit: .seconds(60))
    #expect(listed.succeeded, "\(listed)")
    let names = listed.output.split(separator: "\n").map(String.init)
    #expect(Set(names).count == names.count, "a name twice")
    let throughout = Set((1...5000).filter { $0 != 3000 && $0 != 3001 }.map { "f\(1_000_000 + $0)" })
    #expect(throughout.subtracting(names).isEmpty)
    #expect(names.count <= 5000 + 2 + 3)
  }

  // A033
  @Test func `a directory is read from its beginning or any position again, to the same end`() async throws {
    let server = try large(5000)
    let stage = try await server.mounted("--freshness", "600s")
    let script = """
      import ctypes, sys
      libc = ctypes.CDLL(None, use_errno=True)
      class Entry(ctypes.Structure):
        _fields_ = [("ino", ctypes.c_uint64), ("off", ctypes.c_int64), ("len", ctypes.c_uint16),
                    ("type", ctypes.c_uint8), ("name", ctypes.c_char * 256)]
      libc.opendir.restype = libc.readdir.restype = ctypes.c_void_p
      libc.telldir.restype = ctypes.c_long
      libc.seekdir.argtypes = [ctypes.c_void_p, ctypes.c_long]
      for call in (libc.readdir, libc.rewinddir, libc.telldir): call.argtypes = [ctypes.c_void_p]
      def read(d, most=10**9):
        names = []
        while len(names) < most:
          ctypes.set_errno(0)
          entry = libc.readdir(d)
          if not entry:
            assert ctypes.get_errno() == 0
            break
          names.append(ctypes.cast(entry, ctypes.POINTER(Entry)).contents.name)
        return names
      d = libc.opendir(sys.argv[1].encode())
      read(d, 10)
      libc.rewinddir(d)
      whole = read(d)
      assert len(set(whole)) == len(whole) == 5002, len(whole)
      libc.rewinddir(d)
      read(d, 1234)
      place = libc.telldir(d)
      tail = read(d)
      libc.seekdir(d, place)
      assert read(d) == tail == whole[1234:]
      # A place belongs to its stream (POSIX, seekdir); in another it is one, too.
      other = libc.opendir(sys.argv[1].encode())
      libc.seekdir(other, place)
      rest = read(other)
      assert rest and len(set(rest)) == len(rest) and set(rest) <= set(whole)
      libc.rewinddir(other)
      assert set(read(other)) == set(whole)
      print("good")
      """
    let (result, cost) = try await stage.cost { try await python(script, stage.mount.path("big")) }
    #expect(result.output == "good\n", "\(result)")
    #expect(cost.lists <= 6)
  }

  // A034
  @Test func `one file of a hundred thousand is found without a listing`() async throws {
    let server = try large(100_000)
    let stage = try await server.mounted("--freshness", "600s")
    let (text, cold) = try await stage.cost { try await stage.mount.text("big/f1077777") }
    #expect(text == "x")
    #expect(cold.total <= 3, "\(cold)")
    let (error, missing) = try await stage.cost {
      await stage.mount.errno { _ = try await stage.mount.attributes("big/missing") }
    }
    #expect(error == .noEntry)
    #expect(missing.total <= 2, "\(missing)")
    let (next, beside) = try await stage.cost { try await stage.mount.text("big/f1077999") }
    #expect(next == "x")
    #expect(beside.total == 1, "\(beside)")
  }
}
