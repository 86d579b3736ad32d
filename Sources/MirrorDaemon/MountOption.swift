// The options of `mount`, one table: command line, -o, configuration file, help and completions read it, and the manual
// is checked against it.
import MirrorAWS
import MirrorCore
import MirrorFUSE
import MirrorPlatform
import MirrorStore

/// One option: `--name VALUE`, also `-o name=VALUE`, and a key of s3mirror.conf(5).
public struct MountOption: Sendable {
  /// What values given in several places, or several times, come to.
  enum Joining: Sendable {
    /// That of the place that counts most.
    case replaces
    /// All of them.
    case adds
    /// All patterns, those of the place that counts most first; of those for all paths, one.
    case rules
    /// All, but one place alone decides about each unit and period.
    case budgets
  }

  public let name: String
  /// What stands for the value in the help; nil for a flag.
  public let placeholder: String?
  /// What it does, without its default.
  let meaning: String
  /// What holds where it is not given; for people.
  public let otherwise: String?
  let joins: Joining
  /// A running mount takes over another value.
  public let isLive: Bool
  /// Takes the value over; throws what is wrong with it.
  let apply: @Sendable (inout MountSettings, String) throws(OptionProblem) -> Void

  init(
    _ name: String, _ placeholder: String? = nil, _ meaning: String, otherwise: String? = nil,
    joins: Joining = .replaces, isLive: Bool = false,
    _ apply: @escaping @Sendable (inout MountSettings, String) throws(OptionProblem) -> Void
  ) {
    self.name = name
    self.placeholder = placeholder
    self.meaning = meaning
    self.otherwise = otherwise
    self.joins = joins
    self.isLive = isLive
    self.apply = apply
  }

  /// One sentence, with its default.
  public var help: String { meaning + (otherwise.map { " (default \($0))" } ?? "") }

  public var mayBeRepeated: Bool { if case .replaces = joins { false } else { true } }
  var isPath: Bool { placeholder == "FILE" || placeholder == "DIR" }

  public static let all: [MountOption] = origin + cache + freshness + cost + appearance + metadata + process

  static func named(_ name: String) -> MountOption? { all.first { $0.name == name } }
}

/// What is wrong with an option's value.
struct OptionProblem: Error {
  let text: String
  init(_ text: String) { self.text = text }
}

private let origin: [MountOption] = [
  MountOption("endpoint-url", "URL", "the S3 server, where it is not AWS (http://localhost:8333)") {
    (settings, text) throws(OptionProblem) in
    guard text.hasPrefix("http://") || text.hasPrefix("https://") else {
      throw OptionProblem("a URL begins with http:// or https://")
    }
    settings.endpointURL = text
  },
  MountOption("region", "NAME", "the bucket's region", otherwise: "found out") { $0.region = $1 },
  MountOption("profile", "NAME", "the profile of the AWS configuration files") { $0.profile = $1 },
  MountOption("no-sign-request", nil, "ask without credentials: public buckets") { settings, _ in
    settings.anonymous = true
  },
  MountOption("path-style", nil, "put the bucket into the path of the URL, not into the host name") { settings, _ in
    settings.pathStyle = true
  },
  MountOption("requester-pays", nil, "agree to pay for requests and bytes of a bucket whose owner does not") {
    settings, _ in settings.requesterPays = true
  },
  MountOption("expected-owner", "ACCOUNT", "refuse to read a bucket that another account than this one owns") {
    (settings, text) throws(OptionProblem) in
    guard text.utf8.count == 12, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
      throw OptionProblem("an account has twelve digits")
    }
    settings.expectedOwner = text
  },
  MountOption(
    "sse-c-keys", "FILE", "keys for objects that are encrypted with keys of one's own (SSE-C), a line each in base64",
    joins: .adds
  ) { (settings, text) throws(OptionProblem) in
    let path = try readable(text)
    guard let keys = (try? FileSystem.read(path)).flatMap({ CustomerKey.keys(in: $0) }) else {
      throw OptionProblem("it has no keys of 32 bytes, a line each in base64 or hexadecimal")
    }
    if let mode = try? FileSystem.attributes(path).permissions, mode & 0o077 != 0 {
      settings.warnings.append("--sse-c-keys \(text): it can be read by others; its mode should be 0600")
    }
    settings.customerKeys += keys
  },
  MountOption("ca-bundle", "FILE", "trusted authorities (PEM) in place of the system's") {
    (settings, text) throws(OptionProblem) in settings.caBundle = try readable(text)
  },
  MountOption("client-cert", "FILE", "a certificate (PEM) to show to a server that asks for one") {
    (settings, text) throws(OptionProblem) in settings.clientCertificate = try readable(text)
  },
  MountOption("client-key", "FILE", "its private key (PEM), where it is not in the same file") {
    (settings, text) throws(OptionProblem) in settings.clientKey = try readable(text)
  },
  MountOption(
    "at", "TIME",
    "show the bucket as it was then, where it keeps versions: 2026-11-30, 2026-11-30T08:00:00Z or '3d ago'; nothing of it is asked for twice"
  ) { (settings, text) throws(OptionProblem) in settings.at = try pastTime(text) },
  MountOption("part-size", "SIZE", "bytes of one request for a part of an object", otherwise: "8MiB") {
    (settings, text) throws(OptionProblem) in
    settings.partSize = try size(text, in: (1 << 20)...(1 << 30))
  },
  MountOption("max-connections", "NUMBER", "connections to the server at one time") {
    (settings, text) throws(OptionProblem) in
    settings.maximumConnections = try number(text, in: 1...1024)
  },
]

