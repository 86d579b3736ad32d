// What the usual tools make of a mount: df, du, dd, tar, tail, and mounts over mounts.
import Glibc
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(2)), .enabled(if: Machine.canMount))
struct ToolTests {
  // A103
  @Test func `df has a size and no use above 100 %, asks nobody, and waits for nobody`() async throws {
    let server = try FakeS3()
    server.put("d/f", content(100_000, 1))
    let stage = try await server.mounted("--freshness", "1h")
    _ = try await stage.mount.read("d/f")
    server.mode = .blackhole
    let script = """
      import os, subprocess, sys, time
      started = time.monotonic()
      s = os.statvfs(sys.argv[1])
      print(s.f_blocks > 0, 0 <= s.f_bfree <= s.f_blocks, s.f_namemax, bool(s.f_flag & os.ST_RDONLY), time.monotonic() - started < 0.1)
      row = subprocess.run(["df", "--output=fstype,pcent,source", sys.argv[1]], capture_output=True, text=True).stdout.split("\\n")[1].split()
      print(row[0], row[1] == "-" or 0 <= int(row[1].rstrip("%")) <= 100, row[2])
      """
    let (result, cost) = try await stage.cost { try await python(script, stage.mount.point) }
    #expect(result.output == "True True 255 True True\nfuse.s3mirror True bucket\n", "\(result)")
    #expect(cost.total == 0)
  }

  // A105
  @Test func `du counts what the objects hold, cached or not`() async throws {
    let server = try FakeS3()
    for size in [0, 1, 511, 512, 513, 1 << 20] { server.put("d/\(size)", content(size, 1)) }
    let stage = try await server.mounted("--freshness", "1h")
    let command = "stat -c '%s %b %B' d/*; du -sb --apparent-size d/512 | cut -f1; stat -c %o d/1"
    let expected =
      [0, 1, 1 << 20, 511, 512, 513].sorted { "\($0)" < "\($1)" }.map { "\($0) \(($0 + 511) / 512) 512\n" }.joined()
    for _ in 0..<2 {
      let result = try await stage.mount.shell(command)
      #expect(result.output.hasPrefix(expected + "512\n"), "\(result)")
      #expect((Int(result.output.split(separator: "\n").last ?? "") ?? 0) >= 4096)
      _ = try await stage.mount.shell("cat d/* >/dev/null")
    }
  }

