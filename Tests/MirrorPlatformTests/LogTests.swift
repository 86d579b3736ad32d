// The log: who sees it, how often a line repeats, and that a message can't pretend to be several.
import Glibc
import Testing

@testable import MirrorPlatform

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

  @Test func `its level may change while it is in use`() throws {
    let log = try log(.warning)
    log.notice("one")
    log.level = .debug
    log.debug("two")
    log.level = .error
    log.warning("three")
    log.limited(.warning, key: "k", "four")
    #expect(try lines().map { $0.split(separator: " ").last } == ["two"])
  }

  @Test func `a long file becomes the one before, and there are never more than two`() throws {
    let log = try Log(path: scratch("log"), level: .notice, clock: clock, limit: 500)
    for number in 0..<100 { log.notice("line \(number)") }
    let kept = try lines()
    let before = String(decoding: try FileSystem.read(scratch("log.1")), as: UTF8.self).split(separator: "\n")
    let numbers = (before.map(String.init) + kept).compactMap { $0.split(separator: " ").last.flatMap { Int($0) } }
    #expect(numbers.last == 99 && numbers == Array((numbers.first ?? 0)...99))
    #expect(numbers.count > 10 && numbers.count < 40)
    #expect(try FileSystem.list(scratch.path).sorted() == ["log", "log.1"])
    #expect(try FileSystem.attributes(scratch("log")).permissions == 0o600)
  }

  @Test func `a file that is moved or deleted is begun anew with the next line`() throws {
    let log = try log()
    log.notice("one")
    try FileSystem.rename(scratch("log"), to: scratch("log-20231114"))
    log.notice("two")
    try FileSystem.removeFile(scratch("log"))
    log.notice("three")
    #expect(try lines().map { $0.split(separator: " ").last } == ["three"])
  }

  @Test func `two that share a file lose no line when it is full`() throws {
    let first = try Log(path: scratch("log"), level: .notice, clock: clock, limit: 2000)
    let second = try Log(path: scratch("log"), level: .notice, clock: clock, limit: 2000)
    for number in 0..<55 {
      first.notice("a \(number)")
      second.notice("b \(number)")
    }
    let before = String(decoding: try FileSystem.read(scratch("log.1")), as: UTF8.self).split(separator: "\n")
    #expect(try before.count + lines().count == 110)
  }

  @Test func `the journal gets a priority and no time`() {
    func line(_ level: Log.Level, _ text: String) -> String {
      String(decoding: Log.line(level, text, at: WallTime(seconds: 0), isJournal: true), as: UTF8.self)
    }
    #expect(line(.error, "a\n<7>b") == "<3>a\\x0a<7>b\n")
    #expect(Log.Level.allCases.map { line($0, "x") } == (3...7).map { "<\($0)>x\n" })
  }
}
