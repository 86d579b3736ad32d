import MirrorCore
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@testable import MirrorDaemon

/// What configuration files say, and what comes of it beside arguments.
@Suite(.timeLimit(.minutes(1)))
struct ConfigurationTests {
  private let directory: TemporaryDirectory
  private let path: String

  init() throws {
    directory = try TemporaryDirectory("configuration")
    path = directory.file("s3mirror.conf")
  }

  private func write(_ text: String) throws { try FileSystem.write(Array(text.utf8), to: path, mode: 0o600) }

  private func settings(_ words: String...) throws -> MountSettings {
    let words = ["--config", path] + words
    guard case .mount(let settings) = try parseMountArguments(words.map { Array($0.utf8) }) else {
      throw CommandFailure(.failure, "this asks for help")
    }
    return settings
  }

  private func problems(_ text: String) throws -> [String] {
    try write(text)
    return try Configuration(file: path).problems.map { String($0.description.dropFirst(path.count)) }
  }

  @Test func `a mount is made by its name, with all that its section says`() throws {
    try write(
      """
      # for all
      region = eu-central-1
      [general]
      part_size = 16MiB   # a comment
      [mount "content"]
      source = my-bucket/some/prefix
      mountpoint = /srv/content
      allow-other
      offline = no
      log-file = "/var/log/a #1.log"
      freshness = *.json=always
      freshness = "a b/**=forever"
      freshness = 15m
      budget = 5USD/month
      """)
    let settings = try self.settings("content")
    #expect(settings.source == (try Source(parsing: "my-bucket/some/prefix")))
    #expect(settings.mountPoint == "/srv/content")
    #expect(settings.region == "eu-central-1" && settings.partSize == 16 << 20)
    #expect(settings.allowOther && !settings.offline)
    #expect(settings.logFile == "/var/log/a #1.log")
    #expect(settings.rules.lifetime(of: Array("x/a.json".utf8)[...]) == .window(.zero))
    #expect(settings.rules.lifetime(of: Array("a b/c".utf8)[...]) == .forever)
    #expect(settings.rules.default == .window(.seconds(900)))
    #expect(settings.budgets == [BudgetLimit(5, .usd, per: .month)])
  }

  @Test
  func `the command line goes before -o, that before the section, that before general, that before what is built in`()
    throws
  {
    try write(
      """
      region = general
      endpoint-url = http://general
      part-size = 9MiB
      max-connections = 9
      [mount "m"]
      source = b
      mountpoint = /m
      region = section
      endpoint-url = http://section
      part-size = 10MiB
      """)
    let settings = try self.settings("m", "-o", "region=list,endpoint_url=http://list", "--region", "line")
    #expect(settings.region == "line")
    #expect(settings.endpointURL == "http://list")
    #expect(settings.partSize == 10 << 20)
    #expect(settings.maximumConnections == 9)
    #expect(settings.negativeDefaultHolds)
    let other = try self.settings("b", "/m")
    #expect(other.region == "general" && other.partSize == 9 << 20)
  }

  @Test func `patterns of all places hold, the most specific place first, and one lifetime for the rest`() throws {
    try write(
      """
      freshness = *.a=1s
      freshness = *.b=1s
      freshness = 1s
      [mount "m"]
      source = b
      mountpoint = /m
      freshness = *.b=2s
      freshness = *.c=2s
      freshness = 2s
      """)
    let rules = try settings("m", "--freshness", "*.c=3s").rules
    for (name, seconds) in [("x.a", 1), ("x.b", 2), ("x.c", 3), ("x.d", 2)] {
      #expect(rules.lifetime(of: Array(name.utf8)[...]) == .window(.seconds(seconds)), "\(name)")
    }
  }

