// Answers what the commands ask of a running mount.
import MirrorCache
import MirrorCore
import MirrorFUSE
public import MirrorPlatform
public import MirrorStore

struct ControlDesk: Sendable {
  private let settings: MountSettings
  private let place: MountPlace
  private let assembly: Assembly
  private let since: WallTime
  private let log: Log
  private let logFile: String?
  /// Where metrics are served, as a URL.
  private let metricsURL: String?
  /// Ends the mount, for the reason given.
  private let end: @Sendable (String) -> Void

  init(
    _ settings: MountSettings, _ place: MountPlace, _ assembly: Assembly, _ log: Log, metrics: String?,
    end: @escaping @Sendable (String) -> Void
  ) {
    self.log = log
    logFile = MountLog.path(settings, place)
    metricsURL = metrics
    self.settings = settings
    self.place = place
    self.assembly = assembly
    self.end = end
    since = SystemClock().wall()
  }

  func answer(_ request: ControlRequest, tell: @escaping ControlServer.Listener) async -> ControlAnswer {
    switch request.verb {
    case .status: return .text(await report().text)
    case .statusJSON: return .text(await report().json.text)
    case .metrics: return .text(await metrics())
    case .logLevel: return logLevel(String(decoding: request.argument, as: UTF8.self))
    case .cost: return await cost(CostQuestion(encoded: request.argument))
    case .hidden: return .text(hidden())
    case .refresh: return await refresh(request.argument)
    case .explain: return await explain(request.argument) { $0.text }
    case .explainJSON: return await explain(request.argument) { $0.json.text + "\n" }
    case .warm:
      return await WarmDesk(assembly.mirror, place.mountPoint).answer(WarmQuestion(encoded: request.argument), tell)
    case .evict: return .text(CareAnswer(await assembly.mirror.evict(under: ObjectKey(request.argument))).text)
    case .collect:
      let limits = CareAnswer.limits(request.argument)
      return .text(CareAnswer(await assembly.mirror.collectGarbage(limits)).text)
    case .recheck:
      let keys = request.argument.split(separator: 0).map { ObjectKey(Array($0)) }
      return .text("\(await assembly.mirror.recheck(keys))")
    case .pin: return await pins.pin(PinQuestion(encoded: request.argument), tell)
    case .unpin: return await pins.unpin(PinQuestion(encoded: request.argument))
    case .unmount: return unmount(lazy: false)
    case .detach: return unmount(lazy: true)
    case .attend: return .text("")
    case .stop:
      end("asked to stop")
      return .text("")
    }
  }

  func metrics() async -> String { MetricsReport(status: await report(), process: .current).text }

  private func logLevel(_ name: String) -> ControlAnswer {
    let before = log.level
    if name.isEmpty { return .text("\(before.name)\n") }
    guard let level = Log.Level(name: name) else {
      return .failure(CommandFailure(.usage, "there is no log level '\(name)': it is one of \(Log.Level.names)"))
    }
    log.level = level
    log.notice("\(place.mountPoint): the log level is \(level.name), and was \(before.name)")
    return .text("\(level.name), and was \(before.name)\n")
  }

  private var pins: PinDesk {
    PinDesk(mirror: assembly.mirror, keeper: assembly.keeper, mountPoint: place.mountPoint)
  }

  private func unmount(lazy: Bool) -> ControlAnswer {
    do throws(MountError) { try assembly.session.unmount(lazy: lazy) } catch {
      return .failure(CommandFailure(error))
    }
    if lazy { SilenceWatch(assembly).start { [end] in end("detached, and the server is silent") } }
    return .text("")
  }

  private func refresh(_ path: [UInt8]) async -> ControlAnswer {
    guard let count = await assembly.mirror.refresh(path) else { return unknown(path) }
    return .text("\(count)")
  }

  private func explain(_ path: [UInt8], _ render: (ExplanationReport) -> String) async -> ControlAnswer {
    guard let explanation = await assembly.mirror.explain(path) else { return unknown(path) }
    return .text(render(ExplanationReport(explanation, refusal: refusal(of: explanation), view: settings.view)))
  }

  /// What the budget has against the request that is explained, and what a program sees then.
  private func refusal(of explanation: Explanation) -> String? {
    guard let purse = assembly.purse, let next = explanation.next else { return nil }
    let isStale = explanation.verdict == .stale
    let used = explanation.age.map { SystemClock().now() + (.zero - $0) } ?? .distantPast
    let purpose: RequestPurpose = isStale ? .validation(used: used, lifetime: explanation.lifetime) : .content
    let refusal = purse.refusal(purpose, next.kind, of: explanation.key)
    return refusal.map { "\(isStale ? "the stale copy is served" : "EIO"): \($0)" }
  }

  private func unknown(_ path: [UInt8]) -> ControlAnswer {
    let name = place.mountPoint + "/" + ObjectKey(path).description
    return .failure(CommandFailure(.failure, "'\(name)': nothing is known of such a file or directory"))
  }

  /// One key a line: what it is called, and why it can't be a file.
  private func hidden() -> String {
    assembly.mirror.hiddenKeys().map { JSON.object([keyMember($0.key), ("reason", .string($0.reason))]).text + "\n" }
      .joined()
  }

  private func cost(_ question: CostQuestion) async -> ControlAnswer {
    do throws(CommandFailure) {
      let report = await costReport(try question.prices(over: assembly.ledger.prices))
      return .text(question.json ? report.json.text : report.text(question))
    } catch { return .failure(error) }
  }

  private func costReport(_ prices: Prices) async -> CostReport {
    let now = SystemClock().wall()
    let measured = assembly.ledger.measured()
    return CostReport(
      source: settings.source.url, endpoint: assembly.endpoint, directory: assembly.cache.directory, prices: prices,
      now: now, entries: await assembly.requests(days: CostReport.period(at: now)),
      running: CostReport.Running(
        mountPoint: place.mountPoint, since: since, sinceMount: measured.all, recent: measured.recent,
        unasked: assembly.mirror.status().unasked))
  }

  private func report() async -> StatusReport {
    var report = StatusReport(assembly.mirror.status(), settings, place, assembly)
    report.since = since
    report.dataPath = assembly.session.dataPath
    report.budgets = assembly.purse?.status() ?? []
    report.events = assembly.events?.status
    report.traffic = assembly.traffic.report
    (report.now, report.wall) = (SystemClock().now(), SystemClock().wall())
    (report.logLevel, report.logFile, report.metrics) = (log.level, logFile, metricsURL)
    report.costThisMonth = await assembly.costThisMonth()
    return report
  }
}

/// `"key"`, or `"keyBase64"` for a key that is not UTF-8.
public func keyMember(_ key: ObjectKey) -> (String, JSON) {
  if let text = key.text { return ("key", .string(text)) }
  return ("keyBase64", .string(base64(key.bytes)))
}
