// Owner, mode, time and links that other tools keep in metadata: when they are seen, and what they cost.
import Glibc
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(3)), .enabled(if: Machine.canMount && Machine.isRoot))
struct MetadataTests {
  private static let fields = Fields([
    ("x-amz-meta-mode", "35232"), ("x-amz-meta-uid", "1000"), ("x-amz-meta-gid", "100"),  // 0104640, setuid
    ("x-amz-meta-mtime", "1577934245.678901234"),
  ])
  private static let described = "1000:100 640 2020-01-02 03:04:05.678901234"

  /// `owner:group mode mtime` of a name itself, in UTC.
  private func stat(_ stage: Stage, _ name: String) async throws -> String {
    let result = try await stage.mount.shell("TZ=UTC stat -c '%u:%g %a %y' \(name)")
    return String(result.output.dropLast(" +0000\n".count))
  }

  private func server(_ count: Int = 1) throws -> FakeS3 {
    let server = try FakeS3()
    for number in 0..<count {
      server.put("d/f\(number)", Array("content".utf8), modified: 1_700_000_000, fields: Self.fields)
    }
    return server
  }
  private static let plain = "0:0 444 2023-11-14 22:13:20.000000000"

  @Test func `what an answer brings anyway is shown from the next look on`() async throws {
    let stage = try await server().mounted("--freshness", "600s")
    #expect(try await stage.mount.list("d") == ["f0"])
    #expect(try await stat(stage, "d/f0") == Self.plain)
    let inode = try await stage.mount.attributes("d/f0").inode
    let ((text, isShown), cost) = try await stage.cost {
      let text = try await stage.mount.text("d/f0")
      return (text, await eventually { (try? await stat(stage, "d/f0")) == Self.described })
    }
    #expect(text == "content" && isShown)
    #expect(cost.total == 1 && cost.gets == 1)
    #expect(try await stage.mount.attributes("d/f0").inode == inode)
    // Remembered with the file, over a restart too.
    try await stage.mount.unmount()
    #expect(try await stage.mount.mount(["--freshness", "600s"]).succeeded)
    let (seen, again) = try await stage.cost { try await stat(stage, "d/f0") }
    #expect(seen == Self.described && again.total == 0)
  }

  @Test func `a name that is looked up by a GET of its own shows them at once`() async throws {
    let server = try server()
    let stage = try await server.mounted("--freshness", "1s")
    #expect(try await stage.mount.text("d/f0") == "content")
    server.put("d/f0", Array("another".utf8), modified: 1_700_000_009, fields: Self.fields)
    try await pass(.seconds(1))
    let (seen, cost) = try await stage.cost { try await stat(stage, "d/f0") }
    #expect(seen == Self.described && cost.total == 1)
  }

  @Test func `asked for, each object is asked once by a HEAD when it is first looked at`() async throws {
    let server = try server(5)
    let stage = try await server.mounted("--posix-metadata", "--freshness", "600s")
    let (names, listing) = try await stage.cost { try await stage.mount.list("d") }
    #expect(names.count == 5 && listing.heads == 0)
    let (result, cost) = try await stage.cost { try await stage.mount.shell("TZ=UTC stat -c '%u:%g %a' d/*") }
    #expect(result.output == String(repeating: "1000:100 640\n", count: 5))
    #expect(cost.heads == 5 && cost.total == 5)
    let (_, again) = try await stage.cost { try await stage.mount.shell("ls -l d") }
    #expect(again.total == 0)
    try await stage.mount.unmount()
    #expect(try await stage.mount.mount(["--posix-metadata", "--freshness", "600s"]).succeeded)
    let (seen, remount) = try await stage.cost { try await stat(stage, "d/f3") }
    #expect(seen == Self.described && remount.total == 0)
  }

  @Test func `an object that may not be asked is shown as if it said nothing`() async throws {
    let server = try server(2)
    server.inject(.status(403), on: .head, key: "d/f0")
    let stage = try await server.mounted("--posix-metadata")
    #expect(try await stat(stage, "d/f0") == Self.plain)
    #expect(try await stat(stage, "d/f1") == Self.described)
  }

