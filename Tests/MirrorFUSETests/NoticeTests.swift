// What the kernel does with our notices.
import Glibc
import MirrorCore
import MirrorPlatform
import Testing

@testable import MirrorFUSE

extension Mounted {
  @Suite struct Notices {
    private static let touch = "os.stat(root + '/file')"

    private func lookups(_ mount: MountFixture) -> Int { mount.tree.counts.lookups["file"] ?? 0 }

    @Test func `an expired name is asked for again, and its pages stay`() async throws {
      let tree = SyntheticTree()
      tree.addFile("file", .bytes(pattern(4096)))
      try await withMount(tree) { mount in
        let script = "open(root + '/file', 'rb').read()"
        _ = await Child.run(script, [mount.path])
        #expect(lookups(mount) == 1)
        let reads = mount.tree.counts.reads
        mount.session.notices.expire(Array("file".utf8), in: .root)
        #expect(
          await eventually {
            access(mount.path + "/file", F_OK)
            return lookups(mount) > 1
          })
        _ = await Child.run(script, [mount.path])
        #expect(mount.tree.counts.reads == reads)
      }
    }

    @Test func `an invalidated name leads to the new file, and the old one is forgotten`() async throws {
      let tree = SyntheticTree()
      tree.addFile("file", .bytes([0x61]))
      try await withMount(tree) { mount in
        let script = "print(open(root + '/file').read())"
        await Child.run(script, [mount.path], prints: "a")
        mount.tree.addFile("file", .bytes([0x62, 0x62]))
        mount.session.notices.invalidate(Array("file".utf8), in: .root)
        #expect(await eventually { mount.tree.counts.forgotten == 1 })
        await Child.run(script, [mount.path], prints: "bb")
      }
    }

    @Test func `a remembered absence ends with its notice`() async throws {
      let tree = SyntheticTree()
      try await withMount(tree) { mount in
        let script = "print(os.path.exists(root + '/file'))"
        await Child.run(script, [mount.path], prints: "False")
        mount.tree.addFile("file", .bytes([]))
        await Child.run(script, [mount.path], prints: "False")
        mount.session.notices.invalidate(Array("file".utf8), in: .root)
        #expect(await eventually { access(mount.path + "/file", F_OK) == 0 })
      }
    }

    @Test func `a notice for a directory with a waiting look-up holds nobody up, and is carried out later`()
      async throws
    {
      let tree = SyntheticTree()
      for name in ["file", "slow", "other"] { tree.addFile(name, .bytes([])) }
      tree.hold("slow")
      try await withMount(tree) { mount in
        _ = await Child.run(Self.touch, [mount.path])
        let slow = try Child("os.stat(root + '/slow')", [mount.path])
        #expect(await eventually { mount.tree.waiting == 1 })
        for _ in 0..<50 { mount.session.notices.expire(Array("file".utf8), in: .root) }
        try await Task.sleep(for: .milliseconds(100))
        let script = """
          start = time.monotonic()
          os.stat(root + "/other")
          print(time.monotonic() - start < 0.5)
          """
        await Child.run(script, [mount.path], prints: "True")
        mount.tree.release()
        #expect(await slow.finish().status == 0)
        try await Task.sleep(for: .milliseconds(200))
        _ = await Child.run(Self.touch, [mount.path])
        #expect(lookups(mount) == 2)
      }
    }

    @Test(.enabled(if: Mounting.isRoot)) func `what is mounted on a directory survives notices for files beside it`()
      async throws
    {
      let tree = SyntheticTree()
      tree.addDirectory("directory")
      tree.addFile("file", .bytes([]))
      try await withMount(tree) { mount in
        let script = """
          import subprocess
          assert libc.mount(b"none", (root + "/directory").encode(), b"tmpfs", 0, None) == 0
          open(root + "/directory/here", "w").close()
          os.stat(root + "/file")
          """
        await Child.run(script, [mount.path], prints: "")
        defer { umount2(mount.path + "/directory", Int32(MNT_DETACH)) }
        for name in ["file", "directory"] { mount.session.notices.expire(Array(name.utf8), in: .root) }
        mount.session.notices.invalidate(Array("file".utf8), in: .root)
        #expect(await eventually { mount.tree.counts.forgotten >= 1 })
        await Child.run("print(os.listdir(root + '/directory'))", [mount.path], prints: "['here']")
      }
    }
  }
}
