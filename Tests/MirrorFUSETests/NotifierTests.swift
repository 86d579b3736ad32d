// Order, duplicates and patience of notices, without a kernel.
import Glibc
import MirrorCore
import MirrorPlatform
import Synchronization
import Testing

@testable import MirrorFUSE

@Suite(.timeLimit(.minutes(1)))
struct NotifierRules {
  /// Writes down what it is told; as an old kernel, it cannot expire.
  private final class Kernel: NoticeChannel {
    private let told = Mutex<[String]>([])
    let isOld: Bool
    init(isOld: Bool = false) { self.isOld = isOld }

    var notices: [String] { told.withLock { $0 } }

    private func take(_ word: String, _ name: [UInt8], _ parent: NodeID) -> Int32 {
      told.withLock { $0.append("\(word) \(parent.rawValue)/\(String(decoding: name, as: UTF8.self))") }
      return -ENOENT
    }
    func expire(_ name: [UInt8], in parent: NodeID) -> Int32 { isOld ? -ENOSYS : take("expire", name, parent) }
    func forgetContent(of node: NodeID) -> Int32 { 0 }
    func invalidate(_ name: [UInt8], in parent: NodeID) -> Int32 { take("invalidate", name, parent) }
  }

  private func notifier(_ tree: SyntheticTree = SyntheticTree()) throws -> Notifier {
    try Notifier(tree: tree, pending: PendingRequests(watch: InterruptWatch()), log: .none)
  }

  @Test func `notices go out in order, and the same one not twice`() async throws {
    let notifier = try notifier()
    let names = ["a", "b", "a", "c", "b"]
    for name in names { notifier.expire(Array(name.utf8), in: .root) }
    notifier.invalidate(Array("a".utf8), in: .root)
    notifier.expire([], in: .root)
    let kernel = Kernel()
    notifier.start(kernel)
    #expect(await eventually { kernel.notices.count == 4 })
    // What was sent may be said again.
    notifier.expire(Array("a".utf8), in: .root)
    #expect(await eventually { kernel.notices.count == 5 })
    notifier.stop()
    #expect(kernel.notices == ["expire 1/a", "expire 1/b", "expire 1/c", "invalidate 1/a", "expire 1/a"])
  }

  @Test func `an old kernel is told to drop a file's name, never a directory's`() async throws {
    let tree = SyntheticTree()
    tree.addFile("file", .bytes([]))
    tree.addDirectory("directory")
    let notifier = try notifier(tree)
    let kernel = Kernel(isOld: true)
    notifier.start(kernel)
    for name in ["directory", "nothing", "file"] { notifier.expire(Array(name.utf8), in: .root) }
    #expect(await eventually { !kernel.notices.isEmpty })
    notifier.stop()
    #expect(kernel.notices == ["invalidate 1/file"])
  }

  @Test func `after its end a notifier takes nothing and sends nothing`() throws {
    let notifier = try notifier()
    let kernel = Kernel()
    notifier.start(kernel)
    notifier.stop()
    notifier.expire(Array("a".utf8), in: .root)
    #expect(kernel.notices.isEmpty)
  }
}
