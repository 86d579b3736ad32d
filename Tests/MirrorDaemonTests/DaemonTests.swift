import MirrorPlatform
import Testing

@testable import MirrorDaemon

@Suite(.timeLimit(.minutes(1)))
struct DaemonTests {
  /// What the waiting process reads when the other one does `body` and ends.
  private func reported(_ body: (ReadinessReport) -> Void) throws -> String {
    let (reading, writing) = try ThisProcess.pipe()
    do { body(ReadinessReport(channel: writing)) }
    _ = consume writing
    return try ReadinessReport.everything(from: reading)
  }

  @Test func `a daemon that is ready says so before it ends`() throws {
    let (reading, writing) = try ThisProcess.pipe()
    let isHeard = ReadinessReport(channel: writing).sayReady()
    #expect(isHeard)
    let text = try ReadinessReport.everything(from: reading)
    #expect(text == "OK")
    withExtendedLifetime(writing) {}
  }

  @Test func `a failure passes with its exit code and its words`() throws {
    let failure = CommandFailure(.noSuchBucket, "can't mount b: there is no such bucket; check its name")
    let text = try reported { $0.sayFailed(failure) }
    #expect(ReadinessReport.parse(text) == failure)
  }

  @Test func `an end without a word is no success`() throws {
    let text = try reported { _ in }
    #expect(text == "")
    #expect(ReadinessReport.parse(text) == nil)
  }

  @Test func `each mount point has a socket and a log of its own`() {
    #expect(
      RuntimeDirectory.path(in: "/run/s3mirror", "/mnt/a") != RuntimeDirectory.path(in: "/run/s3mirror", "/mnt/b"))
    #expect(MountLog.name(of: "/mnt/a b").hasPrefix("mnt-a_b-"))
    #expect(MountLog.name(of: "/mnt/a b") != MountLog.name(of: "/mnt/a_b"))
    #expect(!MountLog.name(of: "/mnt/a/../b").contains("/"))
  }

  @Test func `a directory that others can enter is no place for sockets`() throws {
    let directory = "/tmp/s3mirror-runtime-\(UInt64.random(in: 0...UInt64.max))"
    try FileSystem.makeDirectory(directory, mode: 0o700)
    defer { try? FileSystem.removeTree(directory) }
    let isPrivate = try RuntimeDirectory.isPrivate(directory)
    #expect(isPrivate)
    let others = try RuntimeDirectory.isPrivate("/tmp")
    #expect(!others)
  }

  @Test(arguments: [
    ("/a/b", "/a/b"), ("/a//b/", "/a/b"), ("/a/./b/../c", "/a/c"), ("/../..", "/"), ("/", "/"), ("//", "/"),
  ])
  func `a path is made absolute without asking the file system`(path: String, absolute: String) {
    #expect(absolutePath(path) == absolute)
  }

  @Test func `a relative path begins where the process is`() {
    let here = String(decoding: ThisProcess.currentDirectory, as: UTF8.self)
    #expect(absolutePath("x/../y") == (here == "/" ? "" : here) + "/y")
  }

  @Test func `who uses a directory is found by open files and working directory`() throws {
    let directory = "/tmp/s3mirror-users-\(UInt64.random(in: 0...UInt64.max))"
    try FileSystem.makeDirectory(directory, mode: 0o700)
    defer { try? FileSystem.removeTree(directory) }
    #expect(!Processes.using(directory).contains { $0.process == ThisProcess.identifier })
    let file = try File.open(directory + "/f", .write, create: 0o600)
    #expect(Processes.using(directory).contains { $0.process == ThisProcess.identifier })
    withExtendedLifetime(file) {}
  }
}
