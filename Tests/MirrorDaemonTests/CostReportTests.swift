import MirrorPlatform
import MirrorStore
import Testing

@testable import MirrorDaemon

@Suite(.timeLimit(.minutes(1)))
struct CostReportTests {
  /// 2026-11-20T12:00:00Z
  private let now = WallTime(seconds: 20_777 * 86400 + 43_200)
  private let today: Int64 = 20_777

  private func entry(_ day: Int64, _ prefix: String, _ kind: RequestKind, _ outcome: RequestOutcome = .success)
    -> LedgerEntry
  {
    LedgerEntry(day: day, prefix: ObjectKey(prefix), RequestClass(kind, outcome))
  }

  private func report(_ entries: LedgerEntries, running: CostReport.Running? = nil) -> CostReport {
    CostReport(
      source: "s3://bucket/p/", endpoint: "http://127.0.0.1:8333", directory: "/c/d", prices: Prices(), now: now,
      entries: entries, running: running)
  }

  private var some: LedgerEntries {
    [
      entry(today - 3, "", .list): Tally(requests: 1000, bytes: 1 << 20),
      entry(today - 1, "photos/", .get): Tally(requests: 5000, bytes: 1 << 30),
      entry(today - 1, "photos/", .get, .notModified): Tally(requests: 2500, bytes: 0),
      entry(today - 1, "photos/", .get, .serverError): Tally(requests: 10, bytes: 0),
      entry(today, LedgerEntry.rest.description, .head): Tally(requests: 1, bytes: 0),
      entry(today, "", .list): Tally(requests: 40, bytes: 4096),
    ]
  }

  private func running(_ seconds: Int, recent: Int? = nil) -> CostReport.Running {
    var counts = RequestCounts()
    for _ in 0..<100 { counts.add(.get, status: 304, bytes: 0) }
    return CostReport.Running(
      mountPoint: "/mnt/b", since: WallTime(milliseconds: now.milliseconds - Int64(seconds) * 1000),
      sinceMount: MeasuredRequests(counts: counts, span: .seconds(seconds)),
      recent: MeasuredRequests(counts: counts, span: .seconds(recent ?? seconds)), unasked: 250)
  }