  @Test func `budgets add up, and of one unit and period the most specific place decides`() throws {
    try write(
      "budget = 5USD/month\nbudget = 100req/hour\n[mount \"m\"]\nsource = b\nmountpoint = /m\nbudget = 9USD/month\n")
    #expect(
      try settings("m").budgets == [BudgetLimit(100, .requests, per: .hour), BudgetLimit(9, .usd, per: .month)])
    #expect(
      try settings("m", "--budget", "1req/hour").budgets == [
        BudgetLimit(9, .usd, per: .month), BudgetLimit(1, .requests, per: .hour),
      ])
  }

  @Test func `what a file switches on an argument switches off`() throws {
    try write("allow-other = yes\noffline")
    let settings = try self.settings("b", "/m", "--allow-other=no", "-o", "offline=no")
    #expect(!settings.allowOther && !settings.offline)
  }

  @Test(arguments: [
    ("freshnes = 1s", ":1: there is no key 'freshnes'; did you mean 'freshness'?"),
    ("\n--region = x", ":2: write 'region' without the dashes: region = …"),
    ("region eu-west-1", ":1: a line is KEY = VALUE; did you mean 'region = …'?"),
    ("region: eu-west-1", ":1: a line is KEY = VALUE; did you mean 'region = …'?"),
    ("= x", ":1: a line is KEY = VALUE; here the KEY is missing"),
    ("region =", ":1: 'region' needs a value: region = NAME"),
    ("freshness = soon", ":1: 'freshness = soon': 'soon': the lifetime must be a duration"),
    ("cache-size = 10 bananas", ":1: 'cache-size = 10 bananas': a size is a number and a unit"),
    ("offline = perhaps", ":1: 'offline' is yes or no, not 'perhaps'"),
    ("region = a\nregion = b", ":2: 'region' is given on line 1 already, and may stand there once"),
    ("cache-dir = cache", ":1: 'cache-dir = cache': in a file a path begins with '/' or '~/'"),
    ("source = b", ":1: 'source' belongs to one mount: write it below a line [mount \"NAME\"]"),
    ("config = /x", ":1: a configuration file can't name another one"),
    ("aws_secret_access_key = hush", ":1: 'aws_secret_access_key': credentials are not kept here"),
    ("region = \"a", ":1: the closing '\"' is missing"),
    ("region = \"a\" b", ":1: after the closing '\"' nothing more is expected"),
    ("[mount content]", ":1: a section is [general] or [mount \"NAME\"]; did you mean [mount \"content\"]?"),
    ("[content]", ":1: a section is [general] or [mount \"NAME\"]; did you mean [mount \"content\"]?"),
    ("[genral]", ":1: a section is [general] or [mount \"NAME\"]; did you mean 'general'?"),
    ("[mount \"a\"", ":1: a section is [general] or [mount \"NAME\"]; here the ']' is missing"),
    ("[mount \"\"]", ":1: a section is [general] or [mount \"NAME\"]; here the NAME is missing"),
    ("[mount \"a/b\"]", ":1: 'a/b': the name of a mount has no '/'"),
    ("[mount \"a\"]\nsource = B\nmountpoint = /m", ":2: source 'B': bucket names have no upper-case letters"),
    ("[mount \"a\"]\nmountpoint = /m", ":1: [mount \"a\"] needs a line 'source = …'"),
    ("[mount \"a\"]\nsource = b\nmountpoint = m", ":3: 'mountpoint = m': in a file a path begins with '/' or '~/'"),
    (
      "[mount \"a\"]\nsource = b\nmountpoint = /m\n[mount \"a\"]\nregion = x",
      ":4: the section [mount \"a\"] was begun on line 1 already; join the two"
    ),
    (
      "[mount \"a\"]\nsource = b\nmountpoint = /m\n[mount \"c\"]\nsource = d\nmountpoint = /m/",
      ":6: '/m/' is the mountpoint of [mount \"a\"] already"
    ),
  ])
  func `a mistake is told with its line and what was meant`(text: String, expected: String) throws {
    let found = try problems(text)
    #expect(found.count == 1, "\(found)")
    #expect(found.first?.hasPrefix(expected) == true, "\(found)")
    #expect(!found.contains { $0.contains("hush") })
  }

  @Test func `bytes that are no text, and line ends of other systems`() throws {
    try FileSystem.write(
      [0xEF, 0xBB, 0xBF] + Array("region = a\r\n\r\n[general]\r\nprofile = \u{E4}\r\n".utf8) + [0xFF], to: path,
      mode: 0o600)
    let configuration = try Configuration(file: path)
    #expect(configuration.problems.map(\.description) == ["\(path):5: this is not UTF-8"])
    #expect(configuration.general.map(\.value) == ["a", "\u{E4}"])
  }

  @Test func `mistakes of other mounts are warnings, one's own and the general ones are refused`() throws {
    try write("[mount \"a\"]\nsource = b\nmountpoint = /m\n[mount \"c\"]\nsource = d\nmountpoint = /n\nnonsense = 1\n")
    let settings = try self.settings("a")
    #expect(settings.warnings == ["\(path):7: there is no key 'nonsense'; see s3mirror.conf(5)"])
    #expect(throws: CommandFailure(.usage, "\(path):7: there is no key 'nonsense'; see s3mirror.conf(5)")) {
      _ = try self.settings("c")
    }
    try write("nonsense = 1\nregion =\n[mount \"a\"]\nsource = b\nmountpoint = /m\n")
    #expect(
      throws: CommandFailure(
        .usage, "\(path):1: there is no key 'nonsense'; see s3mirror.conf(5); and 1 more: see 's3mirror config check'")
    ) { _ = try self.settings("a") }
  }

  @Test func `a file that was named must be there, and its mounts are suggested`() throws {
    #expect(throws: CommandFailure.self) { _ = try self.settings("b", "/m") }
    try write("[mount \"content\"]\nsource = b\nmountpoint = /m\n")
    #expect(
      throws: CommandFailure(
        .usage,
        "MOUNTPOINT is missing, and no configuration file has a section [mount \"contend\"]; did you mean 'content'?")
    ) { _ = try self.settings("contend") }
    // Two arguments are a source and a mount point, whatever the sections are called.
    #expect(try self.settings("content", "/elsewhere").source.bucket == "content")
  }

  @Test func `every option but those of one start is a key, and in the sample and its manual`() throws {
    let sample = ConfigurationSample.text
    let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    let manual = String(decoding: try FileSystem.read("/\(root)/man/s3mirror.conf.5"), as: UTF8.self)
    let keys = manual.split(separator: "\n").filter { $0.hasPrefix(".It Cm ") && $0.contains(" Ta ") }
    for option in MountOption.all where option.name != "config" {
      #expect(sample.contains("\n#\(option.name) = ") || option.name == "foreground", "\(option.name)")
      let line = keys.first { $0.hasPrefix(".It Cm \(option.name) Ta ") }
      #expect(line?.hasSuffix(" Ta *") == option.isLive, "man/s3mirror.conf.5 on \(option.name): \(line ?? "nothing")")
    }
    #expect(keys.count == MountOption.all.count - 1)
    // With every comment taken away it is a file without mistakes, but for examples that name files.
    let lines = sample.split(separator: "\n").map { $0.hasPrefix("#") && !$0.hasPrefix("# ") ? $0.dropFirst() : $0 }
    let files = ["sse-c-keys", "seed", "ca-bundle", "client-cert", "client-key"]
    let text = lines.filter { line in !files.contains { line.hasPrefix($0) } }.joined(separator: "\n")
    #expect(try problems(text) == [])
  }
}

extension MountSettings {
  fileprivate var negativeDefaultHolds: Bool { rules.negative == .seconds(5) }
}