  @Test func `what was learned outlives restart and window, and costs nothing again`() async throws {
    let stage = try await server(3).mounted("--freshness", "1s")
    #expect(try await stage.mount.text("d/f1") == "content")
    #expect(await eventually { (try? await stat(stage, "d/f1")) == Self.described })
    try await stage.mount.unmount()
    try await pass(.seconds(1))
    #expect(try await stage.mount.mount(["--freshness", "600s"]).succeeded)
    let (seen, cost) = try await stage.cost {
      _ = try await stage.mount.list("d")
      return (try await stat(stage, "d/f0"), try await stat(stage, "d/f1"))
    }
    #expect(seen.0 == Self.plain && seen.1 == Self.described)
    #expect(cost.gets == 0 && cost.heads == 0)
  }

  @Test(arguments: ["--posix-metadata", "--path-style"])
  func `metadata that were changed are seen after the window`(option: String) async throws {
    let server = try server()
    let stage = try await server.mounted(option, "--freshness", "1s")
    #expect(try await stage.mount.text("d/f0") == "content")
    #expect(await eventually { (try? await stat(stage, "d/f0")) == Self.described })
    // A copy onto itself: the same bytes and ETag, another date.
    var fields = Self.fields
    fields["x-amz-meta-uid"] = "7"
    server.put("d/f0", Array("content".utf8), modified: 1_700_000_050, fields: fields)
    try await pass(.seconds(1))
    #expect(await eventually { (try? await stat(stage, "d/f0"))?.hasPrefix("7:100 640") == true })
    #expect(try await stage.mount.text("d/f0") == "content")
  }

  @Test func `options for all files go before what objects say, and it can be left alone`() async throws {
    let server = try server()
    let fixed = try await server.mounted("--posix-metadata", "--uid", "3", "--file-mode", "0400")
    #expect(try await stat(fixed, "d/f0") == "3:100 400 2020-01-02 03:04:05.678901234")
    let ignoring = try await server.mounted("--no-posix-metadata")
    #expect(try await ignoring.mount.text("d/f0") == "content")
    #expect(try await stat(ignoring, "d/f0") == Self.plain)
  }