  @Test func `the text fits a terminal and shows what things cost`() {
    let text = report(some, running: running(600)).text(CostQuestion(project: true))
    #expect(
      text == """
        s3://bucket/p/ at http://127.0.0.1:8333, mounted on /mnt/b
          today        0.000200 USD: 0 GET (0 not modified), 1 HEAD, 40 LIST, 4.0 KiB
                       received
          this month   0.008200 USD: 7510 GET (2500 not modified), 1 HEAD, 1040 LIST, 10
                       of them free, 1.0 GiB received
          expected     0.023950 USD for 2026-11, going by the last 2 whole days
          saved        0.000100 USD since 2026-11-20T11:50:00Z: 250 look-ups answered
                       without a request, at one GET each; those that the kernel answers
                       are not seen and not counted
          at this rate 0.172800 USD, 432000 requests in 30 days, going by the 10m since
                       mount

          USD by day
          2026-11-17  0.005000  1000 requests  █████████████████████████████████████████
          2026-11-18  0.000000     0 requests
          2026-11-19  0.003000  7510 requests  ████████████████████████▋
          2026-11-20  0.000200    41 requests  █▋

          USD by prefix, last 31 days
          (top)     0.005200  1040 requests  ███████████████████████████████████████████
          photos/   0.003000  7510 requests  ████████████████████████▊
          (others)  0.000000     1 requests  ▏

        """, "\(text)")
    #expect(text.split(separator: "\n").allSatisfy { $0.count <= 80 })
    #expect(!text.contains("\u{1B}"))
  }

  @Test func `one chart is shown where one is asked for`() {
    let report = report(some)
    let byDay = report.text(CostQuestion(order: .day))
    #expect(byDay.contains("USD by day") && !byDay.contains("USD by prefix"))
    let byPrefix = report.text(CostQuestion(order: .prefix))
    #expect(!byPrefix.contains("USD by day") && byPrefix.contains("USD by prefix"))
    #expect(!byDay.contains("saved") && !byDay.contains("mounted"))
  }

  @Test func `many and long prefixes keep their place`() {
    var entries: LedgerEntries = [:]
    for number in 0..<60 {
      let prefix = "\(number)-\(String(repeating: "x", count: 100))\u{1B}[2J/"
      entries[entry(today, prefix, .get)] = Tally(requests: 1000 + number, bytes: 0)
    }
    let lines = report(entries).text(CostQuestion(order: .prefix)).split(separator: "\n")
    #expect(lines.contains { $0.contains("  40 more ") })
    #expect(lines.allSatisfy { $0.count <= 80 && !$0.contains("\u{1B}") })
  }

  @Test func `nothing asked is said`() {
    let text = report([:]).text(CostQuestion(project: true))
    #expect(
      text == """
        s3://bucket/p/ at http://127.0.0.1:8333
          no request in the last 31 days
          at this rate not known: nothing is mounted from here

        """)
  }

  @Test func `the month so far leaves out the one before`() {
    let entries = [
      entry(today - 20, "", .list): Tally(requests: 7, bytes: 0),
      entry(today - 19, "", .list): Tally(requests: 5, bytes: 0),
      entry(today - 31, "", .list): Tally(requests: 100, bytes: 0),
    ]
    let report = report(entries)
    #expect(report.monthToDate.total == 5)
    #expect(report.days.first?.day == today - 20 && report.days.count == 21)
    #expect(report.prefixes.map(\.counts.total) == [12])
  }

  @Test func `whole days are projected where there are some, else the last hour`() throws {
    let long = try #require(report(some, running: running(90_000, recent: 3600)).projection)
    #expect(long.basis == .days(2))
    #expect(abs(long.cost - (0.0082004 + 0.003 / 2 * 10.5)) < 1e-9)
    let young = [entry(today - 1, "", .list): Tally(requests: 10, bytes: 0)]
    let short = try #require(report(young, running: running(600)).projection)
    #expect(short.basis == .recent(.seconds(600)))
    #expect(abs(short.cost - (0.00005 + 0.00004 / 600 * 10.5 * 86400)) < 1e-9)
    #expect(report(young, running: running(59)).projection == nil)
    #expect(report(young).projection == nil)
    let months = [entry(today - 30, "", .list): Tally(requests: 70, bytes: 0)]
    #expect(report(months).projection?.basis == .days(7))
    #expect(report(months).projection?.cost == report(months).monthToDate.cost(Prices()))
  }

  @Test(arguments: [
    ("2026-11-20T12:00:00Z", "2026-11", 19, 10.5), ("2026-12-31T18:00:00Z", "2026-12", 30, 0.25),
    ("2028-02-01T00:00:00Z", "2028-02", 0, 29.0),
  ])
  func `a month ends where the next begins`(time: String, name: String, passed: Int64, left: Double) throws {
    let month = BillingMonth(at: WallTime(seconds: try #require(Timestamp(rfc3339: time)).seconds))
    #expect(month.name == name && month.today - month.firstDay == passed)
    #expect(month.rest == .seconds(left * 86400))
  }

  @Test func `scripts get the members they rely on`() {
    let entries: LedgerEntries = [
      entry(today, "a/", .get, .notModified): Tally(requests: 2, bytes: 0),
      entry(today, "a/", .list, .serverError): Tally(requests: 1, bytes: 10),
    ]
    var report = report(entries, running: running(600))
    report.prices = Prices()
    report.prices.classes = [:]
    let counts = """
      "get":2,"head":0,"list":1,"other":0,"notModified":2,"failed":1,"billed":2,"bytesReceived":10,\
      "cost":0.000000800,"classes":[{"kind":"get","outcome":"notModified","storageClass":"STANDARD","requests":2,\
      "bytes":0,"cost":0.000000800},{"kind":"list","outcome":"serverError","storageClass":"STANDARD","requests":1,\
      "bytes":10,"cost":0.000000000}]
      """
    let since = """
      "get":100,"head":0,"list":0,"other":0,"notModified":100,"failed":0,"billed":100,"bytesReceived":0,\
      "cost":0.000040000,"classes":[{"kind":"get","outcome":"notModified","storageClass":"STANDARD","requests":100,\
      "bytes":0,"cost":0.000040000}]
      """
    let rate = """
      {"seconds":600.000,"requests":100,"cost":0.000040000,"requestsPerMonth":432000,"costPerMonth":0.172800000}
      """
    #expect(
      report.json.text == """
        {"source":"s3://bucket/p/","endpoint":"http://127.0.0.1:8333","directory":"/c/d","mountpoint":"/mnt/b",\
        "since":"2026-11-20T11:50:00Z","currency":"USD","prices":{"get":0.000000400000000,"head":0.000000400000000,\
        "list":0.000005000000000,"egress":0.000000000000000},"today":{\(counts)},"monthToDate":{\(counts)},\
        "sinceMount":{\(since)},"projection":{"month":"2026-11","cost":0.060480800,"basis":"recent",\
        "seconds":600.000},"rate":{"sinceMount":\(rate),"recent":\(rate)},"saved":{"lookups":250,"cost":0.000100000},\
        "days":[{"day":"2026-11-20",\(counts)}],"prefixes":[{"prefix":"a/",\(counts)}]}
        """)
    report.running = nil
    #expect(report.json.text.contains(#""mountpoint":null,"since":null"#))
    #expect(report.json.text.contains(#""sinceMount":null,"projection":null,"rate":null,"saved":null"#))
  }

  @Test func `a question arrives as it was put`() throws {
    for question in [
      CostQuestion(),
      CostQuestion(order: .prefix, json: true, project: true, prices: ["get=1/1000", "egress=0.09/GB"]),
    ] {
      #expect(CostQuestion(encoded: question.encoded) == question)
    }
    #expect(CostQuestion(encoded: Array("json\nfuture=1".utf8)) == CostQuestion(json: true))
    #expect(try CostQuestion(prices: ["list=1"]).prices(over: Prices()).perList == 1)
    #expect(throws: CommandFailure.self) { try CostQuestion(prices: ["list=x"]).prices(over: Prices()) }
  }
}
