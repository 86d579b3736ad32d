import MirrorPlatform
import MirrorStore
import Testing

@testable import MirrorDaemon

/// The screens as they are seen.
@Suite(.timeLimit(.minutes(1)))
struct TopTests {
  private static let noon = WallTime(seconds: 1_700_000_000)

  private func sample(_ point: String = "/mnt/content", at seconds: Int64 = 0) -> MountSample {
    var sample = MountSample()
    sample.at = Instant(nanoseconds: seconds * 1_000_000_000)
    (sample.mountPoint, sample.source, sample.endpoint) = (
      point, "s3://content/web", "https://s3.eu-west-1.amazonaws.com"
    )
    (sample.process, sample.since) = (1234, Self.noon.seconds - 7200)
    (sample.cacheBytes, sample.cacheLimit, sample.objects, sample.inUse) = (3 << 30, 10 << 30, 12_345, 12)
    sample.requests = ["get": 800, "head": 20, "list": 30, "other": 0, "notModified": 600, "failed": 1]
    sample.served = ["fresh": 90_000, "stale": 5, "revalidated": 600, "fetched": 300, "negative": 44]
    (sample.received, sample.costSinceMount, sample.costThisMonth) = (512 << 20, 0.000478, 1.234)
    return sample
  }

  private var later: MountSample {
    var sample = sample(at: 2)
    sample.requests["get"] = 804
    sample.requests["notModified"] = 602
    sample.served["fresh"] = 90_390
    sample.served["revalidated"] = 602
    sample.served["fetched"] = 302
    sample.received += 7 << 20
    sample.costSinceMount += 0.0000016
    sample.retries = 2
    sample.transfers = [
      .init(
        kind: "get", key: "films/a rather long name of a film in a directory.mp4", received: 300 << 20,
        expected: 1 << 30),
      .init(kind: "get", key: "new\nline", received: 0, expected: nil),
      .init(kind: "list", key: "web/", received: 0, expected: nil),
    ]
    sample.budgets = [.init(limit: "5USD/month", share: 0.25)]
    return sample
  }

  private func screen(_ now: [MountSample], _ before: [MountSample], width: Int = 80, height: Int = 24) -> String {
    TopScreen(now, before: before, wall: Self.noon).lines(width: width, height: height).map { $0 + "\n" }.joined()
  }

  @Test func `one mount fills a screen of 80 by 24`() {
    #expect(
      screen([later], [sample()]) == """
        s3mirror top  2023-11-14T22:13:20Z                                      q leaves

        /mnt/content  s3://content/web at https://s3.eu-west-1.amazonaws.com
        online, mounted 2h ago, process 1234

        hits            99.0 %  [###################.] 195/s
        requests         2.0/s  804 get, 20 head, 30 list; 1 failed, 2 retries
        received     3.5 MiB/s  519.0 MiB since mount
        cost          0.0029/h  USD; 0.000480 since mount, 1.23 this month
        cache           30.0 %  [######..............] 3.0 GiB of 10.0 GiB
                                12345 objects, 12 in use
        budget          25.0 %  [#####...............] of 5USD/month
        served                  90390 fresh, 5 stale, 44 absent
                                602 revalidated, 302 fetched

        UNDER WAY
        get  films/a rather long name of a…  [#####...............]   29.3 %     1.0 GiB
        get  "new\\nline"                     waiting
        list web/                            waiting

        """)
  }

  @Test func `several mounts have a line each`() {
    var other = sample("/mnt/other", at: 2)
    (other.isOnline, other.offlineSince) = (false, Self.noon.seconds - 300)
    other.served = [:]
    #expect(
      screen([later, other], [sample(), sample("/mnt/other")], height: 8) == """
        s3mirror top  2023-11-14T22:13:20Z                                      q leaves

        MOUNT                   STATE           HITS   REQ/S     RECV/S    USD/H  CACHE
        /mnt/content            online        99.0 %     2.0    3.5 MiB   0.0029 30.0 %
        /mnt/other              offline 5m         -     0.0        0 B   0.0000 30.0 %

        UNDER WAY
        … and 3 more

        """)
  }

  @Test func `an outage is the first thing that is seen`() {
    var mount = sample()
    (mount.isOnline, mount.offlineSince) = (false, Self.noon.seconds - 90)
    #expect(screen([mount], []).contains("\nOFFLINE for 90s, mounted 2h ago"))
  }

  @Test func `without a look before, rates are those since the mount`() {
    // 850 requests in two hours.
    #expect(screen([sample()], []).contains("requests         0.1/s"))
  }

  @Test func `counters of another process are no look before`() {
    var before = sample()
    before.process = 99
    before.requests["get"] = 0
    #expect(screen([sample(at: 1)], [before]).contains("requests         0.1/s"))
  }

  @Test(arguments: [(20, 4), (40, 10), (80, 24), (200, 60)])
  func `no line is too long and no screen too high`(width: Int, height: Int) {
    var busy = later
    busy.transfers = (0..<100).map { .init(kind: "get", key: "k\($0)", received: 1, expected: 0) }
    for mounts in [[], [busy], [busy, sample("/mnt/other")]] {
      let lines = TopScreen(mounts, before: [], wall: Self.noon).lines(width: width, height: height)
      #expect(lines.count <= height)
      #expect(lines.allSatisfy { $0.count <= width })
    }
  }

  @Test func `nothing mounted is said`() { #expect(screen([], []).contains("nothing is mounted")) }

  @Test func `a look understands what status says`() throws {
    let report = MetricsTests.status
    let json = try #require(JSON(parsing: Array(report.json.text.utf8)))
    let sample = try #require(MountSample(json, at: Instant(nanoseconds: 5)))
    #expect(sample.mountPoint == report.mountPoint)
    #expect(sample.since == 1_700_000_000 && sample.offlineSince == 1_700_000_100 && !sample.isOnline)
    #expect(sample.requestCount == 5 && sample.served["fresh"] == 11 && sample.retries == 4)
    #expect(sample.transfers == [.init(kind: "get", key: "a", received: 1, expected: 2)])
    #expect(sample.budgets == [.init(limit: "5USD/month", share: 0.25)])
    #expect(sample.costThisMonth == 1.5)
    #expect(MountSample(.null, at: Instant(nanoseconds: 0)) == nil)
  }

  @Test func `status for people is a short page`() {
    var report = MetricsTests.status
    report.mountPoint = "/mnt/content"
    report.wall = WallTime(seconds: 1_700_000_400)
    report.metrics = "http://127.0.0.1:9464/metrics"
    #expect(
      report.text == """
        /mnt/content
          source    b/p at http://127.0.0.1:8333
          state     offline since 2023-11-14T22:15:00Z (5m), mounted 2023-11-14T22:13:20Z (400s), process 42
          requests  5 (4 get, 0 head, 1 list, 0 other), 1 not modified, 1 failed, 4 retries, 2.9 KiB received
          cost      0.000007 USD since mount, 1.500000 USD this month
          served    11 fresh, 5 fetched, 6 revalidated, 7 stale, 8 absent
          cache     4.0 KiB of 1.0 GiB (0 %) in 2 objects, 1 in use: /c
          budget    1.25 USD of 5USD/month in the last month
          under way 1 get, 1 B to come
          hidden    9 keys can't be files; see 's3mirror keys --hidden'
          metrics   http://127.0.0.1:9464/metrics

        """)
  }
}
