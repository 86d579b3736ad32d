// Look-ups, listings and attributes through a real mount.
import Glibc
import MirrorCore
import MirrorPlatform
import Testing

@testable import MirrorFUSE

extension Mounted {
  @Suite struct Directories {
    @Test func `sixteen slow look-ups of one directory go on side by side`() async throws {
      let tree = SyntheticTree()
      for index in 0..<16 {
        tree.addFile("slow\(index)", .bytes([1]))
        tree.delay("slow\(index)", .milliseconds(200))
      }
      try await withMount(tree) { mount in
        let script = """
          start = time.monotonic()
          threads = [threading.Thread(target=os.stat, args=(f"{root}/slow{i}",)) for i in range(16)]
          for t in threads: t.start()
          for t in threads: t.join()
          print(time.monotonic() - start < 1)
          """
        await Child.run(script, [mount.path], prints: "True")
      }
    }

    @Test func `five thousand names are listed once each, from any remembered position`() async throws {
      let tree = SyntheticTree()
      let directory = tree.addDirectory("many")
      for index in 0..<5000 { tree.addFile("name-\(index)", .bytes([]), in: directory) }
      try await withMount(tree) { mount in
        let script = """
          class Entry(ctypes.Structure):
              _fields_ = [("ino", ctypes.c_uint64), ("off", ctypes.c_int64), ("len", ctypes.c_uint16),
                          ("type", ctypes.c_uint8), ("name", ctypes.c_char * 256)]
          libc.opendir.restype = ctypes.c_void_p
          libc.readdir.restype = ctypes.POINTER(Entry)
          libc.telldir.restype = ctypes.c_long
          for f in (libc.readdir, libc.telldir, libc.rewinddir): f.argtypes = [ctypes.c_void_p]
          libc.seekdir.argtypes = [ctypes.c_void_p, ctypes.c_long]
          d = libc.opendir((root + "/many").encode())
          def rest():
              names = []
              while True:
                  e = libc.readdir(d)
                  if not e: return names
                  names.append((e.contents.name.decode(), e.contents.ino))
          head = []
          for _ in range(1702):
              e = libc.readdir(d); head.append((e.contents.name.decode(), e.contents.ino))
          at = libc.telldir(d)
          tail = rest()
          libc.seekdir(d, at)
          again = rest()
          libc.rewinddir(d)
          whole = rest()
          print(head[0] == (".", os.stat(root + "/many").st_ino), head[1] == ("..", os.stat(root).st_ino))
          print(tail == again, head + tail == whole, len(whole), len(set(whole)))
          print(all(os.stat(f"{root}/many/{n}").st_ino == i for n, i in whole[2::100]))
          """
        await Child.run(script, [mount.path], prints: "True True\nTrue True 5002 5002\nTrue")
        #expect(await eventually { mount.tree.counts.closed == mount.tree.counts.opened })
      }
    }

    @Test func `attributes are the tree's, with the owner and permissions of the options`() async throws {
      let tree = SyntheticTree()
      tree.addFile("file", .bytes(pattern(1025)))
      tree.addDirectory("directory")
      try await withMount(tree) { options in
        options.uid = 1234
        options.gid = 5678
        options.fileMode = 0o440
        options.directoryMode = 0o550
        options.allowOther = Mounting.isRoot
      } _: { mount in
        let script = """
          for name in ("file", "directory"):
              s = os.stat(f"{root}/{name}")
              print(oct(s.st_mode), s.st_nlink, s.st_uid, s.st_gid, s.st_size, s.st_blocks, s.st_blksize >= 131072,
                    s.st_mtime == s.st_ctime == s.st_atime, int(s.st_mtime), s.st_ino)
          """
        await Child.run(
          script, [mount.path],
          prints: """
            0o100440 1 1234 5678 1025 3 True True 1700000000 7002
            0o40550 2 1234 5678 0 0 True True 1600000000 7003
            """)
      }
    }

    @Test func `an absent name is remembered as long as the answer says`() async throws {
      for (timeout, lookups) in [(Duration.seconds(60), 1), (.zero, 3)] {
        let tree = SyntheticTree(entryTimeout: timeout)
        try await withMount(tree) { mount in
          let script = "print([os.path.exists(root + '/nothing') for _ in range(3)])"
          await Child.run(script, [mount.path], prints: "[False, False, False]")
          #expect(mount.tree.counts.lookups == ["nothing": lookups])
        }
      }
    }

    @Test func `the file system is large, unused, and names have at most 255 bytes`() async throws {
      let tree = SyntheticTree()
      try await withMount(tree) { mount in
        let before = mount.tree.counts.total
        let script = """
          s = os.statvfs(root)
          print(s.f_blocks * s.f_frsize >= 1 << 50, s.f_blocks == s.f_bfree == s.f_bavail, s.f_namemax)
          try: os.stat(root + "/" + "n" * 256)
          except OSError as e: print(errno.errorcode[e.errno])
          """
        await Child.run(script, [mount.path], prints: "True True 255\nENAMETOOLONG")
        #expect(mount.tree.counts.total - before <= 1)
      }
    }

    @Test func `names a directory cannot hold are left out, the others are listed`() async throws {
      let tree = SyntheticTree()
      for name in ["good", "with/slash", "", ".", "..", String(repeating: "n", count: 256)] {
        tree.addFile(name, .bytes([]))
      }
      try await withMount(tree) { mount in
        await Child.run("print(os.listdir(root))", [mount.path], prints: "['good']")
      }
    }
  }
}
