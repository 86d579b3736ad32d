// A server that is throttling or ill: waited for, else an error; never a wrong answer.
import Glibc
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)), .enabled(if: Machine.canMount))
struct FaultTests {
  // Most of the time is spent waiting: these run side by side.

  // A063
  @Test(arguments: [503, 429], [1, 2, 4])
  func `throttling that passes is not seen by readers`(status: Int, times: Int) async throws {
    let server = try FakeS3()
    server.configure { $0.pageSize = 3 }
    for index in 0..<6 { server.put("d/f\(index)", "content \(index)") }
    let stage = try await server.mounted("--freshness", "1s")
    for kind in [S3RequestKind.list, .get] {
      server.inject(.status(status, code: status == 503 ? "SlowDown" : "TooManyRequests"), on: kind, times: times)
      try await pass(.seconds(1))
      let (_, cost) = try await stage.cost {
        _ = try await stage.mount.list("d")
        let text = try await stage.mount.text("d/f4")
        #expect(text == "content 4")
      }
      #expect(cost.total <= 16)
      server.clearFaults()
    }
  }

  // A063
  @Test func `three seconds of throttling are waited out, ever more slowly`() async throws {
    let server = try FakeS3()
    server.put("d/f", "content")
    let stage = try await server.mounted("--freshness", "100ms")
    server.inject(.slowDown(), on: .get)
    async let cold = stage.mount.text("d/f")
    try await Task.sleep(for: .seconds(3))
    let asked = server.requests(.get).count
    server.clearFaults()
    let text = try? await cold
    #expect(text == "content")
    #expect(asked <= 8)
    #expect(asked >= 2)
  }

  // A063
  @Test func `Retry-After is honoured`() async throws {
    let server = try FakeS3()
    server.put("d/f", "content")
    let stage = try await server.mounted("--freshness", "100ms")
    server.inject(.slowDown(retryAfter: "2"), on: .get, times: 1)
    let started = ContinuousClock.now
    #expect(try await stage.mount.text("d/f") == "content")
    #expect(ContinuousClock.now - started > .milliseconds(1900))
    #expect(server.requests(.get).count == 2)
  }

  // A063
  @Test func `throttling without end is an error for what is cold, the copy for what is not`() async throws {
    let server = try FakeS3()
    for name in ["d/warm", "d/cold"] { server.put(name, name) }
    let stage = try await server.mounted("--freshness", "1s", "--negative-freshness", "0s")
    #expect(try await stage.mount.text("d/warm") == "d/warm")
    try await pass(.seconds(1))
    server.inject(.slowDown())
    #expect(try await stage.mount.text("d/warm") == "d/warm")
    #expect(await stage.mount.errno { _ = try await stage.mount.read("d/cold") } == .inputOutput)
    #expect(await stage.mount.errno { _ = try await stage.mount.read("d/never") } == .inputOutput)
    #expect(server.requests.count <= 60)
    server.clearFaults()
    let recovered = await eventually { (try? await stage.mount.text("d/cold")) == "d/cold" }
    #expect(recovered)
    server.put("d/never", "came")
    let came = await eventually { (try? await stage.mount.text("d/never")) == "came" }
    #expect(came)
  }

  enum Illness: CaseIterable, Sendable {
    case error500, error502, error504, empty, html, cut
    func fault(_ body: [UInt8]) -> Fault {
      switch self {
      case .error500: .status(500, code: "InternalError")
      case .error502: .status(502)
      case .error504: .status(504)
      case .empty: .answer(200, Fields([("Content-Type", "application/xml")]), [])
      case .html: .html
      case .cut: .body(Array(body))
      }
    }
  }

  // A064
  @Test(arguments: Illness.allCases)
  func `an ill listing is an error or the listing before, never an empty directory`(illness: Illness) async throws {
    let server = try FakeS3()
    server.configure { $0.pageSize = 4 }
    for index in 0..<3 { for name in ["cold", "warm"] { server.put("\(name)/f\(index)", "x") } }
    let stage = try await server.mounted("--freshness", "1s")
    #expect(try await stage.mount.list("warm") == ["f0", "f1", "f2"])
    #expect(try await stage.mount.list("") == ["cold", "warm"])
    try await pass(.seconds(1))
    let half = Array(
      """
      <?xml version="1.0" encoding="UTF-8"?><ListBucketResult><Name>bucket</Name><IsTruncated>false</IsTruncated>\
      <Contents><Key>warm/f0</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><Size>1</Size></Contents>
      """.utf8)
    server.inject(illness.fault(half), on: .list)
    let cold = await stage.mount.errno { _ = try await stage.mount.list("cold") }
    // What the mount saw at its start may be shown; nothing may be missing of what is shown.
    if cold == nil {
      #expect(try await stage.mount.list("cold") == ["f0", "f1", "f2"])
    } else {
      #expect(cold == .inputOutput)
    }
    #expect(try await stage.mount.list("warm") == ["f0", "f1", "f2"])
    #expect(try await stage.mount.list("") == ["cold", "warm"])
    server.clearFaults()
    let well = await eventually { (try? await stage.mount.list("cold")) == ["f0", "f1", "f2"] }
    #expect(well)
  }

  // A064
  @Test(arguments: Illness.allCases)
  func `an ill answer to GET is an error or the copy, never content`(illness: Illness) async throws {
    let server = try FakeS3()
    let body = content(300_000, 1)
    for name in ["d/cold", "d/warm"] { server.put(name, body) }
    let stage = try await server.mounted("--freshness", "1s")
    _ = try await stage.mount.read("d/warm")
    try await pass(.seconds(1))
    if illness == .cut {
      server.inject(.truncateAfter(100_000), on: .get)
      server.put("d/warm", content(300_000, 2))
    } else {
      // Nothing in it speaks of S3.
      server.inject(
        illness.fault([]), .field("x-amz-request-id", nil), .field("Server", "portal"), on: .get)
    }
    let cold = try? await stage.mount.read("d/cold")
    let right = cold.map { fingerprint($0) == fingerprint(body) } ?? true
    #expect(right, "\(cold?.count ?? 0) bytes")
    let warm = try? await stage.mount.fingerprint("d/warm")
    if illness == .cut {
      #expect(warm == nil || [body, content(300_000, 2)].map(fingerprint).contains(warm))
    } else {
      #expect(warm == fingerprint(body))
    }
    server.clearFaults()
    let newest = illness == .cut ? content(300_000, 2) : body
    let well = await eventually {
      let (cold, warm) = (try? await stage.mount.fingerprint("d/cold"), try? await stage.mount.fingerprint("d/warm"))
      return cold == fingerprint(body) && warm == fingerprint(newest)
    }
    #expect(well)
  }
}