  // A104
  @Test func `odd ways of opening read the same bytes, within the window without a request`() async throws {
    let server = try FakeS3()
    server.put("d/f", content(300_001, 1))
    let stage = try await server.mounted("--freshness", "1h")
    _ = try await stage.mount.read("d/f")
    let script = """
      import errno, hashlib, os, subprocess, sys
      path = sys.argv[1] + "/d/f"
      plain = hashlib.sha256(open(path, "rb").read()).hexdigest()
      for size in ("4096", "1000", "1M"):
        data = subprocess.run(["dd", "if=" + path, "iflag=direct", "bs=" + size], capture_output=True)
        print(size, hashlib.sha256(data.stdout).hexdigest() == plain, data.returncode)
      for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_PATH", "O_NOATIME", "O_DIRECTORY"):
        try: os.close(os.open(path, os.O_RDONLY | getattr(os, name))); print(name, "ok")
        except OSError as error: print(name, errno.errorcode[error.errno])
      """
    let (result, cost) = try await stage.cost { try await python(script, stage.mount.point) }
    #expect(
      result.output == """
        4096 True 0
        1000 True 0
        1M True 0
        O_NOFOLLOW ok
        O_NONBLOCK ok
        O_CLOEXEC ok
        O_PATH ok
        O_NOATIME ok
        O_DIRECTORY ENOTDIR

        """, "\(result)")
    #expect(cost.total == 0)
  }

  // A112
  @Test func `what backups probe for costs no request and no line of the log`() async throws {
    let server = try FakeS3()
    for name in ["d/f", "d/g"] { server.put(name, name) }
    let stage = try await server.mounted("--freshness", "1h")
    _ = try await stage.mount.shell("cat d/*")
    let target = try TemporaryDirectory("copy")
    let lines = {
      (try? FileSystem.list(stage.mount.cache + "/log"))?.compactMap { name in
        try? FileSystem.read(stage.mount.cache + "/log/" + name).count
      }.reduce(0, +)
    }
    let before = lines()
    let script = """
      import errno, fcntl, os, sys, termios
      for path in (sys.argv[1], sys.argv[1] + "/d/f"):
        print(sorted(os.listxattr(path))[:1])
        for name in ("security.capability", "security.selinux", "system.posix_acl_access", "trusted.x"):
          try: os.getxattr(path, name); print("value")
          except OSError as error: print(errno.errorcode[error.errno] in ("ENODATA", "ENOTSUP"), end=" ")
      try: fcntl.ioctl(open(sys.argv[1] + "/d/f"), termios.TCGETS, b"0" * 64)
      except OSError as error: print(errno.errorcode[error.errno])
      """
    let (result, cost) = try await stage.cost {
      let told = try await python(script, stage.mount.point)
      let tools = try await stage.mount.shell(
        "ls -l . d >/dev/null && ls -lZ d >/dev/null && cp -a d '\(target.path)/d' && tar --xattrs -cf /dev/null . && cmp d/f '\(target.path)/d/f'"
      )
      #expect(tools.succeeded && tools.errors.isEmpty, "\(tools)")
      return told
    }
    #expect(result.output.hasSuffix("ENOTTY\n") && !result.output.contains("False"), "\(result)")
    #expect(cost.total == 0)
    #expect(lines() == before)
  }

  // A116
  @Test func `tail -F shows a new version, tail -f the old bytes and no others`() async throws {
    let server = try FakeS3()
    server.put("d/f", "one\n")
    let stage = try await server.mounted("--freshness", "1s")
    let script = """
      tail ---disable-inotify -s 0.2 -n +1 -F d/f >"$H/F" 2>/dev/null & F=$!
      tail ---disable-inotify -s 0.2 -n +1 -f d/f >"$H/f" 2>/dev/null & f=$!
      sleep 0.5; touch "$H/ready"; sleep 4; kill $F $f
      """
    let directory = try TemporaryDirectory("tail")
    async let tails = stage.mount.shell("H=\(directory.path); " + script)
    let isReady = await eventually { (try? FileSystem.attributes(directory.file("ready"))) != nil }
    #expect(isReady)
    server.put("d/f", "two, and longer\n")
    _ = try await tails
    let (followed, held) = (try FileSystem.read(directory.file("F")), try FileSystem.read(directory.file("f")))
    #expect(String(decoding: followed, as: UTF8.self) == "one\ntwo, and longer\n")
    #expect(String(decoding: held, as: UTF8.self) == "one\n")
  }

  // A120
  @Test(.enabled(if: Machine.isRoot)) func `below an overlay and behind a bind mount all is the same`() async throws {
    let server = try FakeS3()
    for number in 0..<50 { server.put("d\(number % 5)/f\(number)", content(1000 + number, UInt64(number))) }
    let stage = try await server.mounted("--freshness", "1h")
    let script = """
      set -e
      sum() { (cd "$1" && find . -type f | sort | xargs sha256sum | sha256sum); }
      mkdir -p "$H/t"; mount -t tmpfs none "$H/t"; mkdir "$H/t/u" "$H/t/w" "$H/t/o" "$H/t/b"
      mount -t overlay none -o "lowerdir=$M,upperdir=$H/t/u,workdir=$H/t/w" "$H/t/o"
      mount --bind "$M" "$H/t/b"
      for round in 1 2; do
        sum "$M"; sum "$H/t/o"; sum "$H/t/b"
        echo 3 >/proc/sys/vm/drop_caches
      done
      echo changed >"$H/t/o/d0/f0"; cat "$H/t/o/d0/f0"
      find "$M" -type f | wc -l
      """
    let directory = try TemporaryDirectory("overlay")
    let result = try await run(
      [
        "unshare", "--mount", "--propagation", "private", "sh", "-c",
        "H=\(directory.path) M=\(stage.mount.point)\n" + script,
      ],
      limit: .seconds(60))
    let lines = result.output.split(separator: "\n")
    #expect(lines.count == 8 && Set(lines.prefix(6)).count == 1, "\(result)")
    #expect(lines.suffix(2) == ["changed", "50"], "\(result)")
  }
}
