// What the kernel answers by itself within the window, and how little it asks for a listing with attributes.
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(3)), .enabled(if: Machine.hasRealServer && Machine.canTrace))
struct UpcallTests {
  @Test func `within the window opening, reading and looking reach nobody`() async throws {
    let bucket = try await RealBucket.make()
    for index in 0..<10 { try await bucket.put("d/f\(index)", content(100_000, UInt64(index))) }
    let stage = try await bucket.mounted("--data-path", "cached", "--freshness", "60s")
    let names = (0..<10).map { "d/f\($0)" }
    var calls = Upcalls("")
    for _ in 0..<4 {
      for name in names { _ = try await stage.mount.read(name) }
      calls = try await Upcalls.during(stage.mount) {
        let (_, cost) = try await stage.cost { () -> Void in
          for _ in 0..<20 {
            for name in names {
              let (bytes, size) = (try await stage.mount.read(name), try await stage.mount.attributes(name).size)
              #expect(bytes.count == 100_000)
              #expect(size == 100_000)
            }
          }
        }
        #expect(cost.total == 0)
      }
      // Another test may just have had the kernel forget all it knew.
      if calls.total == 0 { break }
    }
    #expect(calls.total == 0, "\(calls.byOpcode)")
    // The measure itself can see.
    let absent = try await Upcalls.during(stage.mount) { _ = try? await stage.mount.attributes("d/nothing") }
    #expect(absent[Upcalls.lookUp] >= 1, "\(absent.byOpcode)")
  }

  @Test func `ls -l of three hundred files asks for hardly any extended attribute`() async throws {
    let server = try FakeS3()
    for index in 0..<300 { server.put("d/f\(index)", "x") }
    let stage = try await server.mounted()
    let calls = try await Upcalls.during(stage.mount) {
      let listing = try await stage.mount.shell("ls -l --color=always d | wc -l")
      #expect(listing.output == "301\n")
    }
    let extended = calls[Upcalls.getExtendedAttribute] + calls[Upcalls.listExtendedAttributes]
    #expect(extended <= 10, "\(calls.byOpcode)")
    #expect(calls[Upcalls.lookUp] + calls[Upcalls.getAttributes] <= 20, "\(calls.byOpcode)")
    #expect(calls[Upcalls.readDirectoryPlus] > 0)
  }
}
