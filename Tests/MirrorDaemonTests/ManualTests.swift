import MirrorDaemon
import MirrorPlatform
import TestSupport
import Testing

/// The manual is checked against the tables that the program reads.
@Suite(.timeLimit(.minutes(1)))
struct ManualTests {
  private let lines: [String]

  init() throws {
    let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    let text = String(decoding: try FileSystem.read("/\(root)/man/s3mirror.1"), as: UTF8.self)
    lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }

  private func section(_ heading: String) throws -> ArraySlice<String> {
    let start = try #require(lines.firstIndex(of: heading), "\(heading) is missing")
    let rest = lines[(start + 1)...]
    return rest.prefix { !$0.hasPrefix(".Ss ") && !$0.hasPrefix(".Sh ") }
  }

  @Test func `every option of mount is in the manual, and no other`() throws {
    let items = try section(".Ss mount").filter { $0.hasPrefix(".It Fl Fl ") }
    let documented = items.map { String($0.dropFirst(".It Fl Fl ".count).prefix { $0 != " " }) }
    #expect(documented.sorted() == MountOption.all.map(\.name).sorted())
    for option in MountOption.all {
      let item = try #require(
        items.first { $0 == ".It Fl Fl \(option.name)" || $0.hasPrefix(".It Fl Fl \(option.name) ") })
      #expect(item.contains("Ar ") == (option.placeholder != nil), "\(item)")
    }
  }

  @Test func `every command is in the manual, and no other`() async throws {
    let documented = lines.filter { $0.hasPrefix(".Ss ") }.map { String($0.dropFirst(4)) }
    let fixture = try MountFixture("bucket", endpoint: "http://127.0.0.1:9")
    let overview = try await fixture.command(["help"]).output
    let commands = overview.split(separator: "\n").filter { $0.hasPrefix("  ") }.compactMap {
      $0.split(separator: " ").first.map(String.init)
    }
    #expect(documented.sorted() == commands.filter { $0 != "help" && $0 != "version" }.sorted())
    for command in commands { #expect(lines.contains { $0.hasPrefix(".Cm \(command)") }, "\(command) in SYNOPSIS") }
  }

  @Test func `every exit code is in the manual`() throws {
    let documented = try section(".Sh EXIT STATUS").filter { $0.hasPrefix(".It ") }.compactMap {
      Int32($0.dropFirst(4))
    }
    #expect(documented == (0...9).map { $0 })
    #expect(documented.allSatisfy { ExitCode(rawValue: $0) != nil })
  }
}
