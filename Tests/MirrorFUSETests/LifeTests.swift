// Beginning and end of mounts, also of those whose process died.
import Glibc
import MirrorCore
import MirrorPlatform
import Testing

@testable import MirrorFUSE

extension Mounted {
  @Suite struct Life {
    private func failure(_ body: () throws(MountError) -> Void) -> MountError.Code? {
      do throws(MountError) {
        try body()
        return nil
      } catch { return error.code }
    }

    /// The names of this process's threads.
    private static func threads() -> [String] {
      ((try? FileSystem.list("/proc/self/task")) ?? []).compactMap {
        (try? FileSystem.read("/proc/self/task/\($0)/comm")).map { String(decoding: $0, as: UTF8.self) }
      }
    }

    private func session() throws -> KernelSession {
      try KernelSession(tree: SyntheticTree(), options: MountOptions(source: "test"), log: .none)
    }

    @Test func `a mount is listed with its source, and unmounting leaves nothing`() async throws {
      let mount = try MountFixture(SyntheticTree())
      defer { mount.close() }
      let record = try #require(try MountTable.mirrors().first { $0.mountPoint == mount.path })
      #expect(record.source == "s3://bucket/a,b\\c")
      #expect(DeadMount.isMounted(mount.path) && !DeadMount.isDead(mount.path))
      try mount.session.unmount(lazy: false)
      #expect(mount.waitForEnd())
      #expect(!DeadMount.isMounted(mount.path))
      #expect(failure { () throws(MountError) in try mount.session.unmount(lazy: false) } == .notMounted)
      #expect(await eventually { !Self.threads().contains { $0.hasPrefix("s3m-") } })
      // Late words of the tree find nobody, and do no harm.
      mount.session.notices.expire(Array("name".utf8), in: .root)
    }

    @Test func `a mount in use is busy, unless it is detached`() async throws {
      let tree = SyntheticTree()
      tree.addFile("file", .bytes([0x61]))
      try await withMount(tree) { mount in
        let child = try Child(
          """
          f = open(root + "/file")
          open(sys.argv[2], "w").close()
          while os.path.exists(sys.argv[2]): time.sleep(0.01)
          print(f.read())
          """, [mount.path, mount.path + ".flag"])
        #expect(await eventually { access(mount.path + ".flag", F_OK) == 0 })
        #expect(failure { () throws(MountError) in try mount.session.unmount(lazy: false) } == .busy)
        try mount.session.unmount(lazy: true)
        #expect(!DeadMount.isMounted(mount.path))
        unlink(mount.path + ".flag")
        #expect(await child.finish().output == "a\n")
        #expect(mount.waitForEnd())
      }
    }

    @Test(.enabled(if: Mounting.isRoot))
    func `a connection that an administrator aborts ends the session, and leaves nothing`() async throws {
      let mount = try MountFixture(SyntheticTree())
      defer { mount.close() }
      let device = try #require(try MountTable.top(at: mount.path)?.device)
      let number = String(device.drop { $0 != ":" }.dropFirst())
      let control = try MountFixture.temporaryDirectory()
      defer { rmdir(control) }
      // The control file system is not mounted everywhere.
      let script = """
        assert libc.mount(b"fusectl", root.encode(), b"fusectl", 0, None) == 0
        try:
            with open(f"{root}/{sys.argv[2]}/abort", "w") as f: f.write("1")
        finally:
            libc.umount2(root.encode(), 2)
        """
      await Child.run(script, [control, number], prints: "")
      #expect(mount.waitForEnd())
      #expect(!DeadMount.isMounted(mount.path))
    }

    @Test func `two sessions of one process do not meet`() async throws {
      let (first, second) = (SyntheticTree(), SyntheticTree())
      first.addFile("first", .bytes([]))
      second.addFile("second", .bytes([]))
      try await withMount(first) { one in
        try await withMount(second) { two in
          let script = "print(os.listdir(root), os.listdir(sys.argv[2]))"
          await Child.run(script, [one.path, two.path], prints: "['first'] ['second']")
        }
        await Child.run("print(os.listdir(root))", [one.path], prints: "['first']")
      }
    }

    @Test func `a mount point that cannot be used says why`() async throws {
      let directory = try MountFixture.temporaryDirectory()
      defer { try? FileSystem.removeTree(directory) }
      try FileSystem.write([], to: directory + "/file", mode: 0o600)
      let session = try session()
      #expect(failure { () throws(MountError) in try session.mount(at: directory + "/no") } == .mountPointMissing)
      #expect(
        failure { () throws(MountError) in try session.mount(at: directory + "/file") } == .mountPointNotDirectory)
      #expect(
        failure { () throws(MountError) in try session.mount(at: directory + "/file/x") } == .mountPointNotDirectory)
      try await withMount(SyntheticTree()) { mount in
        #expect(failure { () throws(MountError) in try session.mount(at: mount.path) } == .busy)
      }
      #expect(failure { () throws(MountError) in try DeadMount.detach(directory) } == .notMounted)
    }

    @Test(.enabled(if: Mounting.isRoot)) func `a mount whose process was killed is recognised and detached`()
      async throws
    {
      let directory = try MountFixture.temporaryDirectory()
      defer { rmdir(directory) }
      let script = """
        f = os.open("/dev/fuse", os.O_RDWR)
        options = f"fd={f},rootmode=40000,user_id=0,group_id=0".encode()
        assert libc.mount(b"s3://dead", root.encode(), b"fuse.s3mirror", 6, options) == 0
        os.kill(os.getpid(), signal.SIGKILL)
        """
      #expect(await (try Child(script, [directory])).finish().status == SIGKILL)
      defer { umount2(directory, Int32(MNT_DETACH)) }
      #expect(DeadMount.isDead(directory))
      #expect(try DeadMount.all().contains { $0.mountPoint == directory })
      let session = try session()
      #expect(failure { () throws(MountError) in try session.mount(at: directory) } == .dead)
      try DeadMount.detach(directory)
      #expect(!DeadMount.isMounted(directory))
      try session.mount(at: directory)
      try session.unmount(lazy: true)
    }
  }
}
