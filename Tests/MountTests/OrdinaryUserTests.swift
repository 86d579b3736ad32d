// Mounts of ordinary users, by fusermount3(1), and the machines on which nobody can mount.
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

/// In a mount namespace of its own, where the tests may change what /dev and /usr/bin hold.
@Suite(.serialized, .timeLimit(.minutes(2)), .enabled(if: Machine.canMount && Machine.isRoot))
struct OrdinaryUserTests {
  /// `$H` a directory that others may pass, `$P` the program, `$U` what makes an ordinary user of a command, who owns
  /// `$H/own`; `mounted` mounts there as he does.
  private static let scene = """
    set -u
    H=$1 P=$2 E=$3
    U="setpriv --reuid 65534 --regid 65534 --clear-groups"
    chmod 711 "$H"
    mknod -m 666 "$H/fuse" c 10 229; mount --bind "$H/fuse" /dev/fuse
    install -d -o 65534 -g 65534 "$H/own" "$H/own/mnt"
    export HOME=$H/own XDG_CACHE_HOME=$H/own XDG_RUNTIME_DIR=$H/own XDG_CONFIG_HOME=$H/own
    cd /
    mounted() { $U "$P" mount --endpoint-url "$E" "$@" bucket "$H/own/mnt"; }

    """

  private func play(_ script: String) async throws -> CommandResult {
    let server = try FakeS3()
    server.put("f", "from the bucket")
    let mount = try MountFixture(server.bucket, endpoint: server.endpoint)
    let home = try #require(FileSystem.parent(of: mount.point))
    let program = try #require(MountFixture.program)
    return try await run(
      [
        "unshare", "--mount", "--propagation", "private", "sh", "-c", Self.scene + script, "sh", home, program,
        server.endpoint,
      ],
      environment: mount.environment, limit: .seconds(60))
  }

  @Test func `an ordinary user mounts, reads and unmounts, and others see nothing`() async throws {
    guard try await Machine.nobodyCanRun() else { return }
    let result = try await play(
      """
      mounted && $U cat "$H/own/mnt/f" && echo && $U stat -c %u "$H/own/mnt/f"
      setpriv --reuid 1234 --regid 1234 --clear-groups cat "$H/own/mnt/f" 2>/dev/null || echo "not for others"
      $U "$P" status | grep -c "$H/own/mnt"
      $U "$P" unmount "$H/own/mnt"; grep -c "$H" /proc/self/mounts
      """)
    #expect(result.output == "from the bucket\n65534\nnot for others\n1\n0\n", "\(result)")
  }

  // A083
  @Test(arguments: [
    (
      "umount /dev/fuse; mount -t tmpfs none /dev; mknod -m 666 /dev/null c 1 3; mounted",
      "/dev/fuse does not exist. Load the module (modprobe fuse); a container needs --device /dev/fuse and --cap-add SYS_ADMIN"
    ),
    (
      "chmod 600 \"$H/fuse\"; mounted",
      "/dev/fuse cannot be opened. Run as root, or make it accessible (chmod 666 /dev/fuse)"
    ),
    (
      "mount --bind /dev/null \"$(realpath \"$(command -v fusermount3)\")\"; mounted",
      "fusermount3 is not installed. Install the fuse3 package, or mount as root"
    ),
    (
      "printf '' >\"$H/conf\"; mount --bind \"$H/conf\" /etc/fuse.conf; mounted --allow-other",
      "allow-other is not permitted to ordinary users here. Add the line user_allow_other to /etc/fuse.conf, or leave the option out"
    ),
    (
      "chown 0 \"$H/own/mnt\"; mounted",
      "is not yours to mount on. Choose a directory that you own and may write to, or mount as root"
    ),
  ])
  func `what is missing is named, with what to do about it`(script: String, expected: String) async throws {
    guard try await Machine.nobodyCanRun() else { return }
    let result = try await play(script)
    #expect(result.status == 3, "\(result)")
    #expect(result.errors.contains(expected), "\(result)")
    #expect(result.errors.split(separator: "\n").count == 1, "\(result)")
  }

  @Test func `with user_allow_other others are let in`() async throws {
    guard try await Machine.nobodyCanRun() else { return }
    let result = try await play(
      """
      echo user_allow_other >"$H/conf"; mount --bind "$H/conf" /etc/fuse.conf
      mounted --allow-other; chmod 711 "$H/own" && setpriv --reuid 1234 --regid 1234 --clear-groups cat "$H/own/mnt/f"
      $U "$P" unmount "$H/own/mnt"
      """)
    #expect(result.output == "from the bucket", "\(result)")
  }

  // A087: also where nothing can be written but the cache.
  @Test(arguments: [false, true])
  func `as the first process of a container it ends by unmounting, within seconds`(isReadOnly: Bool) async throws {
    let server = try FakeS3()
    server.put("f", "from the bucket")
    let mount = try MountFixture(server.bucket, endpoint: server.endpoint)
    let program = try #require(MountFixture.program)
    let script = """
      import os, signal, subprocess, sys, time
      program, endpoint, cache, point, read_only = sys.argv[1:6]
      os.makedirs(cache)
      begin = 'mount -t tmpfs none "$0" && mount -t tmpfs none /run && '
      begin += "mount -o remount,bind,ro / && " if read_only == "true" else ""
      child = subprocess.Popen(["unshare", "--mount", "--pid", "--fork", "--propagation", "private", "--mount-proc",
        "sh", "-c", begin + 'exec "$@"', cache, program, "mount", "--foreground", "--endpoint-url", endpoint,
        "--cache-dir", cache + "/c", "bucket", point])
      inner, end = 0, time.monotonic() + 20
      while time.monotonic() < end:
        time.sleep(0.05)
        children = open(f"/proc/{child.pid}/task/{child.pid}/children").read().split()
        if not children: continue
        inner = int(children[0])
        if f" {point} " in open(f"/proc/{inner}/mountinfo").read(): break
      print(open(f"/proc/{inner}/root{point}/f").read(), end=" ")
      status = open(f"/proc/{inner}/status").read()
      print([line.split()[-1] for line in status.splitlines() if line.startswith("NSpid")][0], end=" ")
      probe = ["nsenter", "-t", str(inner), "-m", "-p", program, "status", point]
      print(subprocess.run(probe, stdout=subprocess.DEVNULL).returncode, end=" ")
      started = time.monotonic()
      os.kill(inner, signal.SIGTERM)
      print(child.wait(), time.monotonic() - started < 5)
      """
    let result = try await run(
      ["python3", "-c", script, program, server.endpoint, mount.cache, mount.point, "\(isReadOnly)"],
      environment: mount.environment, limit: .seconds(60))
    #expect(result.output == "from the bucket 1 0 0 True\n", "\(result)")
  }
}
