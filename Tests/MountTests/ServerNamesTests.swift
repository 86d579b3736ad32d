// Odd keys on real servers: what a server can hold is seen as it is, and what it can't harms nothing beside it.
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(5)), .enabled(if: Machine.canMount))
struct ServerNamesTests {
  /// Keys below a directory of their own.
  struct Oddity {
    let row: String
    let names: [String]
    /// No file can have such a name: the object is hidden.
    var isHidden = false
  }

  static let oddities = [
    Oddity(
      row: "marks and blanks in keys",
      names: [
        "a+b", "a b", "a%20b", "a%2Bb", "50%", "q?x=1", "h#i", "a&b", "<t>", "\"q\"", "it's", "(1)!*", "a;b,c:d@e=f$g",
      ]),
    Oddity(row: "Unicode, composed and not", names: ["é", "e\u{301}", "日本", "😀"]),
    Oddity(row: "control characters", names: ["new\nline", "t\tab", "\u{1}"]),
    Oddity(row: "backslash", names: ["back\\slash"]),
    Oddity(row: "names of 255 bytes", names: [String(repeating: "n", count: 255)]),
    Oddity(row: "longer names", names: [String(repeating: "n", count: 256)], isHidden: true),
    Oddity(
      row: "keys of 1,024 bytes",
      names: [[200, 200, 200, 200, 196].map { String(repeating: "k", count: $0) }.joined(separator: "/")]),
    Oddity(row: "empty names (a//b)", names: ["a//b"], isHidden: true),
    Oddity(row: "names . and ..", names: ["./x", "../x"], isHidden: true),
  ]

  @Test(arguments: ServerKind.chosen)
  func `odd keys are seen as they are held`(kind: ServerKind) async throws {
    let server = try await RealServer.shared(kind)
    let bucket = try await server.makeBucket()
    var held: [[String]] = []
    for (index, oddity) in Self.oddities.enumerated() {
      // 24 bytes, so that all keys are as long as they are meant to be.
      let directory = "odd-keys-of-some-kind-\(index)/"
      try await server.put(bucket, directory + "ok", "ok")
      var kept: [String] = []
      for name in oddity.names {
        let key = ObjectKey(directory + name)
        guard try await server.tryPut(bucket, key, Array(name.utf8)) == 200,
          try await server.ask("GET", bucket, key).body == Array(name.utf8)
        else { continue }
        kept.append(name)
      }
      let listed = Set(try await server.listedKeys(bucket, prefix: directory).keys)
      kept.removeAll { !listed.contains(ObjectKey(directory + $0)) }
      held.append(kept)
      let isWhole = kept.count == oddity.names.count
      ServerTable.note(
        oddity.row, kind,
        kept.isEmpty ? "-" : oddity.isHidden ? "hidden" : isWhole ? "yes" : "\(kept.count) of \(oddity.names.count)")
    }

    let mount = try await MountFixture.mounted(bucket, endpoint: server.endpoint)
    #expect(try await mount.list().count == Self.oddities.count)
    for (index, oddity) in Self.oddities.enumerated() {
      let directory = "odd-keys-of-some-kind-\(index)"
      #expect(try await mount.text(directory + "/ok") == "ok")
      let names = try await mount.shell("cd \(directory) && find . -type f -print0 | tr '\\0\\n' '\\n?'")
      #expect(names.succeeded, "\(kind), \(oddity.row): \(names)")
      for name in held[index] {
        if oddity.isHidden {
          if name.utf8.count < 256 { continue }
          #expect(await mount.errno { _ = try await mount.read("\(directory)/\(name)") } == .nameTooLong)
        } else {
          let seen = try await mount.text("\(directory)/\(name)")
          #expect(seen == name, "\(kind): \(name)")
          let parent = name.split(separator: "/").dropLast().joined(separator: "/")
          let listed = try await mount.list(parent.isEmpty ? directory : "\(directory)/\(parent)")
          #expect(
            listed.contains { Array($0.utf8) == Array(name.split(separator: "/").last.map { Array($0.utf8) } ?? []) })
        }
      }
      // What is not held so is not shown so either.
      if held[index].isEmpty || oddity.isHidden { #expect(try await mount.list(directory).contains("ok")) }
    }
  }

  @Test(arguments: ServerKind.chosen)
  func `a file and a directory of one name, and markers of directories`(kind: ServerKind) async throws {
    let server = try await RealServer.shared(kind)
    let bucket = try await server.makeBucket()
    try await server.put(bucket, "ok", "ok")
    let first = try await server.tryPut(bucket, ObjectKey("both"), Array("file".utf8))
    let second = try await server.tryPut(bucket, ObjectKey("both/in"), Array("in".utf8))
    let marker = try await server.tryPut(bucket, ObjectKey("marker/"), [])
    let isBoth = first == 200 && second == 200
    ServerTable.note("file and directory of one name", kind, isBoth ? "yes" : "-")
    let isMarked = try await server.listedKeys(bucket, prefix: "marker").keys.contains(ObjectKey("marker/"))
    ServerTable.note("markers of directories (d/)", kind, marker == 200 && isMarked ? "yes" : "-")
    let mount = try await MountFixture.mounted(bucket, endpoint: server.endpoint)
    let names = try await mount.list()
    #expect(names.contains("ok") && Set(names).count == names.count)
    if isBoth {
      #expect(try await mount.text("both/in") == "in")
      #expect(try await mount.list("both") == ["in"])
      #expect(await mount.errno { _ = try await mount.read("both") } == .isDirectory)
    }
    if isMarked { #expect(try await mount.list("marker") == []) }
  }
}
