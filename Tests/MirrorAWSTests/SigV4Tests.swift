// Signatures against known ones, stage by stage.
import MirrorPlatform
import Testing

@testable import MirrorAWS

@Suite("SigV4", .timeLimit(.minutes(1)))
struct SigV4Tests {
  private func signer(_ vector: SigningVector) -> SigV4 {
    SigV4(
      credentials: Credentials(
        accessKeyID: SigningVector.accessKeyID, secretAccessKey: SigningVector.secret, sessionToken: vector.token),
      region: vector.region, date: Timestamp(seconds: vector.timestamp))
  }

  private func canonical(_ vector: SigningVector) -> CanonicalRequest {
    CanonicalRequest(
      method: vector.method, path: vector.path,
      query: CanonicalQuery(vector.query.map { ($0.0, Array($0.1.utf8)) }),
      headers: vector.headers.map { (name: $0.0, value: $0.1) }, payloadHash: vector.payload)
  }

  @Test(arguments: SigningVector.all)
  func `a canonical request hashes to the known value`(vector: SigningVector) {
    let hash = hexadecimal(Digest.value(.sha256, of: Array(canonical(vector).text.utf8)))
    #expect(hash == vector.canonicalHash)
  }

  @Test(arguments: SigningVector.all)
  func `a signature is the known one`(vector: SigningVector) {
    let signer = signer(vector)
    let signature = signer.signature(of: signer.stringToSign(canonical(vector)), key: signer.signingKey)
    #expect(signature == vector.signature)
  }

  @Test(arguments: SigningVector.all.filter { $0.key != nil })
  func `a key is encoded once and nothing in it normalised`(vector: SigningVector) {
    #expect(CanonicalQuery.path(key: Array((vector.key ?? "").utf8)) == vector.path)
  }

  @Test func `the authorization header names scope and signed headers`() throws {
    let vector = try #require(SigningVector.all.first)
    let signer = signer(vector)
    #expect(
      signer.authorization(canonical(vector), key: signer.signingKey)
        == "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
        + "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, Signature=\(vector.signature)")
  }

  @Test func `values are trimmed, blanks inside become one, and equal names join`() {
    let request = CanonicalRequest(
      method: "GET", path: "/", query: CanonicalQuery(),
      headers: [("X-B", "  two   words "), ("host", "h"), ("x-a", "1"), ("X-A", "2")])
    #expect(request.text.contains("\nhost:h\nx-a:1,2\nx-b:two words\n\nhost;x-a;x-b\n"))
  }

  @Test func `a query is ordered by encoded name, and a space is %20`() {
    let query = CanonicalQuery([("prefix", Array("a b+c/".utf8)), ("list-type", [0x32]), ("lifecycle", [])])
    #expect(query.text == "lifecycle=&list-type=2&prefix=a%20b%2Bc%2F")
  }

  @Test func `a cached key is the derived one, and another secret gets another`() {
    let keys = SigningKeys()
    let date = Timestamp(seconds: 1_369_353_600)
    let one = SigV4(credentials: Credentials(accessKeyID: "A", secretAccessKey: "s1"), region: "r", date: date)
    let two = SigV4(credentials: Credentials(accessKeyID: "A", secretAccessKey: "s2"), region: "r", date: date)
    let tomorrow = SigV4(
      credentials: one.credentials, region: "r", date: Timestamp(seconds: 1_369_353_600 + 86400))
    for signer in [one, two, tomorrow, one] { #expect(keys.key(for: signer) == signer.signingKey) }
    #expect(keys.key(for: one) != keys.key(for: two))
    #expect(keys.key(for: one) != keys.key(for: tomorrow))
  }

  @Test func `credentials never show their secret`() {
    let credentials = Credentials(accessKeyID: "AKID", secretAccessKey: "hidden-1", sessionToken: "hidden-2")
    var dumped = ""
    dump(credentials, to: &dumped)
    dump(Identity.signed(credentials), to: &dumped)
    for text in ["\(credentials)", String(reflecting: credentials), "\(Identity.signed(credentials))", dumped] {
      #expect(text.contains("AKID"))
      #expect(!text.contains("hidden"))
    }
  }
}
