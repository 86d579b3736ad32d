// A mount's settings in the words of each layer.
import MirrorCache
import MirrorCore
import MirrorFUSE
import MirrorPlatform
import MirrorStore

extension MountSettings {
  var mirrorConfiguration: MirrorConfiguration {
    var configuration = MirrorConfiguration(
      prefix: source.prefix, rules: at == nil ? rules : .unending, offline: offline, partSize: partSize,
      isPast: at != nil)
    configuration.posixUse = posixUse
    return configuration
  }

  /// The time that is shown, in words; nil: the present.
  var view: String? { at.map { rfc3339($0) } }

  var mountOptions: MountOptions {
    var options = MountOptions(source: source.written)
    options.allowOther = allowOther
    options.quietFor = quietFor
    options.uid = user
    options.gid = group
    options.fileMode = fileMode
    options.directoryMode = directoryMode
    options.fixed = fixed
    return options
  }

  /// Without a size asked for: 10 GiB, and in any case 5 % of the disk stay free.
  func cacheConfiguration(_ place: MountPlace, endpoint: String) -> CacheConfiguration {
    let total = Self.diskSize(place.cacheRoot)
    let twentieth = total / 20
    return CacheConfiguration(
      root: place.cacheRoot, endpoint: endpoint, bucket: source.bucket, prefix: source.prefix, view: view,
      limit: cacheSize ?? (total > 0 ? min(10 << 30, total - twentieth) : 10 << 30),
      minimumFree: minimumFree ?? (cacheSize == nil ? twentieth : 0))
  }

  /// Of the file system that holds a directory, or will hold it.
  private static func diskSize(_ path: String) -> Int64 {
    if let space = try? FileSystem.space(path) { return space.total }
    return FileSystem.parent(of: path).map(diskSize) ?? (try? FileSystem.space("/").total) ?? 0
  }
}

extension StatusReport {
  init(_ status: MirrorStatus, _ settings: MountSettings, _ place: MountPlace, _ assembly: Assembly) {
    self.init(
      mountPoint: place.mountPoint, source: settings.source.written, endpoint: assembly.endpoint,
      process: ThisProcess.identifier, since: WallTime(seconds: 0), online: status.online,
      offlineSince: status.offlineSince, cacheDirectory: place.cacheRoot, cacheBytes: status.cache.diskBytes,
      cacheLimit: status.cache.limit, cachedObjects: status.cache.objects, pinned: status.cache.retained,
      requests: status.requests, costSinceMount: status.cost, costThisMonth: 0, fetched: status.served.fetched,
      revalidated: status.served.revalidated, stale: status.served.stale, negative: status.served.negative,
      hiddenKeys: status.hiddenKeys)
    view = settings.view
    fresh = status.served.fresh
  }
}

extension MirrorStatus {
  /// Look-ups that were answered without a request, those at least: of the answers that a name is absent no more than
  /// one came with each request that can have said so.
  var unasked: Int {
    let noes = requests.requests { $0.outcome == .absent || $0.kind == .list }
    return served.fresh + served.stale + max(0, served.negative - noes)
  }
}
