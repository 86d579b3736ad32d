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

@Suite(.timeLimit(.minutes(2)), .enabled(if: RealServer.isAvailable))
struct `The counting proxy` {
  @Test func `passes signed requests and counts them`() async throws {
    let server = try await RealServer.shared()
    let proxy = try CountingProxy(to: server.port)
    let bucket = try await server.makeBucket()
    try await server.put(bucket, "k", "hello")
    let port = proxy.port
    let signature = Signature(accessKey: RealServer.accessKey, secretKey: RealServer.secretKey)
    func ask(_ method: String, _ path: String, query: String = "") async throws -> (status: Int, body: [UInt8]) {
      let fields = signature.sign(
        method: method, host: "127.0.0.1:\(port)", path: path, query: query, fields: Fields(), body: [])
      let target = query.isEmpty ? path : "\(path)?\(query)"
      let answer = try await blocking { try exchange(port: port, method: method, target: target, fields: fields) }
      return (answer.status, answer.body)
    }
    #expect(try await ask("GET", "/\(bucket)/k").body == Array("hello".utf8))
    #expect(try await ask("HEAD", "/\(bucket)/k").status == 200)
    #expect(try await ask("GET", "/\(bucket)", query: "list-type=2").status == 200)
    #expect(try await ask("HEAD", "/\(bucket)").status == 200)
    #expect(proxy.sums.gets == 1)
    #expect(proxy.sums.heads == 1)
    #expect(proxy.sums.lists == 1)
    #expect(proxy.sums.bucketHeads == 1)
    #expect(proxy.requests(.get).map(\.bytesSent) == [5])
    proxy.setMode(.refuse)
    await #expect(throws: SystemFailure.self) { try await ask("GET", "/\(bucket)/k") }
    proxy.setMode(.ok)
    proxy.reset()
    #expect(try await ask("GET", "/\(bucket)/k").status == 200)
    #expect(proxy.sums.total == 1)
  }
}
