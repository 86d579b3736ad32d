// `warm`: names files, directories and patterns to the mounts that they lie in, and shows how far these have come.
import MirrorCore
import MirrorDaemon
import MirrorPlatform

enum WarmCommand {
  static let details =
    "PATH is a file, a directory with all below it, or a quoted pattern (* ? [a-z] within a\n"
    + "name, ** across names), which is held against the names in the bucket; '-' reads names\n"
    + "from standard input. What is cached whole is not fetched again, so the same command\n"
    + "goes on where an earlier one was stopped. Also called 'prefetch'."

  static let options = [
    ("--from FILE", "names to fetch, one a line or separated by NUL; they are no patterns; '-' is standard input"),
    ("--dry-run", "only say how many objects, bytes and requests it would be, and their price"),
  ]

  static let run: @Sendable ([[UInt8]]) throws(CommandFailure) -> ExitCode = { (arguments) throws(CommandFailure) in
    let words = try Words(arguments, of: "warm", flags: ["dry-run"], values: ["from"])
    var jobs = WarmJobs(isDry: words.flags.contains("dry-run"))
    for word in words.positionals {
      if word == Array("-".utf8) {
        for name in try names(in: "-") { jobs.add(name, isPattern: false) }
      } else {
        jobs.add(word, isPattern: WarmTarget.isPattern(word))
      }
    }
    for file in words.lists["from"] ?? [] { for name in try names(in: file) { jobs.add(name, isPattern: false) } }
    guard !words.positionals.isEmpty || words.lists["from"] != nil else {
      throw CommandFailure(.usage, "PATH is missing; usage: s3mirror warm PATH... [--from FILE] [--dry-run]")
    }
    jobs.run()
    return jobs.code
  }

  /// The names in a file: separated by NUL where there is one, else lines.
  private static func names(in file: String) throws(CommandFailure) -> [[UInt8]] {
    do throws(Errno) {
      let bytes = try file == "-" ? ThisProcess.readStandardInput() : FileSystem.read(file)
      return bytes.split(separator: bytes.contains(0) ? 0 : 0x0A).map { Array($0) }
    } catch { throw CommandFailure(.failure, "'\(file)': \(error)") }
  }
}

/// What is asked of each mount.
private struct WarmJobs {
  let isDry: Bool
  private var jobs: [(mount: RunningMount, targets: [WarmTarget])] = []
  private(set) var code = ExitCode.done

  init(isDry: Bool) { self.isDry = isDry }

  mutating func add(_ path: [UInt8], isPattern: Bool) {
    do throws(CommandFailure) {
      let (mount, inside) = try RunningMounts.containing(path)
      let target = WarmTarget(inside, isPattern: isPattern)
      if let index = jobs.firstIndex(where: { $0.mount.mountPoint == mount.mountPoint }) {
        jobs[index].targets.append(target)
      } else {
        jobs.append((mount, [target]))
      }
    } catch { note(error) }
  }

  mutating func run() {
    for (mount, targets) in jobs {
      do throws(CommandFailure) {
        let request = ControlRequest(.warm, WarmQuestion(targets, isDry: isDry).encoded)
        if try WarmAnswers.take(from: mount, request) != .done { code = .failure }
      } catch { note(error) }
    }
  }

  private mutating func note(_ failure: CommandFailure) {
    emit("s3mirror: \(failure.message)\n", toErrors: true)
    code = failure.code
  }
}

/// Asks a mount for what takes long: shows how far it has come, then what came of it.
enum WarmAnswers {
  static func take(from mount: RunningMount, _ request: ControlRequest) throws(CommandFailure) -> ExitCode {
    var bar = ProgressBar(isTerminal: ThisProcess.isTerminal(errors: true)) { emit($0, toErrors: true) }
    defer { bar.end() }
    let answer = try mount.ask(request) { bar.show($0, at: SystemClock().now()) }
    bar.end()
    let lines = answer.split(separator: "\n")
    emit("\(lines.first ?? "")\n")
    for problem in lines.dropFirst() { emit("s3mirror: \(problem)\n", toErrors: true) }
    return lines.count > 1 ? .failure : .done
  }
}
