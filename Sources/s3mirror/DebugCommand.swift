// `debug bundle`: one file to send to whoever is to help.
import MirrorDaemon
import MirrorPlatform

enum DebugCommand {
  static let details =
    "bundle  writes FILE (default: s3mirror-debug-TIME.tar; '-' is standard output), a tar\n"
    + "archive of the release, the system, the state, arguments and recent log of each\n"
    + "mount. Secrets are left out; names of buckets and objects are not."

  static let run: @Sendable ([[UInt8]]) throws(CommandFailure) -> ExitCode = { (arguments) throws(CommandFailure) in
    let words = try Words(arguments, of: "debug")
    guard words.positionals.first == Array("bundle".utf8) else {
      throw CommandFailure(.usage, "say what to debug: bundle; usage: s3mirror debug bundle [FILE]")
    }
    guard words.positionals.count <= 2 else {
      throw CommandFailure(.usage, "too many arguments; see 's3mirror help debug'")
    }
    let now = SystemClock().wall()
    var bundle = DebugBundle(redaction: .ofThisMachine(), now: now)
    bundle.collect()
    let named = words.positionals.count == 2 ? String(decoding: words.positionals[1], as: UTF8.self) : nil
    if named == "-" {
      emit(bundle.data)
      return .done
    }
    let path = absolutePath(named ?? "s3mirror-debug-\(Timestamp(seconds: now.seconds).basic).tar")
    do throws(Errno) {
      try FileSystem.write(bundle.data, to: path, mode: 0o600)
    } catch { throw CommandFailure(.failure, "'\(path)': \(error); name a FILE that can be written") }
    emit("\(quoted(path)): \(ByteCount(Int64(bundle.data.count)))\n")
    return .done
  }
}