private let cache: [MountOption] = [
  MountOption("cache-dir", "DIR", "where the cache lives", otherwise: "~/.cache/s3mirror; root: /var/cache/s3mirror") {
    $0.cacheDirectory = $1
  },
  MountOption(
    "cache-size", "SIZE", "the cache's limit", otherwise: "10GiB, or what leaves 5 % of the disk free", isLive: true
  ) {
    (settings, text) throws(OptionProblem) in settings.cacheSize = try size(text, in: 0...Int64.max)
  },
  MountOption("min-free", "SIZE", "disk space that the cache leaves free", isLive: true) {
    (settings, text) throws(OptionProblem) in settings.minimumFree = try size(text, in: 0...Int64.max)
  },
  MountOption(
    "seed", "DIR",
    "content that came with the machine, made by 's3mirror seed create': it is shown while the server can't be reached, and not fetched while it is current"
  ) { (settings, text) throws(OptionProblem) in
    let path = absolutePath(text)
    guard (try? FileSystem.attributes(path + "/manifest"))?.kind == .file else {
      throw OptionProblem("it has no manifest of a seed; make one with 's3mirror seed create SOURCE \(text)'")
    }
    settings.seed = path
  },
  MountOption(
    "data-path", "WAY",
    "how content reaches programs: 'cached', through this process into the kernel's page cache, or 'passthrough', read by the kernel from the cache's files where it can: for large files and mmap; takes root and Linux 6.9",
    otherwise: "cached"
  ) { (settings, text) throws(OptionProblem) in
    switch text {
    case "cached": settings.passthrough = false
    case "passthrough": settings.passthrough = true
    default: throw OptionProblem("it is cached or passthrough")
    }
  },
]

