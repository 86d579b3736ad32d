// Where a mount is made, checked before anything is opened: a place that can't work is refused with its own message.
import MirrorFUSE
import MirrorPlatform

/// A mount point and a cache directory that can live beside each other; absolute, links resolved.
struct MountPlace: Sendable {
  let mountPoint: String
  let cacheRoot: String
  /// What is not as it should be, but no reason to refuse.
  let warnings: [String]

  init(_ settings: MountSettings) throws(CommandFailure) {
    var warnings: [String] = []
    let asked = absolutePath(settings.mountPoint)
    if DeadMount.isDead(asked) {
      do throws(MountError) { try DeadMount.detach(asked) } catch { throw CommandFailure(error) }
      warnings.append("\(asked) was a mount whose process had died; it has been detached")
    } else if RunningMounts.isOrphaned(asked) {
      do throws(MountError) { try DeadMount.abort(asked) } catch { throw CommandFailure(error) }
      warnings.append("\(asked) was a mount whose process had died without an end; it has been ended and detached")
    }
    do throws(Errno) {
      mountPoint = try FileSystem.resolve(asked)
      guard try FileSystem.attributes(mountPoint).kind == .directory else { throw Errno.notDirectory }
    } catch { throw Self.unusable(asked, error) }
    if DeadMount.isMounted(mountPoint) {
      throw CommandFailure(
        .mountPointUnusable,
        "'\(mountPoint)' is already mounted by s3mirror; 's3mirror status \(mountPoint)' tells what it is")
    }
    cacheRoot = Self.resolvedParent(of: settings.cacheRoot)
    if Self.isInside(cacheRoot, mountPoint) {
      throw CommandFailure(
        .mountPointUnusable,
        "the cache directory '\(cacheRoot)' would lie under the mount point '\(mountPoint)'; choose another --cache-dir"
      )
    }
    if Self.isInside(mountPoint, cacheRoot) {
      throw CommandFailure(
        .mountPointUnusable,
        "the mount point '\(mountPoint)' lies in the cache directory '\(cacheRoot)'; choose another place")
    }
    if let names = try? FileSystem.list(mountPoint), !names.isEmpty {
      warnings.append("mount point \(mountPoint) is not empty; what it holds is hidden while the mount lasts")
    }
    self.warnings = warnings
  }

  private static func unusable(_ path: String, _ error: Errno) -> CommandFailure {
    let problem =
      switch error {
      case .noEntry: "does not exist; make it first (mkdir -p '\(path)')"
      case .notDirectory: "is not a directory; choose one"
      default: "can't be used: \(error)"
      }
    return CommandFailure(.mountPointUnusable, "mount point '\(path)' \(problem)")
  }

  /// The directory may not exist yet, and a link in its own place is for the cache to refuse.
  private static func resolvedParent(of path: String) -> String {
    guard let parent = FileSystem.parent(of: path), let name = path.split(separator: "/").last else { return path }
    if let resolved = try? FileSystem.resolve(parent) { return (resolved == "/" ? "" : resolved) + "/" + name }
    return resolvedParent(of: parent) + "/" + name
  }

  private static func isInside(_ path: String, _ directory: String) -> Bool {
    path == directory || path.hasPrefix(directory == "/" ? "/" : directory + "/")
  }
}
