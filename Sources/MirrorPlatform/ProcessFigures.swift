// What this process takes of the machine, as /proc tells it.
import Glibc

/// A look at /proc/self (proc(5)).
public struct ProcessFigures: Equatable, Sendable {
  /// Memory that is resident, bytes.
  public var residentBytes: Int64 = 0
  /// Processor time of all threads, seconds.
  public var processorSeconds = 0.0
  public var openFiles = 0

  public init() {}

  public static var current: ProcessFigures {
    var figures = ProcessFigures()
    if let text = try? FileSystem.read("/proc/self/statm") {
      let pages = String(decoding: text, as: UTF8.self).split(separator: " ").dropFirst().first.flatMap { Int64($0) }
      figures.residentBytes = (pages ?? 0) * Int64(sysconf(Int32(_SC_PAGESIZE)))
    }
    var time = timespec()
    if unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0 {
      figures.processorSeconds = Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
    }
    figures.openFiles = (try? FileSystem.list("/proc/self/fd").count) ?? 0
    return figures
  }
}
