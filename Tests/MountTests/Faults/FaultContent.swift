// What lies in the bucket of a fault's row: objects for each phase, told from each other by their bytes.
import Glibc
import MirrorPlatform
import MirrorStore
import TestSupport

enum FaultContent {
  static let part = 1 << 20
  static let large = 2 * part + (256 << 10)
  static let small = 200_000
  static let looked = 1000
  static let names = (0..<24).map { $0 < 10 ? "k0\($0)" : "k\($0)" }
  static let pageSize = 8
  static let fillers = (1...7).map { "f\($0)" }
  private static let noise = content(4 << 20, 1)

  /// The same for the same key and edition, another for each.
  static func bytes(_ key: String, _ size: Int, edition: Int = 0) -> [UInt8] {
    let hash = key.utf8.reduce(UInt64(edition &* 7919 &+ 17)) { ($0 &* 31) &+ UInt64($1) }
    let from = Int(hash % UInt64(noise.count - size))
    return Array(noise[from..<(from + size)])
  }

  static func size(_ phase: FaultPhase) -> Int {
    switch phase {
    case .firstLook: looked
    case .coldFirst, .coldMiddle, .coldLast: large
    case .eviction: part
    default: small
    }
  }

  /// The file that a phase reads or looks at.
  static func key(_ phase: FaultPhase) -> String { "\(phase.directory)/o" }

  /// With `isChecked` S3 tells the checksums of objects, with their parts too.
  static func fill(_ server: FakeS3, isChecked: Bool) {
    server.configure { $0.pageSize = pageSize }
    server.configure { $0.tellsChecksumsWithParts = isChecked }
    for phase in [FaultPhase.firstLook, .validation, .coldFirst, .coldMiddle, .coldLast, .warm, .eviction] {
      let key = key(phase)
      let checksums = [
        ("x-amz-checksum-crc64nvme", checksum(key, size(phase))), ("x-amz-checksum-type", "FULL_OBJECT"),
      ]
      server.put(key, bytes(key, size(phase)), fields: Fields(isChecked && phase.isCold ? checksums : []))
    }
    for phase in [FaultPhase.listFirst, .listMiddle, .listLast] {
      for name in names { server.put("\(phase.directory)/\(name)", name) }
    }
    for name in fillers { server.put("evict/\(name)", bytes("evict/\(name)", part)) }
  }

  /// How one run of bytes differs from what it should be; nil where it does not.
  static func difference(_ seen: [UInt8], _ right: [UInt8]) -> String? {
    guard seen.count == right.count else { return "\(seen.count) bytes in place of \(right.count)" }
    let isSame = seen.withUnsafeBytes { a in
      right.withUnsafeBytes { b in
        guard let first = a.baseAddress, let second = b.baseAddress else { return true }
        return memcmp(first, second, a.count) == 0
      }
    }
    if isSame { return nil }
    let places = seen.indices.filter { seen[$0] != right[$0] }
    return "\(places.count) wrong bytes, the first at \(places.first ?? 0)"
  }

  /// How many bytes differ; nil where the lengths do.
  static func wrongBytes(_ seen: [UInt8], _ right: [UInt8]) -> Int? {
    seen.count == right.count ? zip(seen, right).count { $0 != $1 } : nil
  }

  /// The CRC-64/NVME of a key's first edition, as S3 tells it.
  static func checksum(_ key: String, _ size: Int) -> String {
    var check = RedundancyCheck(.crc64nvme)
    check.update(bytes(key, size).span.bytes)
    return base64(RedundancyCheck.bytes(check.value, .crc64nvme))
  }
}
