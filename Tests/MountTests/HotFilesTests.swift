// Many files in steady use cost pages, not checks, wherever they lie side by side.
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(4)), .enabled(if: Machine.canMount))
struct HotFilesTests {
  private static let count = 1000
  /// Seconds; the longer one is for a machine that can't open so many files within the other.
  private static let windows = [3, 9]

  private struct TooSlow: Error { let taken: Double }

  private func name(_ number: Int, _ isSpread: Bool) -> String {
    isSpread ? "top/d\(1000 + number)/f" : "hot/f\(1000 + number)"
  }

  /// USD in units of one GET.
  private func price(_ sums: RequestSums) -> Double {
    Double(sums.gets + sums.heads + sums.bucketHeads + sums.others) + 12.5 * Double(sums.lists)
  }

  private func use(_ stage: Stage, _ isSpread: Bool, within window: Int) async throws {
    let script = """
      import os, sys, time
      point, spread, count = sys.argv[1], sys.argv[2] == "true", int(sys.argv[3])
      began = time.monotonic()
      for n in range(1000, 1000 + count):
        path = f"{point}/top/d{n}/f" if spread else f"{point}/hot/f{n}"
        with open(path, "rb") as f: assert f.read() == str(n).encode(), path
      print(time.monotonic() - began)
      """
    let result = try await python(script, stage.mount.point, "\(isSpread)", "\(Self.count)")
    #expect(result.succeeded, "\(result)")
    let taken = Double(result.output.dropLast()) ?? .infinity
    if taken >= Double(window) { throw TooSlow(taken: taken) }
  }

  @Test(arguments: [(true, false), (true, true), (false, false)])
  func `a thousand files that are opened once a window cost two pages a window at most`(
    isSpread: Bool, isReal: Bool
  ) async throws {
    for window in Self.windows {
      do { return try await measure(isSpread, isReal, window) } catch let slow as TooSlow {
        if window == Self.windows.last { throw slow }
      }
    }
  }

  private func measure(_ isSpread: Bool, _ isReal: Bool, _ window: Int) async throws {
    let stage: Stage
    if isReal {
      guard Machine.hasRealServer else { return }
      let bucket = try await RealBucket.make()
      for number in 0..<Self.count { try await bucket.put(name(number, isSpread), "\(1000 + number)") }
      stage = try await bucket.mounted("--freshness", "\(window)s")
    } else {
      let server = try FakeS3()
      for number in 0..<Self.count { server.put(name(number, isSpread), "\(1000 + number)") }
      stage = try await server.mounted("--freshness", "\(window)s")
    }
    // Nothing can be fresh for the whole of the first reading: it fetches each file.
    _ = try await python(
      "import sys, pathlib\nfor p in pathlib.Path(sys.argv[1]).rglob('f*'): p.is_file() and p.read_bytes()",
      stage.mount.point)
    for _ in 0..<2 {
      try await pass(.seconds(window))
      try await use(stage, isSpread, within: window)
    }
    var prices: [Double] = []
    for _ in 0..<5 {
      try await pass(.seconds(window))
      let (_, cost) = try await stage.cost { try await use(stage, isSpread, within: window) }
      prices.append(price(cost))
    }
    #expect(prices.allSatisfy { $0 <= 25 }, "\(prices)")
  }
}
