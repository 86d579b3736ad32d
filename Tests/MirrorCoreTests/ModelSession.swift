// A process that does nothing but run programs: so many, or without end; it tells what failed as a short program.
import Glibc
import TestSupport

enum ModelSession {
  /// Programs with the seeds from `first` on, until so many operations were judged; then the process ends. What is to
  /// be told of it goes to the standard output, in the end `ok` or the program that failed.
  static func run(from first: UInt64, programs: Int?, operations: Int?) -> Never {
    useMemory()
    ModelThread.run {
      var (seed, count, told) = (first, 0, [[Substring]]())
      while programs.map({ seed - first < UInt64($0) }) ?? true, operations.map({ count < $0 }) ?? true {
        let program = ModelGenerator.program(seed)
        let (failure, judged) = ModelRun.run(program)
        count += judged
        // A long run goes on to what else there is.
        if let failure, !told.contains(kind(of: failure)) {
          told.append(kind(of: failure))
          tell(program, "seed \(seed): \(failure)")
          if programs != nil || told.count > 8 { return }
        }
        seed += 1
        if operations != nil || programs == nil, (seed - first) % 100 == 0 {
          note("\(seed - first) programs from seed \(first), \(count) operations, none wrong\n")
        }
      }
      if told.isEmpty { finish("ok: \(seed - first) programs from seed \(first), \(count) operations\n") }
    }
    exit(0)
  }

  /// Programs that failed once.
  static func run(_ texts: [String]) -> Never {
    useMemory()
    ModelThread.run {
      for text in texts {
        guard let program = ModelProgram(text) else { return finish("no program:\n\(text)\n") }
        if let failure = ModelRun.run(program).failure { return finish("\(failure)\n\(text)\n") }
      }
      finish("ok: \(texts.count) programs\n")
    }
    exit(0)
  }

  private static func tell(_ program: ModelProgram, _ failure: String) {
    note("\(failure)\n")
    let short = program.shrunk { ModelRun.run($0).failure.map { kind(of: $0) == kind(of: failure) } ?? false }
    let again = ModelRun.run(short).failure ?? "not again"
    finish("\(failure)\nshrunk to \(short.steps.count) steps: \(again)\n\(short.text)\n")
  }

  /// Caches are made and closed by the thousand: not on a disk, where there is another place.
  private static func useMemory() { if access("/dev/shm", W_OK) == 0 { setenv("TMPDIR", "/dev/shm", 1) } }

  /// What a failure has in common with others of its kind: the operation, and the last words.
  private static func kind(of failure: String) -> [Substring] {
    let words = failure.split(separator: " ").drop {
      $0.contains(":") || $0 == "seed" || $0 == "step" || Int($0) != nil
    }
    return words.prefix(1) + words.suffix(3).filter { word in !word.contains { $0.isNumber } }
  }

  /// Where somebody waits for more than the result.
  private static func note(_ text: String) {
    guard let path = getenv("S3MIRROR_TEST_MODEL_LOG"), let file = fopen(path, "a") else { return }
    fputs(text, file)
    fclose(file)
  }

  private static func finish(_ text: String) {
    note(text)
    print(text, terminator: "")
    fflush(nil)
  }
}
