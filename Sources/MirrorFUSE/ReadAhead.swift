// The kernel's read-ahead of the mount: INIT cannot raise it above the device's 128 KiB, sysfs can.
import MirrorPlatform

enum ReadAhead {
  /// Tells the mount's backing device to read ahead so far; where sysfs is read-only, the default stays.
  static func raise(to size: ByteCount, mountPoint: String, log: Log) {
    guard let device = try? MountTable.top(at: mountPoint)?.device else { return }
    let path = "/sys/class/bdi/\(device)/read_ahead_kb"
    do throws(Errno) {
      try File.open(path, .write).write(Array("\(size.bytes / 1024)\n".utf8), at: 0)
    } catch { log.debug("\(path) stays as it is: \(error)") }
  }
}