private let freshness: [MountOption] = [
  MountOption(
    "freshness", "[GLOB=]LIFETIME[,NAME=VALUE]",
    "how long a copy is used without asking the server: a duration, 'always' (ask at each open), 'forever' or 'origin' (what its Cache-Control says), then bounds of its own: swr=, sie=, negative=, listing=; may be repeated, the first pattern that matches decides",
    otherwise: "60s", joins: .rules, isLive: true
  ) { (settings, text) throws(OptionProblem) in
    do throws(RuleError) { try settings.rules.add(text) } catch { throw OptionProblem(error.message) }
  },
  MountOption(
    "negative-freshness", "DURATION", "how long an absent name is taken to stay absent", otherwise: "5s", isLive: true
  ) {
    (settings, text) throws(OptionProblem) in settings.rules.negative = try duration(text)
  },
  MountOption(
    "stale-if-error", "DURATION",
    "how old a copy may be that is used while the server can't be asked", otherwise: "forever", isLive: true
  ) { (settings, text) throws(OptionProblem) in
    settings.rules.staleIfError = text == "forever" ? nil : try duration(text)
  },
  MountOption(
    "stale-while-revalidate", "DURATION",
    "how long past its lifetime a copy may be used while it is being validated", otherwise: "0s", isLive: true
  ) { (settings, text) throws(OptionProblem) in settings.rules.staleWhileRevalidate = try duration(text) },
  MountOption(
    "events", "QUEUE",
    "a queue of SQS that S3 tells its events: what changes is asked for at its next use, whatever its lifetime; sqs://REGION/ACCOUNT/NAME or the queue's URL, one for each mount"
  ) { (settings, text) throws(OptionProblem) in
    do throws(EndpointError) { settings.events = try QueueAddress(parsing: text) } catch {
      throw OptionProblem(error.description)
    }
  },
  MountOption("offline", nil, "send no request at all: only what is cached") { settings, _ in settings.offline = true },
]

private let cost: [MountOption] = [
  MountOption(
    "price", "NAME=USD",
    "what requests or bytes cost: get=0.0004/1000, list=0.005/1000, egress=0.09/GB, or none; may be repeated",
    otherwise: "those of us-east-1, without egress", joins: .adds
  ) { (settings, text) throws(OptionProblem) in
    do throws(PriceError) { try settings.prices.set(text) } catch { throw OptionProblem(error.message) }
  },
  MountOption(
    "budget", "AMOUNT/PERIOD",
    "the most to be spent in any minute, hour, day or month: 5USD/month, 2000req/hour; may be repeated, all hold",
    joins: .budgets, isLive: true
  ) { (settings, text) throws(OptionProblem) in
    do throws(BudgetError) { settings.budgets.append(try BudgetLimit(parsing: text)) } catch {
      throw OptionProblem(error.message)
    }
  },
  MountOption(
    "quiet-for", "NAME[,NAME...]",
    "programs for which no request is sent, such as updatedb: they see what is known already; may be repeated",
    joins: .adds
  ) { (settings, text) throws(OptionProblem) in
    let names = text.split(separator: ",").map(String.init)
    guard !names.isEmpty else { throw OptionProblem("it is a list of names of programs: updatedb,tracker-miner-f") }
    if let path = names.first(where: { $0.contains("/") }) {
      throw OptionProblem("'\(path)' is a path; a program is known by its name alone")
    }
    settings.quietFor += names
  },
]

private let appearance: [MountOption] = [
  MountOption("allow-other", nil, "let other users in (needs root, or user_allow_other in /etc/fuse.conf)") {
    settings, _ in settings.allowOther = true
  },
  MountOption("uid", "NUMBER", "the owner of all files", otherwise: "who mounts") {
    (settings, text) throws(OptionProblem) in
    settings.user = UInt32(try number(text, in: 0...Int(UInt32.max - 1)))
    settings.fixed.insert(.owner)
  },
  MountOption("gid", "NUMBER", "the group of all files", otherwise: "that of who mounts") {
    (settings, text) throws(OptionProblem) in
    settings.group = UInt32(try number(text, in: 0...Int(UInt32.max - 1)))
    settings.fixed.insert(.group)
  },
  MountOption("file-mode", "OCTAL", "the permissions of files", otherwise: "0444") {
    (settings, text) throws(OptionProblem) in
    settings.fileMode = try mode(text)
    settings.fixed.insert(.permissions)
  },
  MountOption("dir-mode", "OCTAL", "the permissions of directories", otherwise: "0555") {
    (settings, text) throws(OptionProblem) in
    let asked = try mode(text)
    settings.directoryMode = asked | (asked & 0o444) >> 2
    if settings.directoryMode != asked {
      settings.warnings.append(
        "--dir-mode \(text): a directory that can't be searched is of no use; taken as 0\(String(settings.directoryMode, radix: 8))"
      )
    }
  },
]

