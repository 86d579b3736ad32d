// `cache verify`, with its progress, and the repair of what it finds.
import MirrorCache
import MirrorDaemon
import MirrorPlatform
import MirrorStore

enum CacheCheck {
  static func verify(_ query: CacheQuery) throws(CommandFailure) -> ExitCode {
    var code = ExitCode.done
    let repairs = query.words.flags.contains("repair")
    for source in try query.reading({ () throws(CacheError) in try query.sources() }) {
      let mount = repairs ? try source.mount() : nil
      var result = try query.reading { () throws(CacheError) in
        try check(source, query, repairs: repairs && mount == nil)
      }
      var isMended = repairs
      if let mount, !result.damaged.isEmpty {
        try mend(&result, mount)
        // What it could not mend, e.g. since it is in use, is still there.
        isMended = try query.reading { () throws(CacheError) in
          try check(source, query, repairs: false).damaged.isEmpty
        }
      }
      if !result.damaged.isEmpty, !isMended { code = .damaged }
      tell(result, source, query)
    }
    return code
  }

  private static func check(
    _ source: CachedSource, _ query: CacheQuery, repairs: Bool
  ) throws(CacheError) -> CacheVerification {
    var bar = ProgressBar(isTerminal: ThisProcess.isTerminal(errors: true), isQuietElsewhere: true) {
      emit($0, toErrors: true)
    }
    defer { bar.end() }
    return try query.inspector.verify(source, under: query.prefix, repair: repairs) { done in
      bar.show(ControlStep(done), at: SystemClock().now())
      return true
    }
  }

  /// The mount that uses the cache mends it itself; it also lets go of what it had in memory.
  private static func mend(_ result: inout CacheVerification, _ mount: RunningMount) throws(CommandFailure) {
    let keys = Set(result.damaged.map(\.key)).sorted().map(\.bytes)
    let answer = try mount.ask(ControlRequest(.recheck, Array(keys.joined(separator: [0]))))
    result.droppedBlocks = Int(answer) ?? 0
  }

  private static func tell(_ result: CacheVerification, _ source: CachedSource, _ query: CacheQuery) {
    let damage = result.damaged.map(\.description)
    var verdict = damage.isEmpty ? "no damage" : "\(damage.count) damaged"
    if result.dropped + result.droppedBlocks > 0 {
      let copies = result.dropped > 0 ? "\(result.dropped) copies" : nil
      let blocks = result.droppedBlocks > 0 ? "\(result.droppedBlocks) blocks" : nil
      verdict += ", dropped: " + [copies, blocks].compactMap { $0 }.joined(separator: ", ")
    }
    query.say(
      .object([
        ("directory", .string(source.directory)), ("objects", .int(Int64(result.objects))),
        ("bytes", .int(result.bytes)), ("damaged", .array(damage.map { .string($0) })),
        ("droppedCopies", .int(Int64(result.dropped))), ("droppedBlocks", .int(Int64(result.droppedBlocks))),
      ]),
      "\(source.name): \(result.objects) objects, \(ByteCount(result.bytes)) checked, \(verdict)"
        + damage.map { "\n  \(quoted($0))" }.joined())
  }
}

extension ControlStep {
  fileprivate init(_ verification: CacheVerification) {
    self.init(
      objects: max(verification.totalObjects, verification.objects),
      bytes: max(verification.totalBytes, verification.bytes))
    (doneObjects, doneBytes) = (verification.objects, verification.bytes)
  }
}
