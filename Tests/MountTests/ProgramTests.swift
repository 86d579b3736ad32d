// What larger programs do with a mount: archives, databases, repositories, web servers, players, many handles.
import Glibc
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(3)), .enabled(if: Machine.canMount))
struct ProgramTests {
  /// Puts a tree of files into the bucket under the names they have in it, empty directories as markers.
  private func put(_ directory: String, into server: FakeS3) async throws {
    let found = try await run([
      "find", directory, "-type", "f", "-printf", "%P\n", "-o", "-type", "d", "-empty", "-printf", "%P/\n",
    ])
    for name in found.output.split(separator: "\n").map(String.init) {
      server.put(name, name.hasSuffix("/") ? [] : try FileSystem.read("\(directory)/\(name)"))
    }
  }

  // A106
  @Test func `inode numbers are each file's own, and stay while it does`() async throws {
    let server = try FakeS3()
    for number in 0..<600 { server.put("d\(number % 20)/f\(number)", "x\(number)") }
    let stage = try await server.mounted("--freshness", "1s")
    let script = "find . -printf '%i %n %y %P\\n' | sort -k4"
    let first = try await stage.mount.shell(script)
    let lines = first.output.split(separator: "\n")
    #expect(lines.count == 621 && Set(lines.map { $0.split(separator: " ")[0] }).count == 621)
    #expect(lines.filter { $0.contains(" f ") }.allSatisfy { $0.split(separator: " ")[1] == "1" })
    if Machine.isRoot { try await MountFixture.dropKernelCaches() }
    try await pass(.seconds(1))
    #expect(try await stage.mount.shell(script).output == first.output)
    let entries = """
      import os, sys
      for root, _, _ in os.walk(sys.argv[1]):
        for entry in os.scandir(root): assert entry.inode() == entry.stat(follow_symlinks=False).st_ino, entry.path
      """
    #expect(try await python(entries, stage.mount.point).succeeded)
    try await stage.mount.unmount()
    #expect(try await stage.mount.mount(["--freshness", "1s"]).succeeded)
    #expect(try await stage.mount.shell(script).output == first.output)
  }

  // A107, A108
  @Test func `a cold tree goes into an archive without a warning, and no date moves by it`() async throws {
    let server = try FakeS3()
    let dates: [Int64] = [-1_000_000, 0, 1, 1_600_000_000, 2_147_483_648, 4_102_444_800]
    for number in 0..<300 {
      server.put("d\(number % 30)/f\(number)", content(5000, UInt64(number)), modified: dates[number % dates.count])
    }
    let stage = try await server.mounted("--freshness", "1h")
    let times = "find . -printf '%P %T@ %C@\\n' | sort"
    let before = try await stage.mount.shell(times)
    let tar = try await stage.mount.shell("tar cf /dev/null . && tar cf - . | tar tvf - | wc -l")
    #expect(tar.succeeded && tar.errors.isEmpty && tar.output == "331\n", "\(tar)")
    #expect(try await stage.mount.shell(times).output == before.output)
    for (number, date) in dates.enumerated() {
      #expect(before.output.contains("f\(number) \(date).0000000000 \(date).0000000000\n"), "\(date)")
    }
  }

  // A111
  @Test func `a thousand open files are held by a process, and few of them by the daemon`() async throws {
    let server = try FakeS3()
    for number in 0..<1000 { server.put("d/f\(number)", content(4096, UInt64(number))) }
    let stage = try await server.mounted("--freshness", "1h")
    let daemon = try #require(stage.mount.daemon)
    let descriptors = { @Sendable in (try? FileSystem.list("/proc/\(daemon)/fd").count) ?? 0 }
    let script = """
      import os, resource, sys
      resource.setrlimit(resource.RLIMIT_NOFILE, (2048, 2048))
      files = [open(f"{sys.argv[1]}/d/f{n}", "rb", buffering=0) for n in range(1000)]
      print(sum(len(f.read(8192)) for f in files))
      print(len(os.listdir(f"/proc/{sys.argv[2]}/fd")) < 400)
      """
    let result = try await python(script, stage.mount.point, "\(daemon)")
    #expect(result.output == "\(1000 * 4096)\nTrue\n", "\(result)")
    #expect(server.connections < 100)
    #expect(await eventually { descriptors() < 400 })
  }