  @Test(arguments: [true, false])
  func `links lead where their object says`(isAsked: Bool) async throws {
    let server = try FakeS3()
    server.put("d/target", "the content")
    server.put("d/s3fs", Array("target".utf8), fields: Fields([("x-amz-meta-mode", "41471")]))
    server.put("d/gcsfuse", [], fields: Fields([("x-amz-meta-gcsfuse_symlink_target", "../d/target")]))
    server.put("d/fsx", Array("target".utf8), fields: Fields([("x-amz-meta-file-permissions", "0120777")]))
    server.put("d/long", content(5000, 1), fields: Fields([("x-amz-meta-mode", "41471")]))
    let names = ["s3fs": "target", "gcsfuse": "../d/target", "fsx": "target"]
    let stage = try await server.mounted(
      isAsked ? "--posix-metadata" : "--file-mode=0444", "--freshness", isAsked ? "600s" : "1s")
    if !isAsked {
      // Looked at by a listing they are files, until an answer for them was there and nobody has them.
      #expect(try await stage.mount.list("d").count == 5)
      for name in names.keys { _ = try await stage.mount.read("d/\(name)") }
      try await pass(.seconds(1))
    }
    for (name, target) in names {
      if name == "gcsfuse", !isAsked { continue }  // An empty file is never asked for.
      let found = try await eventually {
        try await stage.mount.shell("readlink d/\(name)").output == target + "\n"
      }
      #expect(found, "\(name)")
      #expect(try await stage.mount.attributes("d/\(name)").size == Int64(target.utf8.count))
      #expect(try await stage.mount.text("d/\(name)") == "the content")
    }
    #expect(try await stage.mount.shell("readlink d/target").status != 0)
    if isAsked { #expect(try await stage.mount.shell("readlink d/long").status != 0) }
  }

  @Test func `an open file does not turn into a link`() async throws {
    let server = try FakeS3()
    server.put("d/l", Array("target".utf8), fields: Fields([("x-amz-meta-mode", "41471")]))
    server.put("d/target", "the content")
    let stage = try await server.mounted("--freshness", "600s")
    let held = try await stage.mount.open("d/l")
    #expect(try await stage.mount.read(held, at: 0, count: 100) == Array("target".utf8))
    let attributes = try held.attributes()
    #expect(attributes.kind == .file && attributes.size == 6)
    #expect(try await stage.mount.read(held, at: 0, count: 100) == Array("target".utf8))
  }

  // MARK: The tools themselves

  @Test(.enabled(if: Machine.hasRealServer && findProgram("s3fs") != nil))
  func `what s3fs wrote looks as it does there`() async throws {
    let bucket = try await RealBucket.make()
    let directory = try TemporaryDirectory("s3fs")
    let (passwords, point) = (directory.file("passwords"), directory.file("mnt"))
    try FileSystem.write(
      Array("\(RealServer.accessKey):\(RealServer.secretKey)".utf8), to: passwords, mode: 0o600)
    try FileSystem.makeDirectory(point)
    let script = """
      set -e
      s3fs "$1" "$2" -o url="$3" -o use_path_request_style -o passwd_file="$4"
      trap 'umount "$2" || umount -l "$2"' EXIT
      cd "$2"
      mkdir d
      echo hello >d/f
      chmod 4750 d/f
      chown 1234:567 d/f
      touch -d '2020-01-02 03:04:05.678901234 UTC' d/f
      ln -s f d/l
      TZ=UTC stat -c '%F %u:%g %a %y %s' d/f d/l
      cd /
      """
    let theirs = try await run(["sh", "-c", script, "sh", bucket.name, point, bucket.server.endpoint, passwords])
    #expect(theirs.succeeded, "\(theirs)")
    let stage = try await bucket.mounted("--posix-metadata")
    let ours = try await stage.mount.shell("TZ=UTC stat -c '%F %u:%g %a %y %s' d/f d/l; cat d/l")
    let wanted = theirs.output.split(separator: "\n").map(String.init)
    let got = ours.output.split(separator: "\n").map(String.init)
    #expect(got.count == 3 && got.last == "hello")
    // The bits that give rights away are not shown, and neither is the owner of a link.
    #expect(got.first == wanted.first?.replacing(" 4750 ", with: " 750 "))
    #expect(got.dropFirst().first?.hasPrefix("symbolic link 0:0 777 ") == true)
  }

  @Test(.enabled(if: Machine.hasRealServer && ServerKind.rclone.program != nil), arguments: [false, true])
  func `what rclone copied has its time, and with its metadata its owner and mode`(withMetadata: Bool) async throws {
    let bucket = try await RealBucket.make()
    let directory = try TemporaryDirectory("rclone")
    let file = directory.file("f")
    try FileSystem.write(Array("hello".utf8), to: file, mode: 0o600)
    let prepared = try await run([
      "sh", "-c", "chown 12:34 \"$0\" && chmod 640 \"$0\" && touch -d '2021-02-03 04:05:06.789012345 UTC' \"$0\"", file,
    ])
    #expect(prepared.succeeded, "\(prepared)")
    let program = try #require(ServerKind.rclone.program)
    let copied = try await run(
      [
        program, "copyto", "--s3-provider", "SeaweedFS", "--s3-endpoint", bucket.server.endpoint,
        "--s3-access-key-id", RealServer.accessKey, "--s3-secret-access-key", RealServer.secretKey,
        "--s3-force-path-style", "--s3-no-check-bucket",
      ] + (withMetadata ? ["--metadata"] : []) + [file, ":s3:\(bucket.name)/d/f"],
      environment: ["RCLONE_CONFIG": "/dev/null", "HOME": directory.path])
    #expect(copied.succeeded, "\(copied)")
    let stage = try await bucket.mounted("--posix-metadata")
    let seen = try await stat(stage, "d/f")
    #expect(seen == (withMetadata ? "12:34 640" : "0:0 444") + " 2021-02-03 04:05:06.789012345")
  }
}
