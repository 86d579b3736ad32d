// The log: who sees it, how often a line repeats, and that a message can't pretend to be several.
import Glibc
import MirrorPlatform
import Testing

@Suite(.timeLimit(.minutes(1)))
struct `The log` {
  let scratch: Scratch
  let clock = ManualClock(wall: WallTime(seconds: 1_700_000_000))
  init() throws { scratch = try Scratch() }

  private func log(_ level: Log.Level = .notice) throws -> Log {
    try Log(path: scratch("log"), level: level, clock: clock)
  }
  private func lines() throws -> [String] {
    String(decoding: try FileSystem.read(scratch("log")), as: UTF8.self).split(separator: "\n").map(String.init)
  }

  @Test func `writes lines with time and level, for its owner's eyes`() throws {
    let mask = umask(0)
    let log = try log()
    umask(mask)
    log.error("first")
    log.notice("second")
    #expect(try lines() == ["2023-11-14T22:13:20Z error: first", "2023-11-14T22:13:20Z notice: second"])
    #expect(try FileSystem.attributes(scratch("log")).permissions == 0o600)
  }

  @Test func `goes on at the end of an older file`() throws {
    try log().warning("one")
    try log().warning("two")
    #expect(try lines().count == 2)
  }

  @Test func `leaves out what is below its level, without making the text`() throws {
    let log = try log(.warning)
    var made = 0
    func text() -> String {
      made += 1
      return "x"
    }
    log.notice(text())
    log.limited(.info, key: "k", text())
    log.once(.debug, key: "k", text())
    #expect(made == 0)
    log.warning(text())
    #expect(try lines().count == 1)
    Log.none.error(text())
    #expect(made == 1)
  }

  @Test func `a message can't forge a line`() throws {
    let log = try log()
    log.notice("key a\n2023-11-14T22:13:20Z error: forged\r\u{1B}[31m")
    let lines = try lines()
    #expect(lines == [#"2023-11-14T22:13:20Z notice: key a\x0a2023-11-14T22:13:20Z error: forged\x0d\x1b[31m"#])
  }

  @Test func `repeats are held back for a minute and counted`() throws {
    let log = try log()
    log.limited(.warning, key: "a", "down")
    log.limited(.warning, key: "a", "down")
    log.limited(.warning, key: "b", "other")
    clock.advance(.seconds(59))
    log.limited(.warning, key: "a", "down")
    #expect(try lines().count == 2)
    clock.advance(.seconds(2))
    log.limited(.warning, key: "a", "down")
    #expect(try lines().last?.hasSuffix("warning: down (2 more like it in the last minutes)") == true)
    clock.advance(.seconds(61))
    log.limited(.warning, key: "a", "down")
    #expect(try lines().last?.hasSuffix("warning: down") == true)
  }

  @Test func `once is once`() throws {
    let log = try log()
    for _ in 0..<3 { log.once(.notice, key: "k", "said") }
    clock.advance(.seconds(600))
    log.once(.notice, key: "k", "said")
    log.once(.notice, key: "l", "said")
    #expect(try lines().count == 2)
  }

  @Test func `levels have names`() {
    for level in Log.Level.allCases { #expect(Log.Level(name: level.name) == level) }
    #expect(Log.Level(name: "loud") == nil)
    #expect(Log.Level.error < .debug)
  }
}
