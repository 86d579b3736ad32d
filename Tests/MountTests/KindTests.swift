// Kinds of objects: encrypted, archived, locked, compressed, with odd validators or none.
import Glibc
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(3)), .enabled(if: Machine.canMount))
struct KindTests {
  private static let customerKey = "x-amz-server-side-encryption-customer-key"

  private func refusal(_ code: String, _ message: String, _ extra: String = "") -> [UInt8] {
    Array("<Error><Code>\(code)</Code><Message>\(message)</Message>\(extra)</Error>".utf8)
  }

  /// A mount that logs to a file; the file's text is what it has logged by now.
  private func logged(_ server: FakeS3, _ options: String...) async throws -> (stage: Stage, log: () throws -> String) {
    let directory = try TemporaryDirectory("log")
    let path = directory.file("log")
    let mount = try await MountFixture.mounted(
      server.bucket, endpoint: server.endpoint, options: options + ["--log-file", path], limit: .seconds(60))
    return (
      Stage(mount: mount, origin: server),
      {
        _ = directory
        return String(decoding: try FileSystem.read(path), as: UTF8.self)
      }
    )
  }

  // MARK: Encrypted

  // A046
  @Test(arguments: [0, 1, 2])
  func `objects are opened by their own keys, and those that none opens are denied alone`(count: Int) async throws {
    let server = try FakeS3()
    let keys = [UInt8(1), 2].map { [UInt8](repeating: $0, count: 32) }
    let owners = ["one": base64(keys[0]), "two": base64(keys[1]), "other": "x"]
    for name in owners.keys {
      server.put(
        "\(name)/f", content(40_000, 7), etag: .value("\"0123456789abcdef0123456789abcdef\""),
        fields: Fields([("x-amz-server-side-encryption-customer-algorithm", "AES256")]))
    }
    server.put("plain/f", "plain")
    let header = Self.customerKey
    let stored = refusal(
      "InvalidRequest",
      "The object was stored using a form of Server Side Encryption. The correct parameters must be provided to retrieve the object."
    )
    for (name, key) in owners {
      server.inject([.answer(400, Fields(), stored)]) {
        $0.key == ObjectKey("\(name)/f") && $0.fields[header] == nil
      }
      server.inject([.status(403, code: "AccessDenied")]) {
        $0.key == ObjectKey("\(name)/f") && $0.fields[header] != nil && $0.fields[header] != key
      }
    }
    let directory = try TemporaryDirectory("keys")
    let file = directory.file("keys")
    try FileSystem.write(Array(keys.prefix(count).map { base64($0) + "\n" }.joined().utf8), to: file, mode: 0o600)
    let stage = try await server.mounted(
      options: ["--freshness", "1s"] + (count > 0 ? ["--sse-c-keys", file] : []))
    for directory in ["one", "other", "plain", "two"] { #expect(try await stage.mount.list(directory) == ["f"]) }
    for (index, name) in ["one", "two", "other"].enumerated() {
      if index < count, name != "other" {
        #expect(try await stage.mount.fingerprint("\(name)/f") == fingerprint(content(40_000, 7)))
      } else {
        #expect(await stage.mount.errno { _ = try await stage.mount.read("\(name)/f") } == .accessDenied)
      }
    }
    #expect(try await stage.mount.text("plain/f") == "plain")
    let toPlain = server.requests.filter { $0.key == ObjectKey("plain/f") }
    #expect(toPlain.allSatisfy { $0.fields[header] == nil })
    guard count > 0 else { return }
    // What was opened is validated with the same key, in one request.
    try await pass(.seconds(1))
    let (_, cost) = try await stage.cost { try await stage.mount.read("one/f") }
    #expect(cost.total == 1 && cost.bodyBytes == 0)
  }

  @Test(arguments: [("AccessDenied", 403), ("KMS.DisabledException", 400)])
  func `an object whose key may not be used is denied with a word on it, and its neighbours are not`(
    code: String, status: Int
  ) async throws {
    let server = try FakeS3()
    for name in ["d/f", "d/g"] { server.put(name, name) }
    let message = "User: u is not authorized to perform: kms:Decrypt on resource: arn:aws:kms:r:1:key/k"
    server.inject(.answer(status, Fields(), refusal(code, message)), on: .get, key: "d/f")
    let (stage, log) = try await logged(server)
    #expect(try await stage.mount.list("d") == ["f", "g"])
    let (error, cost) = try await stage.cost {
      await stage.mount.errno { _ = try await stage.mount.read("d/f") }
    }
    #expect(error == .accessDenied && cost.gets == 1)
    #expect(try await stage.mount.text("d/g") == "d/g")
    let lines = try log().split(separator: "\n").filter { $0.contains("d/f") }
    #expect(lines.count == 1 && lines[0].contains("kms:Decrypt") && lines[0].contains("KMS key"), "\(lines)")
  }

  // MARK: Paid for and owned by others

  // A047
  @Test func `who pays says so with every request, and who does not is told how`() async throws {
    let server = try FakeS3()
    server.put("d/f", "content")
    server.inject([.status(403, code: "AccessDenied")]) { $0.fields["x-amz-request-payer"] != "requester" }
    let refused = try MountFixture(server.bucket, endpoint: server.endpoint)
    let result = try await refused.mount()
    #expect(result.status == 5 && result.errors.contains("--requester-pays"), "\(result)")
    server.reset()
    let stage = try await server.mounted("--requester-pays")
    #expect(try await stage.mount.text("d/f") == "content")
    #expect(server.sums.lists > 0 && server.sums.gets > 0)
    #expect(server.requests.allSatisfy { $0.fields["x-amz-request-payer"] == "requester" })
  }

  @Test func `a bucket of another owner than expected is refused`() async throws {
    let server = try FakeS3()
    server.put("d/f", "content")
    server.inject([.status(403, code: "AccessDenied")]) {
      $0.fields["x-amz-expected-bucket-owner"].map { $0 != "123456789012" } ?? false
    }
    let refused = try MountFixture(server.bucket, endpoint: server.endpoint)
    #expect(try await refused.mount(["--expected-owner", "210987654321"]).status == 5)
    server.reset()
    let stage = try await server.mounted("--expected-owner", "123456789012")
    #expect(try await stage.mount.text("d/f") == "content")
    #expect(server.requests.allSatisfy { $0.fields["x-amz-expected-bucket-owner"] == "123456789012" })
    for bad in ["12345", "12345678901x"] {
      #expect(try await refused.mount(["--expected-owner", bad]).status == 2)
    }
  }

  // MARK: Archived, locked, tagged

  // A045
  @Test(arguments: [true, false])
  func `an archived object is seen and denied, and read once it was restored`(isListed: Bool) async throws {
    let server = try FakeS3()
    server.put("d/f.bin", content(50_000, 1), storageClass: "DEEP_ARCHIVE")
    server.put("d/g.bin", content(50_000, 2), storageClass: "GLACIER_IR")
    for number in 0..<1200 { server.put("d/h\(number).bin", "x") }
    let archived = refusal(
      "InvalidObjectState", "The operation is not valid for the object's storage class",
      "<StorageClass>DEEP_ARCHIVE</StorageClass>")
    server.inject(.answer(403, Fields(), archived), on: .get, key: "d/f.bin")
    let (stage, log) = try await logged(server, "--freshness", "3s")
    let mount = stage.mount
    // By a look at its directory, or at its name alone.
    if isListed { #expect(try await mount.list("d").count == 1202) } else { try await pass(.seconds(3)) }
    #expect(try await mount.attributes("d/f.bin").size == 50_000)
    #expect(try await mount.extendedAttribute("user.s3.storage-class", of: "d/f.bin") == "DEEP_ARCHIVE")
    let (error, cost) = try await stage.cost { await mount.errno { _ = try await mount.read("d/f.bin") } }
    #expect(error == .accessDenied)
    #expect(cost.gets <= 1)
    let line = try log().split(separator: "\n").first { $0.contains("d/f.bin") }
    #expect(line?.contains("restored") == true && line?.contains("DEEP_ARCHIVE") == true, "\(line ?? "")")
    #expect(try await mount.fingerprint("d/g.bin") == fingerprint(content(50_000, 2)))
    // It stays to be seen when it is looked at again.
    try await pass(.seconds(3))
    #expect(try await mount.attributes("d/f.bin").size == 50_000)

    server.clearFaults()
    var restored = FakeObject(.bytes(content(50_000, 1)), modified: server.object("d/f.bin")?.modified)
    restored.storageClass = "DEEP_ARCHIVE"
    restored.fields["x-amz-restore"] = "ongoing-request=\"false\", expiry-date=\"Fri, 01 Jan 2027 00:00:00 GMT\""
    server.put(ObjectKey("d/f.bin"), restored)
    try await pass(.seconds(3))
    #expect(try await mount.fingerprint("d/f.bin") == fingerprint(content(50_000, 1)))
    #expect(try await mount.extendedAttribute("user.s3.storage-class", of: "d/f.bin") == "DEEP_ARCHIVE")
  }

  // A048
  @Test func `locks, holds, tags and versions disturb nobody, and nothing reaches them`() async throws {
    let server = try FakeS3()
    server.put(
      "d/f", Array("locked".utf8),
      fields: Fields([
        ("x-amz-object-lock-mode", "COMPLIANCE"), ("x-amz-object-lock-retain-until-date", "2030-01-01T00:00:00.000Z"),
        ("x-amz-object-lock-legal-hold", "ON"), ("x-amz-tagging-count", "3"), ("x-amz-version-id", "v1"),
        ("x-amz-meta-anything", "at all"), ("x-amz-missing-meta", "1"), ("x-amz-replication-status", "REPLICA"),
      ]))
    let stage = try await server.mounted()
    #expect(try await stage.mount.text("d/f") == "locked")
    #expect(try await stage.mount.extendedAttribute("user.s3.version-id", of: "d/f") == "v1")
    let (result, cost) = try await stage.cost {
      try await stage.mount.shell(
        "for c in 'rm -f d/f' 'mv d/f d/g' 'touch d/f' 'chmod 600 d/f' 'mkdir d/x' 'ln -s a d/l'; do $c 2>&1; done; true"
      )
    }
    #expect(
      result.output.split(separator: "\n").count { $0.contains("Read-only file system") } == 6, "\(result.output)")
    #expect(cost.total <= 2)
    #expect(server.requests.allSatisfy { ["GET", "HEAD"].contains($0.method) })
  }

  // MARK: Bytes as they are stored

  // A041
  @Test(arguments: ["gzip", "br", "zstd", "aws-chunked"])
  func `what is stored compressed is shown as it is stored`(encoding: String) async throws {
    let server = try FakeS3()
    let text = String(repeating: "All of this is one text.\n", count: 40_000)
    let zipped = try await python(
      "import gzip, sys; sys.stdout.write(gzip.compress(sys.argv[1].encode() * 40000, mtime=0).hex())",
      "All of this is one text.\n")
    let stored = try #require(bytes(hexadecimal: zipped.output.utf8))
    server.put("f.gz", stored, fields: Fields([("Content-Encoding", encoding), ("Content-Type", "text/plain")]))
    let stage = try await server.mounted()
    #expect(try await stage.mount.attributes("f.gz").size == Int64(stored.count))
    #expect(try await stage.mount.fingerprint("f.gz") == fingerprint(stored))
    let unzipped = try await stage.mount.shell("zcat f.gz | md5sum | cut -c1-32")
    #expect(unzipped.output == hexadecimal(Digest.value(.md5, of: Array(text.utf8))) + "\n")
    let accepted = server.requests.compactMap { $0.fields["accept-encoding"] }
    #expect(accepted.allSatisfy { $0 == "identity" })
  }

  // A041
  @Test func `a gateway that compresses on the way gives an error and nothing else`() async throws {
    let server = try FakeS3()
    server.put("d/f", content(200_000, 1))
    server.inject(.chunked, .field("Content-Encoding", "gzip"), .field("ETag", "W/\"odd\""), on: .get)
    let stage = try await server.mounted("--freshness", "1s")
    #expect(await stage.mount.errno { _ = try await stage.mount.read("d/f") } == .inputOutput)
    server.clearFaults()
    #expect(try await stage.mount.fingerprint("d/f") == fingerprint(content(200_000, 1)))
  }

  // A044
  @Test func `beyond four gibibytes sizes and bytes are right`() async throws {
    let server = try FakeS3()
    let size: Int64 = 6 << 30
    server.put("big", size: size, seed: 3)
    let body = FakeBody.generated(size: size, pattern: .init(seed: 3))
    let stage = try await server.mounted("--cache-size", "1GiB")
    #expect(try await stage.mount.attributes("big").size == size)
    let offsets: [Int64] = [5500 << 20, (4 << 30) - 5, (2 << 30) - 5, size - 10]
    for offset in offsets {
      let bytes = try await stage.mount.read("big", at: offset, count: 10)
      #expect(bytes == body.slice(offset, offset + 10), "at \(offset)")
    }
  }

  // MARK: Validators

  // A042
  @Test(arguments: [
    "\"d41d8cd98f00b204e9800998ecf8427e-100\"", "\"0123456789abcdef0123456789abcdef\"", "\"not-hex !\"",
    "\"0123456789ABCDEF0123456789ABCDEF-2\"", "W/\"weak\"",
  ])
  func `whatever an ETag is made of, it tells one revision from another`(tag: String) async throws {
    let server = try FakeS3()
    let size = 5 << 20
    server.put("d/f", content(size, 1), etag: .value(tag), modified: 1_700_000_000)
    let stage = try await server.mounted("--freshness", "1s")
    #expect(try await stage.mount.fingerprint("d/f") == fingerprint(content(size, 1)))
    try await pass(.seconds(1))
    let (seen, cost) = try await stage.cost { try await stage.mount.fingerprint("d/f") }
    #expect(seen == fingerprint(content(size, 1)))
    #expect(cost.total == 1 && cost.bodyBytes == 0)
    // The same size at the same time with another tag is another object.
    server.put("d/f", content(size, 2), etag: .value("\"other\""), modified: 1_700_000_000)
    try await pass(.seconds(1))
    #expect(try await stage.mount.fingerprint("d/f") == fingerprint(content(size, 2)))
  }

  enum Lack: String, CaseIterable, Sendable { case tag, emptyTag, date, both, listedTag }

  // A043
  @Test(arguments: Lack.allCases)
  func `what says little of itself is seen when it changes, and has a date that stays`(lack: Lack) async throws {
    let server = try FakeS3()
    func put(_ text: String, at time: Int64) {
      let hasTag = lack == .date || lack == .listedTag
      let hasDate = lack != .date && lack != .both
      let tag: FakeObject.Tag = hasTag ? .digest : lack == .emptyTag ? .value("\"\"") : .none
      server.put(ObjectKey("d/f"), FakeObject(.bytes(Array(text.utf8)), etag: tag, modified: hasDate ? time : nil))
    }
    if lack == .listedTag { server.configure { $0.listedTag = { _ in nil } } }
    put("first!", at: 1_700_000_000)
    let stage = try await server.mounted("--freshness", "1s")
    let mount = stage.mount
    #expect(try await mount.list("d") == ["f"])
    #expect(try await mount.text("d/f") == "first!")
    let date = try await mount.attributes("d/f").modified
    #expect(date == (lack == .date || lack == .both ? 0 : 1_700_000_000))
    try await pass(.seconds(1))
    #expect(try await mount.text("d/f") == "first!")
    #expect(try await mount.attributes("d/f").modified == date)
    put("second", at: 1_700_000_005)
    try await pass(.seconds(1))
    #expect(try await mount.text("d/f") == "second")
    try await mount.unmount()
    #expect(try await mount.mount(["--freshness", "1s"]).succeeded)
    #expect(try await mount.text("d/f") == "second")
    #expect(try await mount.attributes("d/f").modified == (date == 0 ? 0 : 1_700_000_005))
  }

  // MARK: Odd HTTP

  // A073
  @Test(arguments: [
    (403, "AccessDenied", Errno.accessDenied), (404, "NoSuchKey", .noEntry), (503, "SlowDown", .inputOutput),
  ])
  func `an error whose text is cut has the meaning of its status`(status: Int, code: String, errno: Errno) async throws
  {
    let server = try FakeS3()
    for name in ["d/a.txt", "d/f.txt"] { server.put(name, name) }
    server.configure { $0.pageSize = 1 }
    let cut = Array(refusal(code, "some words").prefix(10))
    server.inject(.answer(status, Fields([("Content-Type", "application/xml")]), cut), on: .get, key: "d/f.txt")
    if status == 404 { server.delete("d/f.txt") }
    let mount = try await MountFixture.mounted(
      server.bucket, endpoint: server.endpoint, environment: ["AWS_MAX_ATTEMPTS": "1"])
    #expect(try await mount.text("d/a.txt") == "d/a.txt")
    #expect(await mount.errno { _ = try await mount.read("d/f.txt", at: 0, count: 10) } == errno)
  }

  // A074
  @Test(arguments: ["chunked listings", "connection closed each time", "early hints"])
  func `legal but rare HTTP is understood`(way: String) async throws {
    let server = try FakeS3()
    for name in ["d/a", "d/b", "d/c"] { server.put(name, name) }
    switch way {
    case "chunked listings": server.configure { $0.chunkedLists = true }
    case "connection closed each time": server.inject(.closeAfter)
    default: server.inject(.interim(103))
    }
    let stage = try await server.mounted("--freshness", "1s")
    #expect(try await stage.mount.list("d") == ["a", "b", "c"])
    for name in ["d/a", "d/b", "d/c"] { #expect(try await stage.mount.text(name) == name) }
  }
}

extension FakeS3 {
  fileprivate func mounted(options: [String]) async throws -> Stage {
    let mount = try await MountFixture.mounted(bucket, endpoint: endpoint, options: options, limit: .seconds(60))
    return Stage(mount: mount, origin: self)
  }
}
