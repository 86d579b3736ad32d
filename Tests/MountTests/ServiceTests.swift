// A mount as a service: what it tells its manager, how it ends, and how the next one takes over.
import Glibc
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(2)), .enabled(if: Machine.canMount))
struct ServiceTests {
  /// Listens as a service manager does, starts the program in the foreground, and kills it the way `$3` says.
  private static let manager = """
    import os, signal, socket, subprocess, sys, time
    name, program, ending = sys.argv[1:4]
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listener.bind("\\0" + name[1:] if name[0] == "@" else name)
    listener.settimeout(20)
    environment = dict(os.environ, NOTIFY_SOCKET=name, WATCHDOG_USEC="600000")
    child = subprocess.Popen([program] + sys.argv[4:], env=environment)
    words, lives = "", 0
    while lives < 2:
      word = listener.recv(4096).decode()
      lives += word.count("WATCHDOG=1")
      if "WATCHDOG=1" not in word: words += word
    child.send_signal(getattr(signal, ending))
    started = time.monotonic()
    if ending == "SIGTERM":
      while "STOPPING=1" not in words: words += listener.recv(4096).decode()
    code = child.wait()
    print(words, end="")
    print("pid", child.pid, "code", code, "quick", time.monotonic() - started < 5)
    """

  private func serve(_ mount: MountFixture, socket: String, ending: String) async throws -> CommandResult {
    let program = try #require(MountFixture.program)
    return try await run(
      [
        "python3", "-c", Self.manager, socket, program, ending, "mount", "--foreground", "--endpoint-url",
        mount.endpoint, "--cache-dir", mount.cache, mount.source, mount.point,
      ], environment: mount.environment, limit: .seconds(60))
  }

  // A087
  @Test(arguments: [false, true])
  func `it says that it is ready, how it is, that it lives, and that it stops`(isAbstract: Bool) async throws {
    let server = try FakeS3()
    server.put("f", "x")
    let mount = try MountFixture(server.bucket, endpoint: server.endpoint)
    let home = try #require(FileSystem.parent(of: mount.point))
    let socket = isAbstract ? "@s3mirror-test-\(getpid())" : home + "/notify"
    let result = try await serve(mount, socket: socket, ending: "SIGTERM")
    let lines = result.output.split(separator: "\n").map(String.init)
    #expect(lines.first == "READY=1", "\(result)")
    #expect(lines.contains("STATUS=\(server.bucket) on \(mount.point), online"), "\(result)")
    let process = lines.first { $0.hasPrefix("MAINPID=") }?.dropFirst(8) ?? "none"
    #expect(lines.contains("STOPPING=1"))
    #expect(lines.last == "pid \(process) code 0 quick True", "\(result)")
    #expect(!mount.isMounted)
  }

  // A084, A087
  @Test func `a mount that was killed is taken over by the next start`() async throws {
    let server = try FakeS3()
    server.put("f", "x")
    let mount = try MountFixture(server.bucket, endpoint: server.endpoint)
    let home = try #require(FileSystem.parent(of: mount.point))
    for (round, ending) in ["SIGKILL", "SIGABRT", "SIGTERM"].enumerated() {
      let result = try await serve(mount, socket: home + "/notify\(round)", ending: ending)
      #expect(result.output.hasPrefix("READY=1"), "\(ending) \(result)")
      #expect(mount.isMounted == (ending != "SIGTERM"))
    }
  }

  // A088
  @Test(.enabled(if: Machine.isRoot && findProgram("unshare") != nil), arguments: ["s3mirror", "fuse.s3mirror"])
  func `a line of fstab mounts once, however often it is asked for, and odd options are told`(type: String) async throws
  {
    let server = try FakeS3()
    server.put("f", "from the bucket")
    let mount = try MountFixture(server.bucket, endpoint: server.endpoint)
    let home = try #require(FileSystem.parent(of: mount.point))
    let program = try #require(MountFixture.program)
    let line = { (options: String) in
      "\(server.bucket) \(mount.point) \(type) \(options),endpoint_url=\(server.endpoint),cache_dir=\(mount.cache) 0 0\n"
    }
    let usual = "_netdev,nofail,auto,ro,nosuid,nodev,noatime,noexec,allow_other,x-systemd.automount,x-gvfs-hide"
    try FileSystem.write(Array(line(usual).utf8), to: home + "/fstab", mode: 0o600)
    try FileSystem.write(Array(line("nofail,colour=blue").utf8), to: home + "/odd", mode: 0o600)
    // mount(8) takes its helpers from /sbin alone and hands them no PATH, so that mount.fuse(8) looks for the program
    // where a shell does by itself: in a namespace of its own /sbin has both.
    let script = """
      set -e
      mkdir -p "$1/upper" "$1/work"
      mount -t tmpfs none "$1/upper"; mkdir "$1/upper/u" "$1/upper/w"
      mount -t overlay none -o "lowerdir=$(realpath /sbin),upperdir=$1/upper/u,workdir=$1/upper/w" "$(realpath /sbin)"
      ln -sf "$2" /sbin/mount.s3mirror; ln -sf "$2" /sbin/s3mirror
      export PATH=/usr/sbin:/usr/bin:/sbin:/bin
      keep() { env -i PATH="$PATH" AWS_ACCESS_KEY_ID="$AWS_ACCESS_KEY_ID" AWS_REGION=us-east-1 \
        AWS_SECRET_ACCESS_KEY="$AWS_SECRET_ACCESS_KEY" "$@"; }
      cd /
      keep mount -T "$1/fstab" -a
      keep mount -T "$1/fstab" -a
      cat "$3/f"; echo
      grep -c " $3 fuse.s3mirror ro," /proc/self/mounts
      findmnt -n -o FSTYPE "$3"
      umount "$3"
      keep mount -T "$1/odd" -a || echo "refused $?"
      grep -c " $3 " /proc/self/mounts || true
      """
    let result = try await run(
      ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", home, program, mount.point],
      environment: mount.environment, limit: .seconds(60))
    #expect(result.output.hasPrefix("from the bucket\n1\nfuse.s3mirror\nrefused "), "\(result)")
    #expect(result.output.hasSuffix("\n0\n"), "\(result)")
    #expect(result.errors.contains("unknown option '-o colour'"), "\(result)")
  }
}
