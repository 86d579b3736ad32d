import MirrorDaemon
import MirrorPlatform
import TestSupport
import Testing

/// `config`, `completion` and the help of both, as the built program has them.
@Suite(.timeLimit(.minutes(2)), .enabled(if: MountFixture.program != nil))
struct ConfigCommandTests {
  private let fixture: MountFixture
  private let directory: TemporaryDirectory

  init() throws {
    fixture = try MountFixture("bucket", endpoint: "http://127.0.0.1:9", environment: ["AWS_REGION": "eu-west-3"])
    directory = try TemporaryDirectory("config")
  }

  private func file(_ text: String) throws -> String {
    let path = directory.file("s3mirror.conf")
    try FileSystem.write(Array(text.utf8), to: path, mode: 0o600)
    return path
  }

  @Test func `check tells every mistake, and its exit code is 2`() async throws {
    let path = try file("freshnes = 1s\n[mount \"a\"]\nsource = b\n")
    let result = try await fixture.command(["config", "check", path])
    #expect(result.status == 2)
    #expect(
      result.errors == """
        s3mirror: \(path):1: there is no key 'freshnes'; did you mean 'freshness'?
        s3mirror: \(path):2: [mount "a"] needs a line 'mountpoint = …'

        """)
    let right = try file("[mount \"a\"]\nsource = b\nmountpoint = /m\n")
    #expect(try await fixture.command(["config", "check", right]).output == "\(right): no mistakes, mounts: a\n")
    let none = try await fixture.command(["config", "check", directory.file("none")])
    #expect(none.status == 2 && none.errors.contains("can't be read"), "\(none)")
  }

  @Test func `show tells each value and where it comes from`() async throws {
    let path = try file(
      """
      endpoint-url = https://name:hush@s3.lan/x
      freshness = *.json=always
      [mount "a"]
      source = b/c
      mountpoint = /m
      part-size = 16MiB
      """)
    let result = try await fixture.command(["config", "show", "a", "--config", path])
    #expect(result.succeeded, "\(result)")
    let lines = result.output.split(separator: "\n").map {
      $0.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ")
    }
    for line in [
      "# \(path)", "[mount \"a\"]", "source b/c \(path):4", "mountpoint /m \(path):5",
      "endpoint-url https://***@s3.lan/x \(path):1", "part-size 16MiB \(path):6", "freshness *.json=always \(path):2",
      "freshness 60s built in", "region eu-west-3 environment AWS_REGION", "offline no built in", "budget - not set",
    ] { #expect(lines.contains(line), "\(line) in \(result.output)") }
    #expect(!result.output.contains("hush"))
    let json = try await fixture.command(["config", "show", "a", "--config", path, "--json"])
    #expect(
      json.output.contains(
        #"{"name":"part-size","value":"16MiB","origin":"file","file":"\#(path)","line":6}"#), "\(json)")
    #expect(!json.output.contains("hush"))
    let other = try await fixture.command(["config", "show", "b", "--config", path])
    #expect(other.status == 2 && other.errors.contains("[mount \"b\"]"), "\(other)")
  }

  @Test func `the user's file is found, and the sample has no mistakes`() async throws {
    let home = try #require(fixture.environment["XDG_CONFIG_HOME"])
    try FileSystem.makeDirectories(home + "/s3mirror")
    let sample = try await fixture.command(["config", "sample"])
    try FileSystem.write(Array(sample.output.utf8), to: home + "/s3mirror/s3mirror.conf", mode: 0o600)
    let result = try await fixture.command(["config", "check"])
    #expect(result.succeeded && result.output.contains("\(home)/s3mirror/s3mirror.conf"), "\(result)")
  }

  @Test(arguments: ["bash", "zsh", "fish"])
  func `a completion knows every command and option, and its shell can read it`(shell: String) async throws {
    let result = try await fixture.command(["completion", shell])
    #expect(result.succeeded, "\(result)")
    let overview = try await fixture.command(["help"]).output
    let commands = overview.split(separator: "\n").filter { $0.hasPrefix("  ") }.compactMap {
      $0.split(separator: " ").first.map(String.init)
    }
    #expect(commands.count > 10)
    for command in commands {
      #expect(result.output.contains(command), "\(command)")
      let help = try await fixture.command(["help", command]).output
      for word in help.split(separator: "\n").filter({ $0.hasPrefix("  --") }) {
        let name = word.dropFirst(4).prefix { $0 != " " }
        let form = shell == "fish" ? " -l \(name) " : "--\(name)"
        #expect(result.output.contains(form) || result.output.contains(form.dropLast() + "\n"), "\(command) \(form)")
      }
    }
    let path = directory.file("completion")
    try FileSystem.write(Array(result.output.utf8), to: path, mode: 0o600)
    guard findProgram(shell) != nil else { return }
    let read = try await run([shell, "-n", path])
    #expect(read.succeeded && read.errors.isEmpty, "\(read)")
  }

  @Test(arguments: [
    ("s3mirror st", "status"), ("s3mirror mount --fresh", "--freshness"), ("s3mirror mount --log-level de", "debug"),
    ("s3mirror cache ver", "verify"), ("s3mirror mount --data-path ", "passthrough"),
    ("s3mirror help comp", "completion"),
  ])
  func `bash completes commands, options and values`(line: String, expected: String) async throws {
    let completion = try await fixture.command(["completion", "bash"]).output
    let path = directory.file("completion.bash")
    try FileSystem.write(Array(completion.utf8), to: path, mode: 0o600)
    let script = """
      source "$1"; line=$2
      read -ra COMP_WORDS <<<"$line"
      [[ $line == *' ' ]] && COMP_WORDS+=("")
      COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
      _s3mirror; printf '%s\\n' "${COMPREPLY[@]}"
      """
    let result = try await run(["bash", "-c", script, "bash", path, line])
    #expect(result.output.split(separator: "\n").map(String.init).contains(expected), "\(result)")
  }

  @Test func `help has what every command takes, in 80 columns`() async throws {
    let overview = try await fixture.command(["help"]).output
    for line in overview.split(separator: "\n").filter({ $0.hasPrefix("  ") }) {
      let name = line.split(separator: " ").first.map(String.init) ?? ""
      let help = try await fixture.command(["help", name])
      #expect(help.succeeded && help.output.hasPrefix("usage: s3mirror \(name)"), "\(help)")
      for line in help.output.split(separator: "\n").dropFirst() { #expect(line.count <= 96, "\(name): \(line)") }
    }
  }
}
