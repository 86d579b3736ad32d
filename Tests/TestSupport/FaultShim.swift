// Faults below the program: a library preloaded into it whose orders a test changes while it runs.
import Glibc
import MirrorPlatform
import Synchronization

/// The orders for the processes that were started with `environment`; Tests/FaultShim/faults.c carries them out.
public final class FaultShim: Sendable {
  public enum Place: Int64, Sendable { case blob = 1, catalogue = 2 }
  public enum Act: Int64, Sendable { case read = 0, write = 12, make = 24, open = 36 }
  public enum Names: Int32, Sendable { case resolve, nowhere, deadFirst, silentFirst }

  private static let wallPlace: Int64 = 48
  private static let steadyPlace: Int64 = 52
  private static let namesPlace: Int64 = 56
  private static let size = 60

  private let orders: File
  private let directory: TemporaryDirectory

  /// Built at the first use, by the compiler that comes with Swift.
  private static let library: Result<String, SystemFailure> = Result { () throws(SystemFailure) in
    let source = #filePath.split(separator: "/").dropLast(2).map { "/\($0)" }.joined() + "/FaultShim/faults.c"
    // Swift needs one beside itself, which need not be on PATH.
    let besideSwift = findProgram("swift").flatMap { try? FileSystem.resolve($0) }.flatMap { FileSystem.parent(of: $0) }
    guard let compiler = findProgram("clang") ?? findProgram("cc") ?? besideSwift.map({ "\($0)/clang" }) else {
      throw SystemFailure(message: "no C compiler")
    }
    do {
      let result = try built.withLock { place in
        let directory = try TemporaryDirectory("shim")
        place = directory
        return try runBlocking(
          [compiler, "-shared", "-fPIC", "-O1", "-o", directory.file("faults.so"), source], limit: .seconds(60))
      }
      guard result.succeeded, let path = built.withLock({ $0?.file("faults.so") }) else {
        throw SystemFailure(message: "\(source): \(result)")
      }
      return path
    } catch { throw error as? SystemFailure ?? SystemFailure(message: "\(error)") }
  }
  private static let built = Mutex<TemporaryDirectory?>(nil)

  public init() throws {
    _ = try Self.library.get()
    directory = try TemporaryDirectory("orders")
    try FileSystem.write([UInt8](repeating: 0, count: Self.size), to: directory.file("orders"), mode: 0o600)
    orders = try File.open(directory.file("orders"), .readWrite)
  }

  public var environment: [String: String] {
    ["LD_PRELOAD": (try? Self.library.get()) ?? "", "S3MIRROR_TEST_FAULTS": directory.file("orders")]
  }

  /// From now on `act` on files of a place fails with this; nil: it works again.
  public func fail(_ act: Act, _ place: Place, _ errno: Int32?) throws {
    try set(act.rawValue + place.rawValue * 4, errno ?? 0)
  }

  /// Steps the clocks to so many seconds ahead; that of the steady one is what a suspended machine slept.
  public func step(wall: Int32, steady: Int32 = 0) throws {
    try set(Self.wallPlace, wall)
    try set(Self.steadyPlace, steady)
  }

  /// What `NAME.fault.test` resolves to.
  public func resolve(_ names: Names) throws { try set(Self.namesPlace, names.rawValue) }

  /// Nothing is wrong with files and names any more; clocks stay.
  public func clear() throws { try orders.write([UInt8](repeating: 0, count: Int(Self.wallPlace)), at: 0) }

  private func set(_ place: Int64, _ value: Int32) throws {
    try orders.write(withUnsafeBytes(of: value) { Array($0) }, at: place)
  }
}
