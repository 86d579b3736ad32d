// Everything that one mount was asked for, with the defaults of what was not.
public import MirrorAWS
public import MirrorCore
public import MirrorFUSE
public import MirrorPlatform
public import MirrorStore

public struct MountSettings: Sendable {
  public var source: Source
  /// As it was written.
  public var mountPoint: String

  // Where the bucket is, and who asks.
  public var endpointURL: String?
  public var region: String?
  public var profile: String?
  public var anonymous = false
  public var pathStyle = false
  public var requesterPays = false
  public var expectedOwner: String?
  public var caBundle: String?
  public var clientCertificate: String?
  public var clientKey: String?
  public var customerKeys: [CustomerKey] = []
  /// Shows the bucket as it was then; nil: as it is.
  public var at: WallTime?
  public var partSize: Int64 = 8 << 20
  public var maximumConnections: Int?

  // The cache. Without a size: 10 GiB, or what leaves 5 % of the disk free.
  public var cacheDirectory: String?
  public var cacheSize: Int64?
  public var minimumFree: Int64?
  /// A directory that `seed create` made.
  public var seed: String?

  /// Whether the kernel is to read whole files by itself.
  public var passthrough = false

  // Freshness.
  public var rules = FreshnessRules()
  public var offline = false
  /// A queue that tells of changes.
  public var events: QueueAddress?

  // What requests cost.
  public var prices = Prices()
  /// All of them hold.
  public var budgets: [BudgetLimit] = []
  /// Programs for which no request is sent.
  public var quietFor: [String] = []

  // What the mount looks like.
  public var allowOther = false
  public var user = ThisProcess.user
  public var group = ThisProcess.group
  public var fileMode: UInt32 = 0o444
  public var directoryMode: UInt32 = 0o555
  /// What was asked for, for all files.
  public var fixed: FixedAttributes = []
  public var posixUse = PosixUse.free

  // The process.
  public var foreground = false
  public var logLevel = Log.Level.notice
  public var logFile: String?
  /// Where metrics are served; nil: nowhere but by the control socket.
  public var metrics: MetricsAddress?

  /// What was understood, but not as it was written.
  public var warnings: [String] = []

  /// What they were made of; see `Reload`.
  var request = MountRequest()
  /// The options that count, as they were given.
  var given: [GivenOption] = []

  init(source: Source, mountPoint: String) {
    self.source = source
    self.mountPoint = mountPoint
  }

  /// `--cache-dir`, or the place that the system has for caches.
  public var cacheRoot: String { cacheDirectory.map(absolutePath) ?? builtInCacheDirectory() }
}

/// That of mounts where nothing else is said: what the configuration has for all of them, else what is built in.
public func defaultCacheDirectory() -> String {
  let configuration = (try? Configuration(file: nil)) ?? Configuration()
  let given = configuration.general.effective().first { $0.option.name == "cache-dir" }
  return given?.value ?? builtInCacheDirectory()
}

/// Root: `/var/cache/s3mirror`; others: `$XDG_CACHE_HOME/s3mirror`, by default `~/.cache/s3mirror`.
func builtInCacheDirectory() -> String {
  if ThisProcess.user == 0 { return "/var/cache/s3mirror" }
  if let caches = ThisProcess.environment("XDG_CACHE_HOME"), caches.hasPrefix("/") { return caches + "/s3mirror" }
  return (ThisProcess.home ?? "/tmp/s3mirror-\(ThisProcess.user)") + "/.cache/s3mirror"
}

/// A path from the root, without `.`, `..`, doubled or trailing slashes; links are not followed.
public func absolutePath(_ path: String) -> String {
  String(decoding: absolutePath(Array(path.utf8)), as: UTF8.self)
}

func absolutePath(_ path: [UInt8]) -> [UInt8] {
  let whole = path.first == 0x2F ? path : ThisProcess.currentDirectory + [0x2F] + path
  var parts: [ArraySlice<UInt8>] = []
  for part in whole.split(separator: 0x2F) {
    switch Array(part) {
    case [0x2E]: break
    case [0x2E, 0x2E]: _ = parts.popLast()
    default: parts.append(part)
    }
  }
  return [0x2F] + parts.joined(separator: [0x2F])
}
