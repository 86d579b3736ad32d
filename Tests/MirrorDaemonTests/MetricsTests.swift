import MirrorPlatform
import TestSupport
import Testing

@testable import MirrorDaemon
@testable import MirrorStore

@Suite(.timeLimit(.minutes(1)))
struct MetricsTests {
  static var status: StatusReport {
    var requests = RequestCounts()
    for _ in 0..<3 { requests.add(.get, status: 200, bytes: 1000) }
    requests.add(.get, status: 304, bytes: 0)
    requests.add(.list, status: 503, bytes: 10)
    var report = StatusReport(
      mountPoint: "/mnt/\"a\\b\"\n", source: "b/p", endpoint: "http://127.0.0.1:8333", process: 42,
      since: WallTime(seconds: 1_700_000_000), online: false, offlineSince: WallTime(seconds: 1_700_000_100),
      cacheDirectory: "/c", cacheBytes: 4096, cacheLimit: 1 << 30, cachedObjects: 2, pinned: 1, requests: requests,
      costSinceMount: 0.0000066, costThisMonth: 1.5, fetched: 5, revalidated: 6, stale: 7, negative: 8, hiddenKeys: 9)
    report.fresh = 11
    report.traffic.retries = 4
    var waits = WaitHistogram()
    for wait in [1, 20, 20, 700, 60_000] { waits.add(.milliseconds(wait)) }
    report.traffic.waits[.get] = waits
    report.traffic.underWay = [
      RequestUnderWay(
        kind: .get, key: ObjectKey("a"), began: Instant(nanoseconds: 0), received: 1, expected: 2)
    ]
    report.budgets = [
      Purse.Status(limit: BudgetLimit(5, .usd, per: .month), spent: 1.25, isStretching: false)
    ]
    return report
  }

  private var text: String { MetricsReport(status: Self.status, process: ProcessFigures()).text }

  @Test func `sizes that no object has are told, and nothing fails for them`() throws {
    var report = Self.status
    report.traffic.underWay = (0..<20).map { number in
      RequestUnderWay(
        kind: .get, key: ObjectKey("\(number)"), began: Instant(nanoseconds: 0), received: 1, expected: .max)
    }
    #expect(report.text.contains("20 get"))
    #expect(report.json.text.contains("\(Int64.max)"))
    _ = try OpenMetrics(MetricsReport(status: report, process: ProcessFigures()).text)
  }

  @Test func `what is told parses strictly, and is what status tells`() throws {
    let metrics = try OpenMetrics(text)
    func expect(_ name: String, _ labels: [String: String] = [:], _ value: Double) {
      #expect(metrics.value(name, labels) == value, "\(name) \(labels)")
    }
    expect("s3mirror_build_info", ["version": programVersion], 1)
    expect("s3mirror_mount_info", ["source": "b/p", "mountpoint": "/mnt/\"a\\b\"\n"], 1)
    expect("s3mirror_offline", [:], 1)
    expect("s3mirror_offline_since_seconds", [:], 1_700_000_100)
    expect("s3mirror_requests_total", ["kind": "get", "outcome": "success"], 3)
    expect("s3mirror_requests_total", ["kind": "get", "outcome": "notModified"], 1)
    expect("s3mirror_requests_total", ["kind": "list", "outcome": "serverError"], 1)
    expect("s3mirror_received_bytes_total", ["kind": "get"], 3000)
    expect("s3mirror_retries_total", [:], 4)
    expect("s3mirror_requests_in_flight", ["kind": "get"], 1)
    expect("s3mirror_response_seconds_bucket", ["kind": "get", "le": "0.025"], 3)
    expect("s3mirror_response_seconds_bucket", ["kind": "get", "le": "+Inf"], 5)
    expect("s3mirror_response_seconds_sum", ["kind": "get"], 60.741)
    expect("s3mirror_lookups_total", ["answer": "fresh"], 11)
    expect("s3mirror_cache_limit_bytes", [:], Double(1 << 30))
    expect("s3mirror_cost_usd_total", [:], 0.0000066)
    expect("s3mirror_budget_spent", ["unit": "USD", "period": "month"], 1.25)
  }

  @Test func `online there is no time of an outage`() throws {
    var status = Self.status
    (status.online, status.offlineSince) = (true, nil)
    let metrics = try OpenMetrics(MetricsReport(status: status, process: .current).text)
    #expect(metrics.value("s3mirror_offline") == 0)
    #expect(metrics.value("s3mirror_offline_since_seconds") == nil)
    #expect(try #require(metrics.value("process_resident_memory_bytes")) > 1_000_000)
  }

  @Test func `several mounts make one text, each family once`() throws {
    var other = Self.status
    other.mountPoint = "/mnt/other"
    (other.offlineSince, other.online) = (nil, true)
    let joined = MetricsText.joined([text, MetricsReport(status: other, process: ProcessFigures()).text])
    let metrics = try OpenMetrics(joined)
    #expect(metrics.value("s3mirror_offline", ["mountpoint": "/mnt/other"]) == 0)
    #expect(metrics.value("s3mirror_offline", ["mountpoint": Self.status.mountPoint]) == 1)
    #expect(MetricsText.joined([]) == "# EOF\n")
  }

  @Test func `the dashboard asks for nothing that is not told`() throws {
    let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    let bytes = try FileSystem.read("/\(root)/share/grafana/s3mirror.json")
    let dashboard = try #require(JSON(parsing: bytes))
    let told = Set(try OpenMetrics(text).samples.map(\.name))
    let panels = try #require(dashboard["panels"]?.array)
    var asked: Set<String> = []
    for panel in panels {
      for target in panel["targets"]?.array ?? [] {
        let expression = try #require(target["expr"]?.string)
        let names = expression.split { !($0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_")) }
          .filter { $0.hasPrefix("s3mirror_") || $0.hasPrefix("process_") }.map(String.init)
        #expect(!names.isEmpty, "\(expression)")
        asked.formUnion(names)
      }
    }
    #expect(asked.subtracting(told) == [])
    #expect(asked.count > 15)
  }

  @Test(arguments: [
    ("9464", "127.0.0.1:9464"), ("0", "127.0.0.1:0"), ("0.0.0.0:80", "0.0.0.0:80"), ("localhost:1", "localhost:1"),
    ("[::1]:9464", "[::1]:9464"),
  ])
  func `a port is on loopback unless an address is named`(written: String, meant: String) {
    #expect(MetricsAddress(parsing: written)?.description == meant)
  }

  @Test(arguments: ["", ":", ":80", "x", "1:", "65536", "a:b:1", "::1:80", "-1", "a b:1"])
  func `what is no port is refused`(written: String) { #expect(MetricsAddress(parsing: written) == nil) }

  @Test func `the port answers scrapers, and nothing else`() async throws {
    let server = try MetricsServer(MetricsAddress(host: "127.0.0.1", port: 0))
    server.start { "# EOF\n" }
    defer { server.stop() }
    #expect(server.address.port > 0)
    let url = "http://\(server.address)"
    func curl(_ arguments: String...) async throws -> String {
      try await run(["curl", "-s", "-i"] + arguments).output
    }
    let answer = try await curl(server.url)
    #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n") && answer.hasSuffix("\r\n\r\n# EOF\n"))
    #expect(answer.contains("Content-Type: application/openmetrics-text; version=1.0.0"))
    #expect(try await curl(url + "/etc/passwd").hasPrefix("HTTP/1.1 404"))
    #expect(try await curl("-X", "DELETE", server.url).hasPrefix("HTTP/1.1 405"))
    #expect(throws: CommandFailure.self) { try MetricsServer(server.address) }
  }
}
