// What tools write into metadata, as they really write it.
import MirrorStore
import Testing

@Suite(.timeLimit(.minutes(1)))
struct PosixTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let tool: String
    let fields: [String: String]
    var mode: UInt32?
    var owner: UInt32?
    var group: UInt32?
    var time: FileTime?
    var isLink = false
    var target: String?
    var testDescription: String { tool }
  }

  private static let cases = [
    Case(
      tool: "s3fs",
      fields: ["mode": "33184", "uid": "1000", "gid": "100", "mtime": "1577934245.678901234", "atime": "1577934245"],
      mode: 0o640, owner: 1000, group: 100, time: FileTime(seconds: 1_577_934_245, nanoseconds: 678_901_234)),
    Case(
      tool: "s3fs, link", fields: ["mode": "41471", "uid": "0", "gid": "0", "mtime": "1796063022"], mode: 0o777,
      owner: 0, group: 0, time: FileTime(seconds: 1_796_063_022), isLink: true),
    Case(tool: "s3fs, setuid", fields: ["mode": "35309"], mode: 0o755),
    Case(tool: "s3fs, device", fields: ["mode": "8630"], mode: 0o666),
    Case(
      tool: "rclone", fields: ["mtime": "1612325106.789012345"],
      time: FileTime(seconds: 1_612_325_106, nanoseconds: 789_012_345)),
    Case(
      tool: "rclone --metadata",
      fields: ["mode": "100600", "uid": "7", "gid": "8", "mtime": "1612325106.5", "btime": "2026-11-30T18:23:42.7Z"],
      mode: 0o600, owner: 7, group: 8, time: FileTime(seconds: 1_612_325_106, nanoseconds: 500_000_000)),
    Case(
      tool: "before 1970", fields: ["mtime": "-1.25"], time: FileTime(seconds: -2, nanoseconds: 750_000_000)),
    Case(
      tool: "gcsfuse", fields: ["gcsfuse_mtime": "2023-04-05T06:07:08.123456789Z"],
      time: FileTime(seconds: 1_680_674_828, nanoseconds: 123_456_789)),
    Case(
      tool: "gcsfuse, link", fields: ["gcsfuse_symlink_target": "../a b"], isLink: true, target: "../a b"),
    Case(
      tool: "gsutil",
      fields: [
        "goog-reserved-posix-mode": "640", "goog-reserved-posix-uid": "5", "goog-reserved-posix-gid": "6",
        "goog-reserved-file-mtime": "1600000000",
      ], mode: 0o640, owner: 5, group: 6, time: FileTime(seconds: 1_600_000_000)),
    Case(
      tool: "DataSync",
      fields: [
        "file-permissions": "0100644", "file-owner": "500", "file-group": "501",
        "file-mtime": "1595002920123456789ns", "user-agent": "aws-datasync", "user-agent-version": "0.1.0",
      ], mode: 0o644, owner: 500, group: 501, time: FileTime(seconds: 1_595_002_920, nanoseconds: 123_456_789)),
    Case(
      tool: "File Gateway",
      fields: ["file-permissions": "0666", "file-owner": "1", "file-group": "1", "file-mtime": "1595002920123"],
      mode: 0o666, owner: 1, group: 1, time: FileTime(seconds: 1_595_002_920, nanoseconds: 123_000_000)),
    Case(tool: "FSx, link", fields: ["file-permissions": "0120777"], mode: 0o777, isLink: true),
    Case(
      tool: "s3cmd",
      fields: ["s3cmd-attrs": "atime:1/ctime:2/gid:100/gname:users/md5:x/mode:33188/mtime:1500000000/uid:1001/uname:u"],
      mode: 0o644, owner: 1001, group: 100, time: FileTime(seconds: 1_500_000_000)),
    Case(
      tool: "the beginning of time", fields: ["file-mtime": "-9223372036854775808"],
      time: FileTime(seconds: -9_223_372_036_854_776, nanoseconds: 192_000_000)),
    Case(
      tool: "a fraction before the beginning of time", fields: ["mtime": "-9223372036854775808.5"],
      time: FileTime(seconds: .min, nanoseconds: 500_000_000)),
    Case(
      tool: "two tools", fields: ["mtime": "5", "file-mtime": "7000", "mode": "nonsense", "permissions": "33188"],
      mode: 0o644, time: FileTime(seconds: 7)),
  ]

  @Test(arguments: cases) func `attributes are read as their tool writes them`(of example: Case) {
    let posix = PosixMetadata(fields: example.fields.map { (name: $0.key, value: $0.value) })
    #expect(posix?.permissions == example.mode)
    #expect(posix?.owner == example.owner && posix?.group == example.group)
    #expect(posix?.modified == example.time)
    #expect(posix?.isLink == example.isLink)
    #expect(posix?.target.map { String(decoding: $0, as: UTF8.self) } == example.target)
    #expect(posix.map { PosixMetadata(text: $0.text) } == posix)
  }

  @Test(arguments: [
    [:], ["md5chksum": "x"], ["mode": "", "uid": "-1", "mtime": "soon"], ["uid": "4294967295"], ["mtime": "1.2.3"],
    ["file-permissions": "999"], ["mtime": "99999999999999999999"],
  ])
  func `what says nothing that can be used says nothing`(fields: [String: String]) {
    #expect(PosixMetadata(fields: fields.map { (name: $0.key, value: $0.value) }) == nil)
  }
}