private let metadata: [MountOption] = [
  MountOption(
    "posix-metadata", nil,
    "ask each object, when it is first looked at, what s3fs, rclone, gcsfuse, DataSync and others keep in its metadata: owner, mode, time, symbolic links",
    otherwise: "it is heeded once an answer brings it anyway"
  ) { settings, _ in settings.posixUse = .asked },
  MountOption("no-posix-metadata", nil, "heed nothing of that") { settings, _ in settings.posixUse = .ignored },
]

private let process: [MountOption] = [
  MountOption("foreground", nil, "stay in the foreground, log to standard error (also -f)") { settings, _ in
    settings.foreground = true
  },
  MountOption("log-level", "LEVEL", "error, warning, notice, info or debug", otherwise: "notice", isLive: true) {
    (settings, text) throws(OptionProblem) in
    guard let level = Log.Level(name: text) else {
      throw OptionProblem("it is one of \(Log.Level.names)")
    }
    settings.logLevel = level
  },
  MountOption("log-file", "FILE", "where to log", otherwise: "in the background log/ in the cache directory") {
    $0.logFile = $1
  },
  // Read before all others: see MountRequest.
  MountOption(
    "config", "FILE", "the configuration file to read",
    otherwise: "/etc/s3mirror.conf, then ~/.config/s3mirror/s3mirror.conf"
  ) { _, _ in },
  MountOption(
    "metrics", "[ADDRESS:]PORT", "serve OpenMetrics at this TCP port, on loopback unless an address is given"
  ) { (settings, text) throws(OptionProblem) in
    guard let address = MetricsAddress(parsing: text) else {
      throw OptionProblem("it is a port, or a numeric address and a port: 9464, 0.0.0.0:9464, [::1]:9464")
    }
    settings.metrics = address
  },
]

private func size(_ text: String, in range: ClosedRange<Int64>) throws(OptionProblem) -> Int64 {
  guard let size = ByteCount(parsing: text) else { throw OptionProblem("a size is a number and a unit: 64MiB, 10GB") }
  guard range.contains(size.bytes) else {
    throw OptionProblem("it must lie between \(ByteCount(range.lowerBound)) and \(ByteCount(range.upperBound))")
  }
  return size.bytes
}

/// An absolute path: a daemon has another working directory.
private func readable(_ path: String) throws(OptionProblem) -> String {
  let path = absolutePath(path)
  do throws(Errno) { _ = try FileSystem.read(path) } catch { throw OptionProblem("it can't be read: \(error)") }
  return path
}

private func duration(_ text: String) throws(OptionProblem) -> Duration {
  guard let duration = parseDuration(text) else {
    throw OptionProblem("a duration is a number and a unit: 500ms, 60s, 15m, 1h, 7d")
  }
  return duration
}

private func number(_ text: String, in range: ClosedRange<Int>) throws(OptionProblem) -> Int {
  guard let number = Int(text), range.contains(number) else {
    throw OptionProblem("it is a number from \(range.lowerBound) to \(range.upperBound)")
  }
  return number
}

private func mode(_ text: String) throws(OptionProblem) -> UInt32 {
  guard let mode = UInt32(text, radix: 8), mode <= 0o777 else {
    throw OptionProblem("a mode has three octal digits: 0440")
  }
  return mode
}

private func pastTime(_ text: String) throws(OptionProblem) -> WallTime {
  let now = SystemClock().wall()
  guard let time = WallTime(parsing: text, now: now) else {
    throw OptionProblem("a time is a day, a moment or how long ago: 2026-11-30, 2026-11-30T08:00:00Z, '3d ago'")
  }
  guard time <= now else { throw OptionProblem("that is yet to come") }
  return time
}
