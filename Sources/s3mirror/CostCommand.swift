// `cost`: mounts tell what they know, caches without a mount are read.
import MirrorCache
import MirrorDaemon
import MirrorPlatform
import MirrorStore

enum CostCommand {
  static let details =
    "Tells of one mount, or of the sources in a cache directory, or of all mounts and the\n"
    + "default cache directory. Nothing is asked of the server."

  static let options = [
    ("--by day|prefix", "only this chart"),
    ("--project", "what 30 days cost at the rate since mount"),
    ("--price NAME=USD", "another price than that of the mount; as for mount, may be repeated"),
    ("--cache-dir DIR", "the sources in this cache directory"),
    ("--json", "for scripts: one object for all sources"),
  ]

  static let run: @Sendable ([[UInt8]]) throws(CommandFailure) -> ExitCode = { (arguments) throws(CommandFailure) in
    let words = try Words(
      arguments, of: "cost", flags: ["json", "project"], values: ["by", "price", "cache-dir"])
    let question = try question(words)
    _ = try question.prices(over: Prices())
    var answers = CostAnswers(question: question)
    let cache = words.values["cache-dir"].map(absolutePath)
    if words.positionals.isEmpty {
      answers.askAll(cache)
    } else {
      guard cache == nil else {
        throw CommandFailure(.usage, "MOUNTPOINT and '--cache-dir' exclude each other; see 's3mirror help cost'")
      }
      let path = String(decoding: try words.one("MOUNTPOINT", of: "cost"), as: UTF8.self)
      answers.parts.append(try RunningMounts.at(path).ask(answers.request))
    }
    answers.tell()
    return answers.parts.isEmpty && !answers.problems.isEmpty ? .failure : .done
  }

  private static func question(_ words: Words) throws(CommandFailure) -> CostQuestion {
    var order: CostQuestion.Order?
    if let text = words.values["by"] {
      order = CostQuestion.Order(rawValue: text)
      if order == nil { throw CommandFailure(.usage, "option '--by \(text)': it is day or prefix") }
    }
    return CostQuestion(
      order: order, json: words.flags.contains("json"), project: words.flags.contains("project"),
      prices: words.lists["price"] ?? [])
  }
}

/// What the sources say.
private struct CostAnswers {
  let question: CostQuestion
  var parts: [String] = []
  var problems: [String] = []

  init(question: CostQuestion) { self.question = question }

  var request: ControlRequest { ControlRequest(.cost, question.encoded) }

  /// Without a cache directory: all mounts, and the default directory's other sources.
  mutating func askAll(_ cache: String?) {
    let mounts = RunningMounts.all()
    if cache == nil { problems = mounts.filter { $0.socket == nil }.map { "'\($0.mountPoint)' can't be asked" } }
    let sockets = mounts.compactMap(\.socket) + RunningMounts.detachedSockets()
    let daemons = sockets.map { (socket: $0, process: ControlClient.process(at: $0)) }
    if cache == nil { for daemon in daemons { ask(daemon.socket) } }
    do throws(CacheError) {
      for source in try CacheInspector(root: cache ?? defaultCacheDirectory()).sources() {
        let owner = daemons.first { source.owner != nil && $0.process == source.owner }
        if owner == nil { read(source, in: cache ?? defaultCacheDirectory()) }
        if let owner, cache != nil { ask(owner.socket) }
      }
    } catch { problems.append(CommandFailure(error).message) }
  }

  private mutating func ask(_ socket: String) {
    do throws(Errno) {
      switch try ControlClient.ask(request, at: socket) {
      case .text(let text): parts.append(text)
      case .failure(let failure): problems.append(failure.message)
      }
    } catch { problems.append("a running mount can't be asked: \(error)") }
  }

  private mutating func read(_ source: CachedSource, in root: String) {
    let inspector = CacheInspector(root: root)
    let now = SystemClock().wall()
    do throws(CacheError) {
      let usual = try inspector.prices(of: source)
      let entries = try inspector.ledger(of: source, days: CostReport.period(at: now))
      let prices = (try? question.prices(over: usual)) ?? usual
      let report = CostReport(
        source: "s3://\(source.identity.bucket)/\(source.identity.prefix)", endpoint: source.identity.endpoint,
        directory: source.directory, prices: prices, now: now, entries: entries)
      parts.append(question.json ? report.json.text : report.text(question))
    } catch { problems.append(CommandFailure(error).message) }
  }

  func tell() {
    if question.json {
      emit("{\"version\":\(JSON.string(programVersion).text),\"sources\":[\(parts.joined(separator: ","))]}\n")
    } else {
      emit(parts.isEmpty && problems.isEmpty ? "nothing was ever asked\n" : parts.joined(separator: "\n"))
    }
    for problem in problems { emit("s3mirror: \(problem)\n", toErrors: true) }
  }
}
