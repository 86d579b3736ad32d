// What reading through a mount leaves in the kernel's memory.
import MirrorPlatform
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(2)), .enabled(if: Machine.hasRealServer && Machine.canTrace))
struct MemoryTests {
  @Test func `what is on the disk is in memory once when it was read`() async throws {
    let bucket = try await RealBucket.make()
    let bytes = content((12 << 20) + 777, 7)
    try await bucket.put("large", bytes)
    let stage = try await bucket.mounted("--data-path", "cached")
    #expect(try await stage.mount.read("large") == bytes)
    try await MountFixture.dropKernelCaches()
    #expect(try await inMemory(stage.mount) == 0, "the test can see it")
    let (again, cost) = try await stage.cost { try await stage.mount.read("large") }
    #expect(again == bytes)
    #expect(cost.total == 0)
    #expect(try await inMemory(stage.mount) < bytes.count / 4)
  }

  /// Bytes of the cache's files that the kernel has in memory (fincore(1)).
  private func inMemory(_ mount: MountFixture) async throws -> Int {
    let told = try await run([
      "sh", "-c", "find \"$0\" -path '*/blobs/*' -type f -exec fincore -bnr -o RES {} +", mount.cache,
    ])
    #expect(told.succeeded)
    return told.output.split(separator: "\n").compactMap { Int($0.filter(\.isNumber)) }.reduce(0, +)
  }
}
