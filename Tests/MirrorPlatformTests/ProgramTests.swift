// Programs that are run for what they write.
import MirrorPlatform
import Testing

@Suite("Programs", .timeLimit(.minutes(1)))
struct ProgramTests {
  private func run(_ script: String, limit: Duration = .seconds(20)) async throws -> (status: Int32, text: String) {
    let result = try await runProgram(["sh", "-c", script], limit: limit)
    return (result.status, String(decoding: result.output, as: UTF8.self))
  }

  @Test func `output and exit code come back, and nothing goes in or to standard error`() async throws {
    let result = try await run("echo out; echo err >&2; cat; exit 7")
    #expect(result.status == 7 && result.text == "out\n")
  }

  @Test func `a signal is 128 and its number`() async throws { #expect(try await run("kill -TERM $$").status == 143) }

  @Test func `arguments reach the program as they are`() async throws {
    let result = try await runProgram(["printf", "%s|", "a b", "$HOME", ""], limit: .seconds(20))
    #expect(String(decoding: result.output, as: UTF8.self) == "a b|$HOME||")
  }

  @Test func `a program that is not there is an error`() async {
    await #expect(throws: Errno.noEntry) { try await runProgram(["/nonexistent/program"], limit: .seconds(20)) }
  }

  @Test(arguments: ["sleep 60", "exec >&-; sleep 60", "sleep 60 & wait"])
  func `a program that does not end is killed, with what it began`(script: String) async {
    let start = SystemClock().now()
    await #expect(throws: Errno.timedOut) { try await run(script, limit: .milliseconds(300)) }
    #expect(SystemClock().now() - start < .seconds(5))
  }

  @Test func `output without end is an error`() async {
    await #expect(throws: Errno.self) { try await run("yes") }
  }
}
