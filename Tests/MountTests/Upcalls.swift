// What the kernel asked the daemon, seen from outside by strace(1).
import Glibc
import MirrorPlatform
import TestSupport

/// The requests that a daemon read from /dev/fuse, by opcode (fuse_kernel.h).
struct Upcalls: Sendable {
  static let lookUp = 1
  static let getAttributes = 3
  static let open = 14
  static let read = 15
  static let getExtendedAttribute = 22
  static let listExtendedAttributes = 23
  static let readDirectory = 28
  static let readDirectoryPlus = 44

  private(set) var byOpcode: [Int: Int] = [:]
  var total: Int { byOpcode.values.reduce(0, +) }
  subscript(opcode: Int) -> Int { byOpcode[opcode] ?? 0 }

  /// Of FORGET, BATCH_FORGET and INTERRUPT nobody waits for an answer.
  private static let silent: Set<Int> = [2, 36, 42]

  /// Traces the daemon while `step` runs. Root.
  static func during(_ mount: MountFixture, _ step: () async throws -> Void) async throws -> Upcalls {
    guard let daemon = mount.daemon else { throw Obstacle("no daemon") }
    let directory = try TemporaryDirectory("strace")
    let log = directory.file("log")
    let pid = directory.file("pid")
    async let trace = run([
      "sh", "-c", "echo $$ > \(pid); exec strace -f -xx -s 8 -e trace=read -P /dev/fuse -o \(log) -p \(daemon)",
    ])
    let attached = try await eventually { try FileSystem.read("/proc/\(daemon)/status").isTraced }
    guard attached, let tracer = pid_t(String(decoding: try FileSystem.read(pid).dropLast(), as: UTF8.self)) else {
      throw Obstacle("strace did not attach: \(try await trace)")
    }
    // All threads, not only the first.
    try await Task.sleep(for: .milliseconds(200))
    try await step()
    kill(tracer, SIGTERM)
    let ended = try await trace
    if ended.timedOut { throw Obstacle("strace did not end: \(ended)") }
    return Upcalls(String(decoding: try FileSystem.read(log), as: UTF8.self))
  }

  init(_ log: String) {
    for line in log.split(separator: "\n") where !line.hasSuffix("unfinished ...>") {
      guard let quote = line.firstIndex(of: "\""), let result = line.split(separator: " ").last,
        let count = Int(result),
        count >= 40
      else { continue }
      // \x40\x00\x00\x00\x01\x00\x00\x00: length, opcode.
      let bytes = line[quote...].dropFirst().split(separator: "\\").prefix(8).compactMap {
        Int($0.dropFirst().prefix(2), radix: 16)
      }
      guard bytes.count == 8 else { continue }
      let opcode = bytes[4] | bytes[5] << 8
      if !Self.silent.contains(opcode) { byOpcode[opcode, default: 0] += 1 }
    }
  }
}

extension [UInt8] {
  /// Of /proc/PID/status.
  fileprivate var isTraced: Bool {
    let line = String(decoding: self, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix("TracerPid:") }
    return line.map { !$0.hasSuffix("\t0") } ?? false
  }
}

/// Why a test can't go on.
struct Obstacle: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
