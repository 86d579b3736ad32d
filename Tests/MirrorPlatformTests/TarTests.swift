import MirrorPlatform
import Testing

@Suite(.timeLimit(.minutes(1)))
struct TarTests {
  @Test func `tar reads what was written`() async throws {
    var archive = TarArchive()
    archive.add("d/empty", [], modified: 0)
    archive.add("d/text", Array("hello\n".utf8), modified: 1_700_000_000)
    archive.add("d/block", [UInt8](repeating: 0x61, count: 512), modified: 1)
    let scratch = try Scratch()
    let path = scratch.path + "/x.tar"
    try FileSystem.write(archive.data, to: path, mode: 0o600)
    #expect(archive.data.count % 512 == 0)
    let list = try await runProgram(["tar", "--utc", "-tvf", path], limit: .seconds(20))
    #expect(list.status == 0)
    let lines = String(decoding: list.output, as: UTF8.self).split(separator: "\n")
    #expect(lines.map { $0.split(separator: " ").last.map(String.init) } == ["d/empty", "d/text", "d/block"])
    #expect(lines.count == 3 && lines[1].contains(" 6 2023-11-14 22:13"))
    let text = try await runProgram(["tar", "-xOf", path, "d/text"], limit: .seconds(20))
    #expect(text.output == Array("hello\n".utf8))
  }
}
