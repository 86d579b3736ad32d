// A directory for one test.
import Glibc
import MirrorPlatform

/// A fresh directory, removed with all in it when released.
final class Scratch: Sendable {
  let path: String
  init() throws {
    let root = ThisProcess.environment("TMPDIR") ?? "/tmp"
    var template = Array("\(root)/s3mirror-test-platform-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw Errno.last }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
  deinit { try? FileSystem.removeTree(path) }

  func callAsFunction(_ name: String) -> String { "\(path)/\(name)" }
}