  // A113
  @Test func `what is sent by sendfile, splice or copy_file_range is whole and of one version`() async throws {
    let server = try FakeS3()
    server.put("f", content(1 << 20, 1))
    let stage = try await server.mounted("--freshness", "1s")
    let script = """
      import hashlib, os, sys, tempfile, threading, time
      path, known = sys.argv[1] + "/f", set(sys.argv[3:])
      def fetch(how, source, target, size):
        done = 0
        while done < size:
          if how == "sendfile": n = os.sendfile(target, source, done, size - done)
          elif how == "copy":
            try: n = os.copy_file_range(source, target, min(size - done, 300000), done, done)
            except OSError: n = os.pwrite(target, os.pread(source, size - done, done), done)
          else:
            r, w = os.pipe()
            n = os.splice(source, w, min(size - done, 65536), done, None)
            n = os.splice(r, target, n, None, done)
            os.close(r); os.close(w)
          if n == 0: sys.exit(f"{how}: {done} of {size}")
          done += n
      seen, end = set(), time.monotonic() + 30
      while len(seen) < 3 and time.monotonic() < end:
        for how in ("sendfile", "splice", "copy"):
          source, (target, name) = os.open(path, os.O_RDONLY), tempfile.mkstemp()
          os.unlink(name)
          size = os.fstat(source).st_size
          fetch(how, source, target, size)
          digest = hashlib.sha256(os.pread(target, size + 1, 0)).hexdigest()
          if digest not in known: sys.exit(f"{how}: mixed")
          seen.add(digest)
          open(f"{sys.argv[2]}/{len(seen)}", "w").close()
          os.close(source); os.close(target)
      print(len(seen))
      """
    let versions = [content(1 << 20, 1), content(2 << 20, 2), content(1 << 19, 3)]
    let known = versions.map { hexadecimal(Digest.value(.sha256, of: $0)) }
    let seen = try TemporaryDirectory("seen")
    async let reading = python(script, stage.mount.point, seen.path, known[0], known[1], known[2])
    for (number, version) in versions.enumerated().dropFirst() {
      let path = seen.file("\(number)")
      #expect(await eventually(within: .seconds(30)) { (try? FileSystem.attributes(path)) != nil })
      server.put("f", version)
    }
    let result = try await reading
    #expect(result.output == "3\n", "\(result)")
  }

  // A115
  @Test func `a database is queried, and one connection never sees two of them`() async throws {
    let server = try FakeS3()
    let made = try TemporaryDirectory("made")
    let make = """
      import sqlite3, sys
      for version in (1, 2):
        db = sqlite3.connect(f"{sys.argv[1]}/{version}.db")
        db.execute("create table t (n integer primary key, v, x)")
        db.executemany("insert into t values (?, ?, ?)", ((n, version, "y" * 200) for n in range(20000)))
        db.commit(); db.close()
      """
    #expect(try await python(make, made.path).succeeded)
    server.put("t.db", try FileSystem.read(made.file("1.db")))
    let stage = try await server.mounted("--freshness", "1s")
    let query = """
      import sqlite3, sys, time
      def ask(db): return db.execute("select min(v), max(v), count(*), sum(n) from t").fetchone()
      for how in ("mode=ro", "immutable=1"):
        old = sqlite3.connect(f"file:{sys.argv[1]}/t.db?{how}", uri=True)
        print(ask(old))
      open(sys.argv[2] + "/asked", "w").close(); sys.stdin.readline()
      try: print(ask(old)[:2])
      except sqlite3.Error as error: print((1, 1))
      print(ask(sqlite3.connect(f"file:{sys.argv[1]}/t.db?mode=ro", uri=True))[:2])
      """
    let second = try FileSystem.read(made.file("2.db"))
    let gate = made.file("gate")
    _ = try await run(["mkfifo", gate])
    async let asking = run(
      ["sh", "-c", "exec python3 -c \"$1\" \"$2\" \"${3%/*}\" <\"$3\"", "sh", query, stage.mount.point, gate],
      limit: .seconds(60))
    let opened = try await blocking { try File.open(gate, .write) }
    let asked = made.file("asked")
    #expect(await eventually(within: .seconds(30)) { (try? FileSystem.attributes(asked)) != nil })
    server.put("t.db", second)
    try await pass(.seconds(1))
    try await blocking { try opened.writeSequential(Array("\n".utf8)) }
    let result = try await asking
    let all = "(1, 1, 20000, 199990000)\n"
    #expect(result.output == "\(all)\(all)(1, 1)\n(2, 2)\n", "\(result)")
  }

