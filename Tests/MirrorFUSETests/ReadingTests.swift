// Bytes through a real mount.
import Glibc
import MirrorCore
import MirrorPlatform
import Testing

@testable import MirrorFUSE

extension Mounted {
  @Suite struct Reading {
    /// A backing file that is gone from its directory at once.
    static func backing(_ bytes: [UInt8]) throws -> File {
      let directory = try MountFixture.temporaryDirectory()
      defer { rmdir(directory) }
      let path = directory + "/bytes"
      let file = try File.open(path, .readWrite, create: 0o600)
      try file.write(bytes, at: 0)
      unlink(path)
      return file
    }

    @Test func `bytes are the file's, whole, at odd offsets and at its end`() async throws {
      let bytes = pattern((3 << 20) + 4097)
      let tree = SyntheticTree()
      tree.addFile("extent", .file(try Self.backing(bytes), size: bytes.count))
      tree.addFile("memory", .bytes(bytes))
      tree.addFile("empty", .bytes([]))
      try await withMount(tree) { mount in
        let script = """
          for name in ("extent", "memory"):
              data = open(f"{root}/{name}", "rb").read()
              file = os.open(f"{root}/{name}", os.O_RDONLY)
              ranges = [(0, 1), (4095, 2), (131071, 70001), (len(data) - 3, 100), (len(data), 10), (len(data) + 9, 1)]
              right = all(os.pread(file, n, at) == data[at:at + n] for at, n in ranges)
              print(name, len(data), hashlib.sha256(data).hexdigest(), right)
          print(len(open(f"{root}/empty", "rb").read()))
          """
        let digest = hexadecimal(Digest.value(.sha256, of: bytes))
        let expected = "extent \(bytes.count) \(digest) True\nmemory \(bytes.count) \(digest) True\n0"
        await Child.run(script, [mount.path], prints: expected)
      }
    }

    @Test func `sequential reads come in requests of 1 MiB where sysfs lets read-ahead be raised`() async throws {
      let bytes = pattern(8 << 20)
      let tree = SyntheticTree()
      tree.addFile("large", .file(try Self.backing(bytes), size: bytes.count))
      try await withMount(tree) { mount in
        let device = try #require(try MountTable.top(at: mount.path)?.device)
        let setting = (try? FileSystem.read("/sys/class/bdi/\(device)/read_ahead_kb")) ?? []
        let raised = String(decoding: setting, as: UTF8.self) == "1024\n"
        _ = await Child.run("open(root + '/large', 'rb').read()", [mount.path])
        #expect(mount.tree.counts.longestRead == (raised ? 1 << 20 : 128 << 10))
      }
    }

    @Test func `a file that is shorter than it should be is an error, never a short read`() async throws {
      let tree = SyntheticTree()
      tree.addFile("cut", .file(try Self.backing(pattern(1000)), size: 5000))
      try await withMount(tree) { mount in
        let script = """
          try: print(len(open(root + "/cut", "rb").read()))
          except OSError as e: print(errno.errorcode[e.errno], os.stat(root + "/cut").st_size)
          """
        await Child.run(script, [mount.path], prints: "EIO 5000")
      }
    }

    @Test func `within the entry timeout opening and reading again asks nothing`() async throws {
      let tree = SyntheticTree()
      tree.addFile("file", .bytes(pattern(16384)), in: tree.addDirectory("directory"))
      try await withMount(tree) { mount in
        let script = "for _ in range(20): open(root + '/directory/file', 'rb').read(); os.stat(root + '/directory')"
        await Child.run(script, [mount.path], prints: "")
        let first = mount.tree.counts
        #expect(first.lookups == ["directory": 1, "file": 1])
        await Child.run(script, [mount.path], prints: "")
        #expect(mount.tree.counts == first)
      }
    }

    @Test func `ready files are read at once while 200 reads are stalled`() async throws {
      let tree = SyntheticTree()
      for index in 0..<200 { tree.addFile("stalled\(index)", .stalled(size: 131_072)) }
      tree.addFile("ready", .bytes(pattern(131_072)))
      try await withMount(tree) { mount in
        let stalled = try Child(
          """
          def one(i):
              assert open(f"{root}/stalled{i}", "rb").read() == b"x" * 131072
              done.append(i)
          done = []
          threads = [threading.Thread(target=one, args=(i,)) for i in range(200)]
          for t in threads: t.start()
          for t in threads: t.join()
          print(len(done))
          """, [mount.path])
        #expect(await eventually(within: .seconds(10)) { mount.tree.waiting >= 200 })
        let script = """
          start = time.monotonic()
          open(root + "/ready", "rb").read()
          print(time.monotonic() - start < 0.5)
          """
        await Child.run(script, [mount.path], prints: "True")
        mount.tree.release()
        let result = await stalled.finish()
        #expect(result.output == "200\n")
      }
    }
  }
}
