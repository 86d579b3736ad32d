// Takes over into a running mount what has changed in its configuration, as far as a running mount can.
import MirrorCache
import MirrorCore
import MirrorPlatform
import MirrorStore
import Synchronization

/// Re-reads the configuration of one mount. Safe to share.
final class Reload: Sendable {
  private let current: Mutex<MountSettings>
  private let place: MountPlace
  private let assembly: Assembly
  private let log: Log

  init(_ settings: MountSettings, _ place: MountPlace, _ assembly: Assembly, _ log: Log) {
    current = Mutex(settings)
    self.place = place
    self.assembly = assembly
    self.log = log
  }

  /// What can't be read changes nothing. Reads files: may block.
  func run() {
    let old = current.withLock { $0 }
    let new: MountSettings
    do throws(CommandFailure) { new = try old.request.settings() } catch {
      return log.error(
        "\(place.mountPoint): the configuration is as it was, for now it can't be used: \(error.message)")
    }
    let changed = MountOption.all.filter { old.texts(of: $0) != new.texts(of: $0) }
    var taken = changed.filter(\.isLive).map(\.name)
    var left = changed.filter { !$0.isLive }.map(\.name)
    if taken.contains("budget"), assembly.purse == nil {
      taken.removeAll { $0 == "budget" }
      left.append("budget")
    }
    if old.source != new.source { left.append("source") }
    if absolutePath(old.mountPoint) != absolutePath(new.mountPoint) { left.append("mountpoint") }
    apply(new, Set(taken))
    current.withLock { settings in
      settings.given =
        settings.given.filter { !taken.contains($0.option.name) }
        + new.given.filter { taken.contains($0.option.name) }
    }
    let news = taken.isEmpty ? "nothing to take over" : "taken over: \(taken.joined(separator: ", "))"
    log.notice("\(place.mountPoint): the configuration was read again; \(news)")
    if !left.isEmpty {
      log.warning("\(place.mountPoint): only a new mount takes over: \(left.joined(separator: ", "))")
    }
  }

  private func apply(_ new: MountSettings, _ names: Set<String>) {
    let rules: Set = ["freshness", "negative-freshness", "stale-if-error", "stale-while-revalidate"]
    if !rules.isDisjoint(with: names) { assembly.mirror.replaceRules(new.mirrorConfiguration.rules) }
    if names.contains("budget") { assembly.purse?.setLimits(new.budgets) }
    if names.contains("log-level") { log.level = new.logLevel }
    if names.contains("cache-size") || names.contains("min-free") {
      let cache = new.cacheConfiguration(place, endpoint: assembly.endpoint)
      assembly.cache.setLimits(cache.limit, minimumFree: cache.minimumFree)
    }
  }
}

extension MountSettings {
  /// What was given for an option, as it counts.
  fileprivate func texts(of option: MountOption) -> [String] {
    given.filter { $0.option.name == option.name }.map(\.value)
  }
}
