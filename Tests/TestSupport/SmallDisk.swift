// Takes up what a small file system has, so that it is full for everybody else.
import Glibc
import MirrorPlatform

/// A tmpfs of its own (root), unmounted and removed with its last reference.
public final class SmallDisk: Sendable {
  public let path: String
  private let directory: TemporaryDirectory

  public init(size: Int64, inodes: Int) throws {
    directory = try TemporaryDirectory("disk")
    path = directory.file("disk")
    try FileSystem.makeDirectory(path)
    let mounted = try runBlocking(["mount", "-t", "tmpfs", "-o", "size=\(size),nr_inodes=\(inodes)", "tmpfs", path])
    guard mounted.succeeded else { throw SystemFailure(message: "tmpfs: \(mounted)") }
    AtExit.unmount(path)
  }
  deinit {
    MountTable.detach(path)
    AtExit.forget(path)
    directory.remove()
  }

  private var ballast: String { path + "/ballast" }

  /// Takes every byte.
  public func fillSpace() throws {
    let file = try File.openOrCreate(ballast, mode: 0o600)
    var step = 1 << 20
    var offset: Int64 = 0
    while step >= 4096 {
      do throws(Errno) {
        try file.write([UInt8](repeating: 1, count: step), at: offset)
        offset += Int64(step)
      } catch {
        guard error == .noSpace else { throw error }
        step /= 4
      }
    }
  }

  /// Takes every inode.
  public func fillInodes() throws {
    try FileSystem.makeDirectory(ballast)
    for index in 0... {
      do throws(Errno) { _ = try File.open("\(ballast)/\(index)", .write, create: 0o600) } catch {
        guard error == .noSpace else { throw error }
        return
      }
    }
  }

  /// Gives all of it back.
  public func clear() {
    if (try? FileSystem.attributes(ballast))?.kind == .directory {
      try? FileSystem.removeTree(ballast)
    } else {
      try? FileSystem.removeFile(ballast)
    }
  }
}
