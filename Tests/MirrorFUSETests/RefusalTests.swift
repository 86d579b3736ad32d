// What a read-only mount refuses, and with which errno.
import MirrorCore
import MirrorPlatform
import Testing

@testable import MirrorFUSE

extension Mounted {
  @Suite struct Refusals {
    private static let writes = """
      file, new = root + "/file", root + "/new"
      def write():
          f = os.open(file, os.O_WRONLY)
          try: os.write(f, b"x")
          finally: os.close(f)
      attempts = dict(
          write=write, create=lambda: os.open(new, os.O_CREAT | os.O_WRONLY), truncate=lambda: os.truncate(file, 0),
          mkdir=lambda: os.mkdir(new), unlink=lambda: os.unlink(file), rmdir=lambda: os.rmdir(root + "/directory"),
          rename=lambda: os.rename(file, new), symlink=lambda: os.symlink("x", new), link=lambda: os.link(file, new),
          chmod=lambda: os.chmod(file, 0o600), chown=lambda: os.chown(file, 0, 0), utime=lambda: os.utime(file),
          mknod=lambda: os.mknod(new), setxattr=lambda: os.setxattr(file, "user.a", b"b"),
          removexattr=lambda: os.removexattr(file, "user.a"))
      for name, attempt in attempts.items():
          try: attempt(); print(name, "allowed")
          except OSError as e:
              if e.errno != errno.EROFS: print(name, errno.errorcode[e.errno])
      print(len(attempts))
      """

    private static func tree() -> SyntheticTree {
      let tree = SyntheticTree()
      tree.addFile("file", .bytes([1, 2, 3]))
      tree.addDirectory("directory")
      return tree
    }

    @Test func `every call that would change something fails with EROFS`() async throws {
      try await withMount(Self.tree()) { mount in
        await Child.run(Self.writes, [mount.path], prints: "15")
      }
    }

    @Test(.enabled(if: Mounting.isRoot)) func `also where an administrator remounted it for writing`() async throws {
      try await withMount(Self.tree()) { mount in
        let remount = """
          MS_REMOUNT, MS_NOSUID, MS_NODEV = 32, 2, 4
          assert libc.mount(None, root.encode(), None, MS_REMOUNT | MS_NOSUID | MS_NODEV, None) == 0, ctypes.get_errno()

          """
        await Child.run(remount + Self.writes, [mount.path], prints: "15")
      }
    }

    @Test func `extended attributes are the tree's, by the rules of getxattr and listxattr`() async throws {
      try await withMount(Self.tree()) { mount in
        let script = """
          f = root + "/file"
          def attempt(call):
              try: return call()
              except OSError as e: return errno.errorcode[e.errno]
          def raw(size):
              b = ctypes.create_string_buffer(64)
              n = libc.getxattr(f.encode(), b"user.s3.etag", b if size else None, size)
              return n if n >= 0 else errno.errorcode[ctypes.get_errno()]
          print(os.listxattr(f), os.getxattr(f, "user.s3.etag"), raw(0), raw(5), raw(4))
          print(attempt(lambda: os.getxattr(f, "user.s3.version-id")), attempt(lambda: os.getxattr(f, "user.mine")),
                attempt(lambda: os.getxattr(f, "security.selinux")))
          """
        await Child.run(
          script, [mount.path],
          prints: """
            ['user.s3.etag', 'user.s3.key'] b'"abc"' 5 5 ERANGE
            ENODATA ENOTSUP ENOTSUP
            """)
      }
    }

    @Test func `ioctl, seeking for holes and locks behave as on any simple file system`() async throws {
      try await withMount(Self.tree()) { mount in
        let script = """
          import fcntl
          f = os.open(root + "/file", os.O_RDONLY)
          try: fcntl.ioctl(f, 0x6601)
          except OSError as e: print(errno.errorcode[e.errno])
          print(os.lseek(f, 0, os.SEEK_DATA), os.lseek(f, 0, os.SEEK_HOLE))
          fcntl.flock(f, fcntl.LOCK_SH)
          os.fsync(f)
          print(os.access(root + "/file", os.R_OK), os.access(root + "/file", os.W_OK))
          """
        await Child.run(script, [mount.path], prints: "ENOTTY\n0 3\nTrue False")
      }
    }
  }
}
