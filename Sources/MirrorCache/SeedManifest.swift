// What a seed holds, as its manifest says: a line for each object, in the order of keys.
public import MirrorPlatform
public import MirrorStore

/// An object of a seed.
public struct SeedEntry: Equatable, Sendable {
  public let key: ObjectKey
  /// As the origin told it when the seed was made.
  public let revision: ObjectRevision
  public let storageClass: String?
  /// Of the content, which lies under this name.
  public let sha256: [UInt8]

  public init(key: ObjectKey, revision: ObjectRevision, storageClass: String?, sha256: [UInt8]) {
    self.key = key
    self.revision = revision
    self.storageClass = storageClass
    self.sha256 = sha256
  }
}

/// The text file `manifest`.
public struct SeedManifest: Equatable, Sendable {
  static let heading = "s3mirror seed 1"

  /// `s3://bucket/prefix`, for people.
  public var source: String
  /// All keys begin with it, and all that begin with it are there.
  public var prefix: ObjectKey
  /// When the listing was asked for that it goes by.
  public var created: WallTime
  public var entries: [SeedEntry]

  public init(source: String, prefix: ObjectKey, created: WallTime, entries: [SeedEntry]) {
    self.source = source
    self.prefix = prefix
    self.created = created
    self.entries = entries
  }

  /// `SIZE MODIFIED SHA256 ETAG CLASS KEY` a line; `-` is none, the last three are percent-encoded.
  public var bytes: [UInt8] {
    func word(_ bytes: [UInt8]?) -> String {
      guard let bytes, !bytes.isEmpty else { return "-" }
      let text = percentEncoded(bytes, keepingSlash: true)
      return text == "-" ? "%2D" : text
    }
    var text = "\(Self.heading)\nsource \(word(Array(source.utf8)))\nprefix \(word(prefix.bytes))\n"
    text += "created \(created.milliseconds)\n"
    for entry in entries {
      let revision = entry.revision
      text += "\(revision.size) \(revision.modified.map { "\($0)" } ?? "-") \(hexadecimal(entry.sha256)) "
      text += "\(word(revision.etag?.bytes)) \(word(entry.storageClass.map { Array($0.utf8) })) "
      text += "\(word(entry.key.bytes))\n"
    }
    return Array("\(text)end \(entries.count)\n".utf8)
  }

  /// Nil for what is no manifest, or not to its end.
  public init?(bytes: [UInt8]) {
    let lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false)
    guard lines.count >= 6, String(decoding: lines[0], as: UTF8.self) == Self.heading, lines.last?.isEmpty == true
    else {
      return nil
    }
    func value(_ line: ArraySlice<UInt8>, _ name: String) -> [UInt8]? {
      guard line.starts(with: Array("\(name) ".utf8)) else { return nil }
      return Self.word(line.dropFirst(name.utf8.count + 1))
    }
    guard let source = value(lines[1], "source"), let prefix = value(lines[2], "prefix"),
      let created = value(lines[3], "created").flatMap({ Int64(String(decoding: $0, as: UTF8.self)) }),
      let count = value(lines[lines.count - 2], "end").flatMap({ Int(String(decoding: $0, as: UTF8.self)) }),
      count == lines.count - 6
    else { return nil }
    self.source = String(decoding: source, as: UTF8.self)
    self.prefix = ObjectKey(prefix)
    self.created = WallTime(milliseconds: created)
    entries = []
    entries.reserveCapacity(count)
    for line in lines[4..<(lines.count - 2)] {
      guard let entry = SeedEntry(line: line) else { return nil }
      entries.append(entry)
    }
  }

  fileprivate static func word(_ text: ArraySlice<UInt8>) -> [UInt8] {
    text.elementsEqual([0x2D]) ? [] : percentDecoded(text, form: false)
  }
}

extension SeedEntry {
  fileprivate init?(line: ArraySlice<UInt8>) {
    let words = line.split(separator: 0x20)
    guard words.count == 6, let size = Int64(String(decoding: words[0], as: UTF8.self)), size >= 0,
      let digest = MirrorPlatform.bytes(hexadecimal: words[2]), digest.count == 32
    else { return nil }
    let tag = SeedManifest.word(words[3])
    let storageClass = SeedManifest.word(words[4])
    self.init(
      key: ObjectKey(SeedManifest.word(words[5])),
      revision: ObjectRevision(
        etag: tag.isEmpty ? nil : EntityTag(tag), size: size,
        modified: Int64(String(decoding: words[1], as: UTF8.self))),
      storageClass: storageClass.isEmpty ? nil : String(decoding: storageClass, as: UTF8.self), sha256: digest)
  }
}