  // A115
  @Test(.enabled(if: findProgram("git") != nil)) func `a repository is read, checked and cloned`() async throws {
    let server = try FakeS3()
    let made = try TemporaryDirectory("made")
    let script = """
      set -e; cd "$0"; git init -q -b main w; cd w
      git config user.name n; git config user.email e@example.org
      for n in 1 2 3; do seq $n 500 >f$n; git add .; git commit -qm "$n"; done
      git clone -q --bare . ../r.git; git -C ../r.git gc -q
      """
    let environment = ["GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "HOME": made.path]
    #expect(try await run(["sh", "-c", script, made.path], environment: environment).succeeded)
    try await put(made.path, into: server)
    let stage = try await server.mounted("--freshness", "1h")
    let read = """
      set -e; git config --global safe.directory '*'
      git --git-dir="$0/r.git" log --format=%s; git --git-dir="$0/r.git" fsck --no-progress
      git clone -q "$0/r.git" "$1/clone"; git -C "$1/clone" status --porcelain
      git --git-dir="$0/w/.git" --work-tree="$0/w" diff --stat
      """
    let own = ["GIT_CONFIG_GLOBAL": made.file("config"), "GIT_CONFIG_SYSTEM": "/dev/null", "HOME": made.path]
    for round in ["cold", "warm"] {
      let result = try await run(
        ["sh", "-c", read, stage.mount.point, try makeDirectory(made, round)], environment: own, limit: .seconds(60))
      #expect(result.succeeded && result.output == "3\n2\n1\n", "\(round) \(result)")
    }
  }

  /// `bytes=0-9`.
  private static func bytes(_ text: String) -> Range<Int64>? {
    let ends = text.dropFirst("bytes=".count).split(separator: "-").compactMap { Int64($0) }
    return ends.count == 2 ? ends[0]..<(ends[1] + 1) : nil
  }

  private func makeDirectory(_ parent: TemporaryDirectory, _ name: String) throws -> String {
    try FileSystem.makeDirectory(parent.file(name))
    return parent.file(name)
  }

  // A117
  @Test func `random reads of a cold film fetch no byte twice`() async throws {
    let server = try FakeS3()
    let size: Int64 = 256 << 20
    server.put("film", size: size, seed: 9, etag: .value("\"film-1\""))
    let stage = try await server.mounted("--freshness", "1h")
    let script = """
      import os, random, sys
      source, size = os.open(sys.argv[1] + "/film", os.O_RDONLY), int(sys.argv[2])
      random.seed(4)
      for offset in [0, size - 65536] + [random.randrange(size - 4096) for _ in range(200)]:
        assert len(os.pread(source, 4096, offset)) == 4096
      """
    #expect(try await python(script, stage.mount.point, "\(size)").succeeded)
    let gets = server.requests(.get, key: "film")
    #expect(gets.count < 420, "\(gets.count)")
    #expect(server.sums.bodyBytes < 96 << 20, "\(server.sums)")
    var end: Int64 = 0
    for range in gets.compactMap({ $0.range.flatMap(Self.bytes) }).sorted(by: { $0.lowerBound < $1.lowerBound }) {
      #expect(end <= range.lowerBound)
      end = range.upperBound
    }
    // What has been played is there for who jumps back.
    let (_, cost) = try await stage.cost { try await python(script, stage.mount.point, "\(size)") }
    #expect(cost.total == 0)
  }

  // A119
  @Test func `thirty-two threads read members of one archive, cold and warm`() async throws {
    let server = try FakeS3()
    let made = try TemporaryDirectory("made")
    let make = """
      import random, sys, zipfile
      random.seed(1)
      with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED) as z:
        for n in range(400): z.writestr(f"m{n}", random.randbytes(30000) + b"z" * 20000)
      """
    #expect(try await python(make, made.file("a.zip")).succeeded)
    server.put("a.zip", try FileSystem.read(made.file("a.zip")))
    let stage = try await server.mounted("--freshness", "1h")
    let script = """
      import hashlib, sys, zipfile
      from concurrent.futures import ThreadPoolExecutor
      def digest(n):
        with zipfile.ZipFile(sys.argv[1]) as z: return hashlib.sha256(z.read(f"m{n}")).hexdigest()
      with ThreadPoolExecutor(32) as pool: all = list(pool.map(digest, range(400)))
      print(hashlib.sha256("".join(all).encode()).hexdigest())
      """
    let expected = try await python(script, made.file("a.zip"))
    #expect(expected.succeeded)
    for _ in 0..<2 { #expect(try await python(script, stage.mount.path("a.zip")).output == expected.output) }
  }
}
