// The real server of the mounted tests: it starts, and believes our signatures.
import Testing

@testable import TestSupport

@Suite(.timeLimit(.minutes(2)), .enabled(if: RealServer.isAvailable))
struct `The real S3 server` {
  @Test func `keeps what a signed request puts`() async throws {
    let server = try await RealServer.shared()
    let bucket = try await server.makeBucket()
    try await server.put(bucket, "dir/a b+é.txt", "hello")
    let answer = try await blocking { try server.send("GET", "/\(bucket)/dir/a%20b%2B%C3%A9.txt") }
    #expect(answer.status == 200)
    #expect(answer.body == Array("hello".utf8))
    try await server.delete(bucket, "dir/a b+é.txt")
    #expect(try await blocking { try server.send("GET", "/\(bucket)/dir/a%20b%2B%C3%A9.txt").status } == 404)
  }
}
