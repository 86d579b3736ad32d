// Who sees what: modes, owners, other users; and that nobody can write.
import Glibc
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(2)), .enabled(if: Machine.canMount))
struct UserTests {
  private func shown(_ mount: MountFixture) async throws -> String {
    try await mount.shell("stat -c '%a %u %g' . d d/f | tr '\\n' ';'").output
  }

  // A101
  @Test(arguments: [
    ([], "555 U G;555 U G;444 U G;"),
    (["--uid", "1234", "--gid", "2345"], "555 1234 2345;555 1234 2345;444 1234 2345;"),
    (["--file-mode", "0440", "--dir-mode", "0550"], "550 U G;550 U G;440 U G;"),
    (["--file-mode", "0555"], "555 U G;555 U G;555 U G;"),
    // A directory without x can't be used: given where r is.
    (["--dir-mode", "0644"], "755 U G;755 U G;444 U G;"),
    (["-o", "uid=7,file_mode=0400"], "555 7 G;555 7 G;400 7 G;"),
  ])
  func `modes and owners are as asked`(options: [String], expected: String) async throws {
    let server = try FakeS3()
    server.put("d/f", "x")
    let mount = try await MountFixture.mounted(
      server.bucket, endpoint: server.endpoint, options: options, limit: .seconds(60))
    let told = expected.split(separator: "U").joined(separator: "\(getuid())").split(separator: "G").joined(
      separator: "\(getgid())")
    #expect(try await shown(mount) == told)
    #expect(try await mount.shell("ls -l d").output.contains("?") == false)
  }

  // A101
  @Test(.enabled(if: Machine.isRoot)) func `others see nothing without allow-other, and with it what the modes say`()
    async throws
  {
    let server = try FakeS3()
    server.put("d/f", "content")
    for (options, file, expected) in [
      ([], "", "1"), (["--allow-other"], "content", "0"), (["--allow-other", "--file-mode", "0400"], "", "1"),
      (["--allow-other", "--uid", "65534", "--file-mode", "0400", "--dir-mode", "0500"], "content", "0"),
      (["--allow-other", "--dir-mode", "0500"], "", "1"),
    ] {
      let mount = try await MountFixture.mounted(
        server.bucket, endpoint: server.endpoint, options: options, limit: .seconds(60))
      let home = try #require(FileSystem.parent(of: mount.point))
      _ = try await run(["chmod", "711", home, mount.point])
      let read = try await run(Machine.asNobody + ["cat", mount.path("d/f")])
      #expect(read.output == file, "\(options) \(read)")
      #expect("\(read.status)" == expected)
      if expected == "1" { #expect(read.errors.contains("Permission denied"), "\(options) \(read)") }
      let denied = file.isEmpty ? try await run(Machine.asNobody + ["ls", "-l", mount.path("d")]) : nil
      if let denied { #expect(denied.succeeded == options.contains("0400"), "\(options) \(denied)") }
      #expect(try await mount.text("d/f") == "content")
    }
  }

  // A102
  @Test func `every way of writing is refused as a read-only file system, and asks nobody`() async throws {
    let server = try FakeS3()
    for name in ["d/f", "d/g"] { server.put(name, name) }
    let stage = try await server.mounted("--freshness", "1h", "--negative-freshness", "1h")
    let script = """
      import errno, os, sys
      os.chdir(sys.argv[1])
      open("d/f").read(); os.listdir("d")
      for name in ("new", "dir"):
        try: os.stat("d/" + name)
        except FileNotFoundError: pass
      def fifo(): os.mkfifo("d/fifo")
      tries = {
        "create": lambda: os.open("d/new", os.O_CREAT | os.O_WRONLY), "exclusive": lambda: open("d/new", "x"),
        "write": lambda: os.open("d/f", os.O_WRONLY), "both": lambda: os.open("d/f", os.O_RDWR),
        "append": lambda: open("d/f", "a"), "truncating": lambda: os.open("d/f", os.O_WRONLY | os.O_TRUNC),
        "created": lambda: os.open("d/f", os.O_CREAT | os.O_RDWR), "truncate": lambda: os.truncate("d/f", 0),
        "unlink": lambda: os.unlink("d/f"), "mkdir": lambda: os.mkdir("d/dir"), "rmdir": lambda: os.rmdir("d"),
        "rename": lambda: os.rename("d/f", "d/h"), "over": lambda: os.rename("d/f", "d/g"),
        "link": lambda: os.link("d/f", "d/l"), "symlink": lambda: os.symlink("x", "d/s"), "fifo": fifo,
        "chmod": lambda: os.chmod("d/f", 0o600), "chown": lambda: os.chown("d/f", 1, 1),
        "utime": lambda: os.utime("d/f", (1, 1)), "setxattr": lambda: os.setxattr("d/f", "user.a", b"b"),
        "removexattr": lambda: os.removexattr("d/f", "user.s3.key"),
        "rootdir": lambda: os.mkdir("dir"), "fchmod": lambda: os.fchmod(os.open("d/f", os.O_RDONLY), 0o600),
        "ftruncate": lambda: os.ftruncate(os.open("d/f", os.O_RDONLY), 0),
      }
      for what, call in tries.items():
        try: call(); print(what, "worked")
        except OSError as error: print(what, errno.errorcode[error.errno])
      print("access", os.access("d/f", os.W_OK), os.access("d", os.W_OK), os.access("d/f", os.R_OK))
      """
    let names = [
      "create", "exclusive", "write", "both", "append", "truncating", "created", "truncate", "unlink", "mkdir", "rmdir",
      "rename", "over", "link", "symlink", "fifo", "chmod", "chown", "utime", "setxattr", "removexattr", "rootdir",
      "fchmod",
    ]
    // ftruncate(2) of what is open for reading is an error of its own.
    let expected = names.map { "\($0) EROFS\n" }.joined() + "ftruncate EINVAL\naccess False False True\n"
    let (result, cost) = try await stage.cost { try await python(script, stage.mount.point) }
    #expect(result.output == expected, "\(result)")
    #expect(cost.total <= 1)
    let line = String(decoding: try FileSystem.read("/proc/self/mounts"), as: UTF8.self).split(separator: "\n").first {
      $0.contains(" \(stage.mount.point) ")
    }
    #expect(line?.contains(" ro,") == true)
    #expect(line?.contains(" fuse.s3mirror ") == true)
    guard Machine.isRoot else { return }
    let remounted = try await run(["mount", "-o", "remount,rw", stage.mount.point])
    let (again, after) = try await stage.cost { try await python(script, stage.mount.point) }
    let refused = again.output.split(separator: "\n").dropLast().filter { !$0.hasSuffix("EROFS") }
    #expect(refused.allSatisfy { $0.hasPrefix("ftruncate") }, "\(remounted) \(again)")
    #expect(after.total == 0)
    #expect(try await stage.mount.text("d/f") == "d/f")
    #expect(server.requests.allSatisfy { $0.method == "GET" || $0.method == "HEAD" })
  }
}
