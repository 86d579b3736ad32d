// Whatever happens to the bucket, the origin, time and the process: every answer is one that the reference allows.
import Glibc
import MirrorPlatform
import Testing

@Suite(.timeLimit(.minutes(5))) struct ModelTests {
  /// The same programs each time.
  @Test func `programs of random operations are answered as they may be`() async {
    let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
      ModelSession.run(from: 1, programs: 80, operations: nil)
    }
    expectAllRight(result)
  }

  @Test func `what was answered wrongly once is answered rightly`() async {
    let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
      ModelSession.run(ModelCases.all)
    }
    expectAllRight(result)
  }

  private func expectAllRight(_ result: ExitTest.Result?) {
    let told = String(decoding: result?.standardOutputContent ?? [], as: UTF8.self)
    #expect(told.hasPrefix("ok: "), "\(told)")
  }
}

/// The long form: S3MIRROR_TEST_MODEL says how many operations, or `forever`; S3MIRROR_TEST_MODEL_SEED where to begin.
/// Or the program in the file S3MIRROR_TEST_MODEL_PROGRAM alone.
@Suite(.enabled(if: getenv("S3MIRROR_TEST_MODEL") != nil)) struct LongModelTests {
  @Test func `programs of random operations are answered as they may be, for long`() async {
    let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
      func number(_ name: String) -> Int? { getenv(name).flatMap { Int(String(cString: $0)) } }
      if let path = getenv("S3MIRROR_TEST_MODEL_PROGRAM").map({ String(cString: $0) }) {
        ModelSession.run([(try? FileSystem.read(path)).map { String(decoding: $0, as: UTF8.self) } ?? ""])
      }
      let seed = number("S3MIRROR_TEST_MODEL_SEED") ?? Int(time(nil)) * 1000
      ModelSession.run(from: UInt64(seed), programs: nil, operations: number("S3MIRROR_TEST_MODEL"))
    }
    let told = String(decoding: result?.standardOutputContent ?? [], as: UTF8.self)
    #expect(told.hasPrefix("ok: "), "\(told)")
  }
}
