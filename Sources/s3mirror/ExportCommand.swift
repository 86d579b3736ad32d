// `cache export`: the cached tree as plain files.
import MirrorCache
import MirrorCore
import MirrorDaemon
import MirrorPlatform
import MirrorStore

enum ExportCommand {
  static func run(_ query: CacheQuery) throws(CommandFailure) -> ExitCode {
    guard let directory = query.directory, !directory.isEmpty else {
      throw CommandFailure(.usage, "usage: s3mirror cache export DIR [PREFIX]; see 's3mirror help cache'")
    }
    let sources = try query.reading { () throws(CacheError) in try query.sources() }
    guard let source = sources.first else {
      throw CommandFailure(.failure, "nothing like that was ever cached in '\(query.inspector.root)'")
    }
    guard sources.count == 1 else {
      throw CommandFailure(
        .usage, "which of \(sources.map(\.name).joined(separator: ", "))? Name s3://BUCKET/PREFIX")
    }
    let tree: DirectoryTree
    let path = absolutePath(directory)
    do throws(Errno) {
      try FileSystem.makeDirectories(path, mode: 0o755)
      tree = try DirectoryTree.open(path)
    } catch { throw CommandFailure(.failure, "'\(directory)': \(error); name a directory that can be written") }
    let export = try export(source, query, into: tree)
    tell(export, source, query)
    return .done
  }

  private static func export(
    _ source: CachedSource, _ query: CacheQuery, into tree: DirectoryTree
  ) throws(CommandFailure) -> CacheExport {
    var bar = ProgressBar(isTerminal: ThisProcess.isTerminal(errors: true), isQuietElsewhere: true) {
      emit($0, toErrors: true)
    }
    defer { bar.end() }
    return try query.reading { () throws(CacheError) in
      let total = try query.inspector.total(of: source, under: query.prefix)
      return try CacheExport(source, of: query.inspector, under: query.prefix, into: tree) { objects, bytes in
        var step = ControlStep(objects: max(total.objects, objects), bytes: max(total.cachedBytes, bytes))
        (step.doneObjects, step.doneBytes) = (objects, bytes)
        bar.show(step, at: SystemClock().now())
      }
    }
  }

  private static func tell(_ export: CacheExport, _ source: CachedSource, _ query: CacheQuery) {
    if query.json {
      for out in export.leftOut {
        emit(JSON.object([keyMember(out.key), ("leftOut", .string(out.reason))]).text + "\n")
      }
    }
    query.say(
      .object([
        ("directory", .string(source.directory)), ("files", .int(Int64(export.files))), ("bytes", .int(export.bytes)),
        ("leftOut", .int(Int64(export.leftOut.count))),
      ]),
      "\(export.files) files written, \(ByteCount(export.bytes))"
        + (export.leftOut.isEmpty ? "" : "; \(export.leftOut.count) left out:")
        + export.leftOut.map { "\n  \(quoted($0.key.description)): \($0.reason)" }.joined())
  }
}
