import MirrorFUSE
import MirrorPlatform
import MirrorStore
import Testing

@testable import MirrorDaemon

@Suite(.timeLimit(.minutes(1)))
struct ReportTests {
  private var report: StatusReport {
    var requests = RequestCounts()
    for _ in 0..<3 { requests.add(.get, status: 200, bytes: 1000) }
    requests.add(.get, status: 304, bytes: 0)
    requests.add(.list, status: 503, bytes: 10)
    return StatusReport(
      mountPoint: "/mnt/\"x\"", source: "b/p", endpoint: "http://127.0.0.1:8333", process: 42,
      since: WallTime(seconds: 1_700_000_000), online: true, offlineSince: nil, cacheDirectory: "/c", cacheBytes: 4096,
      cacheLimit: 1 << 30, cachedObjects: 2, pinned: 1, requests: requests, costSinceMount: 0.0000066,
      costThisMonth: 1.5, fetched: 5, revalidated: 6, stale: 7, negative: 8, hiddenKeys: 9)
  }

  @Test func `status is told to scripts in the form they rely on`() {
    #expect(
      report.json.text == """
        {"mountpoint":"/mnt/\\"x\\"","source":"b/p","endpoint":"http://127.0.0.1:8333","pid":42,\
        "since":"2023-11-14T22:13:20Z","state":"online","offlineSince":null,\
        "cache":{"directory":"/c","bytes":4096,"limit":1073741824,"objects":2,"pinned":1},\
        "requests":{"get":4,"head":0,"list":1,"other":0,"notModified":1,"failed":1},"bytesReceived":3010,\
        "cost":{"currency":"USD","sinceMount":0.0000066,"thisMonth":1.5000000},\
        "served":{"fetched":5,"revalidated":6,"stale":7,"negative":8,"fresh":0},"hidden":9,"retries":0,"transfers":[],\
        "log":{"level":"notice","file":null},"metrics":null,"dataPath":"cached"}
        """)
  }

  @Test func `the data path is told, to people only where it was asked for`() {
    var report = report
    #expect(!report.text.contains("data path"))
    report.dataPath = .passthrough
    #expect(report.text.contains("data path passthrough"))
    #expect(report.json.text.hasSuffix(#""dataPath":"passthrough"}"#))
    report.dataPath = .cached(because: "it takes the rights of root")
    #expect(report.text.contains("data path cached, not passthrough: it takes the rights of root"))
    #expect(report.json.text.hasSuffix(#""dataPath":"cached"}"#))
  }

  @Test func `an outage is told with its beginning`() {
    var report = report
    report.online = false
    report.offlineSince = WallTime(seconds: 1_700_000_060)
    #expect(report.json.text.contains(#""state":"offline","offlineSince":"2023-11-14T22:14:20Z""#))
    #expect(report.text.contains("offline since 2023-11-14T22:14:20Z"))
  }

  @Test func `listening to a queue is told with how it goes, and what it costs`() {
    var report = report
    #expect(!report.text.contains("events") && !report.json.text.contains("events"))
    var events = QueueStatus(queue: "https://sqs/1/q")
    (events.requests, events.messages, events.changes) = (100_000, 7, 5)
    events.condition = .listening(since: WallTime(seconds: 1_700_000_000))
    report.events = events
    #expect(
      report.text.contains(
        "events    listening since 2023-11-14T22:13:20Z; 5 changes in 7 messages, 100000 requests (0.040000 USD)"))
    #expect(
      report.json.text.hasSuffix(
        """
        "events":{"queue":"https://sqs/1/q","state":"listening","since":"2023-11-14T22:13:20Z","problem":null,\
        "requests":100000,"messages":7,"changes":5,"cost":0.0400000}}
        """))
    report.events?.condition = .failing(since: WallTime(seconds: 1_700_000_060), because: "AccessDenied")
    #expect(report.text.contains("failing since 2023-11-14T22:14:20Z, only lifetimes count: AccessDenied;"))
    #expect(report.json.text.contains(#""state":"failing","since":"2023-11-14T22:14:20Z","problem":"AccessDenied""#))
  }

  @Test func `people are told of hidden keys only where there are some`() {
    #expect(report.text.contains("9 keys can't be files"))
    var report = report
    report.hiddenKeys = 0
    #expect(!report.text.contains("hidden"))
  }

  @Test func `a key that is not text comes in base64`() {
    #expect(JSON.object([keyMember(ObjectKey("é\n"))]).text == #"{"key":"é\n"}"#)
    #expect(JSON.object([keyMember(ObjectKey([0xFF, 0x00]))]).text == #"{"keyBase64":"/wA="}"#)
  }

  @Test func `a name can't play with the terminal`() {
    #expect(quoted("a b") == "a b")
    #expect(quoted("a\u{1B}[2Jb") == #""a\u001b[2Jb""#)
  }
}
