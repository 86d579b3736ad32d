// Readers and a writer who do as chance has it, through the kernel: each answer is one that the bucket gave within the window.
import MirrorPlatform
import MirrorStore
import Synchronization
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(5)))
struct RandomTests {
  @Test func `what readers see is what the bucket held within the window, and every request is counted`() async throws {
    let long = startEnvironment["S3MIRROR_TEST_MODEL"] != nil
    let seed = UInt64(long ? SystemClock().wall().milliseconds : 1)
    let fake = try FakeS3()
    let bucket = WatchedBucket(fake)
    for key in RandomReader.keys { bucket.put(key, size: 1000) }
    for key in ["d/keep", "keep"] { bucket.put(key, size: 10) }
    let stage = try await fake.mounted(
      "--freshness", "1s", "--negative-freshness", "1s", limit: .seconds(long ? 240 : 60))
    let end = SystemClock().now() + .seconds(long ? 60 : 3)
    let (wrong, _) = try await stage.cost {
      await withTaskGroup(of: [String].self) { group in
        group.addTask {
          await bucket.change(until: end, seed)
          return []
        }
        for number in 1...6 {
          group.addTask {
            var reader = RandomReader(stage.mount, bucket, SplitMix(seed: seed &+ UInt64(number)))
            return await reader.run(until: end)
          }
        }
        return await group.reduce(into: []) { $0 += $1 }
      }
    }
    #expect(wrong.isEmpty, "seed \(seed): \(wrong.prefix(5).joined(separator: "\n"))")
  }
}

/// A bucket and its history, changed at one moment.
final class WatchedBucket: Sendable {
  private let fake: FakeS3
  private let state = Mutex(BucketHistory())

  init(_ fake: FakeS3) { self.fake = fake }

  var history: BucketHistory { state.withLock { $0 } }

  func put(_ key: String, size: Int) {
    state.withLock { history in
      history.put(Array(key.utf8), size: size, at: SystemClock().now())
      fake.put(key, history.current(Array(key.utf8))?.body ?? [])
    }
  }

  func delete(_ key: String) {
    state.withLock { history in
      history.delete(Array(key.utf8), at: SystemClock().now())
      fake.delete(key)
    }
  }

  func change(until end: Instant, _ seed: UInt64) async {
    var random = SplitMix(seed: seed)
    while SystemClock().now() < end {
      let key = random.pick(RandomReader.keys)
      if random.chance(25) {
        delete(key)
      } else {
        put(key, size: random.pick([0, 1, 3000, 130_000, 131_072, 400_000]))
      }
      try? await Task.sleep(for: .milliseconds(10 + random.below(120)))
    }
  }
}

/// One who reads what chance gives him.
struct RandomReader {
  static let keys = ["a", "b.txt", "c", "d/1", "d/2", "d/3.txt", "d/\u{e9}", "d/e\u{301}"]
  private static let window = Duration.seconds(1)
  /// A look-up may have been under way already, and the machine has more to do.
  private static let slack = Duration.milliseconds(700)

  private let mount: MountFixture
  private let bucket: WatchedBucket
  private var random: SplitMix
  private var held: [(file: File, bytes: [UInt8], key: String)] = []
  private var wrong: [String] = []

  init(_ mount: MountFixture, _ bucket: WatchedBucket, _ random: SplitMix) {
    self.mount = mount
    self.bucket = bucket
    self.random = random
  }

  /// What was wrong.
  mutating func run(until end: Instant) async -> [String] {
    while SystemClock().now() < end, wrong.count < 5 {
      switch random.below(10) {
      case ..<5: await read(random.pick(Self.keys))
      case ..<7: await stat(random.pick(Self.keys + ["nope", "d/nope"]))
      case ..<8: await list(random.pick(["", "d"]))
      default: await readAgain()
      }
    }
    return wrong
  }

  private func judge(
    _ key: String, _ start: Instant, _ what: String, _ age: Duration = Self.window,
    _ isRight: (BucketHistory, Instant, Instant) -> Bool
  ) -> String? {
    let now = SystemClock().now()
    // After four seconds of waiting an old answer is right.
    guard now - start < .seconds(3), !isRight(bucket.history, start + (.zero - age - Self.slack), now) else {
      return nil
    }
    return "\(key): \(what)"
  }

  private mutating func note(_ wrong: String?) { if let wrong { self.wrong.append(wrong) } }

  /// An errno for a name.
  private mutating func note(_ errno: Errno, _ key: String, _ start: Instant) {
    let name = Array(key.utf8)
    switch errno {
    case .noEntry:
      note(judge(key, start, "ENOENT", Self.window + Self.window) { $0.lacked(name, from: $1, to: $2) })
    case .stale:
      note(
        judge(key, start, "ESTALE") { history, from, to in
          history.versions(of: name).contains { $0.ended(from: from, to: to) }
        })
    default: wrong.append("\(key): \(errno)")
    }
  }

  private mutating func read(_ key: String) async {
    let start = SystemClock().now()
    do throws(Errno) {
      let file = try await open(key)
      let bytes = try await read(file)
      let name = Array(key.utf8)
      note(
        judge(key, start, "\(bytes.count) bytes of no version within the window") { history, from, to in
          history.versions(of: name).contains { $0.wasCurrent(from: from, to: to) && $0.body == bytes }
        })
      if held.count > 8 { held.removeFirst() }
      held.append((file, bytes, key))
    } catch { note(error, key, start) }
  }

  /// A file that was read stays as it is.
  private mutating func readAgain() async {
    guard !held.isEmpty else { return }
    let (file, bytes, key) = random.pick(held.map { $0 })
    do throws(Errno) {
      if try await read(file) != bytes { wrong.append("\(key): an open file has other bytes") }
    } catch { wrong.append("\(key): an open file can't be read again: \(error)") }
  }

  private func open(_ key: String) async throws(Errno) -> File {
    do { return try await mount.open(key) } catch { throw error as? Errno ?? .inputOutput }
  }

  private func read(_ file: File) async throws(Errno) -> [UInt8] {
    do { return try await mount.read(file, at: 0, count: 1 << 20) } catch { throw error as? Errno ?? .inputOutput }
  }

  private mutating func stat(_ key: String) async {
    let start = SystemClock().now()
    do {
      let size = Int(try await mount.attributes(key).size)
      let name = Array(key.utf8)
      note(
        judge(key, start, "size \(size)") { history, from, to in
          history.versions(of: name).contains { $0.wasCurrent(from: from, to: to) && $0.size == size }
        })
    } catch { note(error as? Errno ?? .inputOutput, key, start) }
  }

  private mutating func list(_ directory: String) async {
    let start = SystemClock().now()
    do {
      let names = try await mount.list(directory)
      if Set(names.map { Array($0.utf8) }).count != names.count { wrong.append("\(directory): a name is listed twice") }
      let base = directory.isEmpty ? "" : directory + "/"
      for name in names where name != "d" {
        note(judge(base + name, start, "is listed") { $0.hadFile(Array((base + name).utf8), from: $1, to: $2) })
      }
      let listed = Set(names.map { Array((base + $0).utf8) })
      for key in Self.keys + ["keep", "d/keep"] {
        let isIn = directory.isEmpty ? !key.contains("/") : key.hasPrefix(base)
        guard isIn, !listed.contains(Array(key.utf8)) else { continue }
        note(judge(key, start, "is not listed") { !$0.alwaysHad(Array(key.utf8), from: $1, to: $2) })
      }
    } catch { wrong.append("\(directory): \(error)") }
  }
}
