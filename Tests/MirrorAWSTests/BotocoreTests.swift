// Requests as this program sends them against the same ones signed by botocore.
import MirrorHTTP
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@testable import MirrorAWS

@Suite("Botocore", .timeLimit(.minutes(1)))
struct BotocoreTests {
  /// The repository's virtual environment, where `scripts/test` installs it, or the system's Python.
  static let python: String? = {
    let repository = #filePath.split(separator: "/").dropLast(3).map { "/\($0)" }.joined()
    return ["\(repository)/.venv/bin/python", "python3"].first { program in
      guard findProgram(program) != nil else { return false }
      return (try? runBlocking([program, "-c", "import botocore.auth"]))?.succeeded ?? false
    }
  }()

  /// Makes up requests and prints them with their URLs and signatures, one JSON object a line.
  static let script = #"""
    import base64, datetime, json, random, string
    import botocore.auth, botocore.awsrequest, botocore.credentials
    from botocore.utils import percent_encode
    chance = random.Random(20261130)
    def octets(low, high):
        return bytes(chance.randrange(256) for _ in range(chance.randint(low, high)))
    def text(low, high, letters):
        return ''.join(chance.choice(letters) for _ in range(chance.randint(low, high)))
    marks = string.ascii_letters + string.digits + " !*'()$&+,;=:@[]%#?\"<>{}|\\^`~-._/" + "äß€😀e\u0301é\n\t\x01"
    def key():
        kind = chance.randrange(5)
        if kind == 0: return octets(1, 60)
        if kind == 1: return chance.choice([b'a//b', b'/lead', b'./x', b'a/../b', b'dir/', b'%41', b'a+b c', b'~', b'..'])
        return text(1, 80, marks).encode()
    for number in range(500):
        now = datetime.datetime(2013, 1, 1) + datetime.timedelta(seconds=chance.randrange(10**9))
        botocore.auth.get_current_datetime = lambda: now
        region = chance.choice(['us-east-1', 'eu-west-3', 'cn-north-1', 'us-gov-west-1', 'eusc-de-east-1', 'garage', 'auto'])
        token = text(1, 300, string.ascii_letters + string.digits + '+/=') if chance.random() < .5 else None
        keys = botocore.credentials.Credentials('AK' + text(14, 18, string.ascii_uppercase),
                                                text(40, 40, string.ascii_letters + '+/'), token)
        custom = chance.choice([None, None, 'http://127.0.0.1:9000', 'https://s3.example.com:8443/base', 'http://[fd00::1]:80'])
        dotted = chance.random() < .2
        bucket = text(3, 20, string.ascii_lowercase + string.digits) + ('.x' if dotted else '')
        suffix = {'cn': 'amazonaws.com.cn', 'eusc': 'amazonaws.eu'}.get(region.split('-')[0], 'amazonaws.com')
        if custom:
            base = custom.replace(']:80', ']') + '/' + bucket
        elif dotted:
            base = f'https://s3.{region}.{suffix}/{bucket}'
        else:
            base = f'https://{bucket}.s3.{region}.{suffix}'
        listing = chance.random() < .3
        name, query = b'', []
        if listing:
            query = [('list-type', b'2'), ('encoding-type', b'url'), ('max-keys', b'1000'), ('prefix', octets(0, 30))]
            if chance.random() < .5: query.append(('delimiter', b'/'))
            if chance.random() < .5: query.append(('start-after', key()))
            if chance.random() < .3: query.append(('continuation-token', text(1, 90, string.ascii_letters + '+/=').encode()))
            url = base if base.count('/') > 2 else base + '/'
            url += '?' + '&'.join(f'{n}={percent_encode(v, safe="-._~")}' for n, v in chance.sample(query, len(query)))
        else:
            name = key()
            url = base + '/' + percent_encode(name, safe='/-._~')
        headers = {}
        if not listing and chance.random() < .7: headers['x-amz-checksum-mode'] = 'ENABLED'
        if chance.random() < .3: headers['x-amz-request-payer'] = 'requester'
        if chance.random() < .2: headers['x-amz-expected-bucket-owner'] = text(12, 12, string.digits)
        method = 'GET' if listing or chance.random() < .7 else 'HEAD'
        request = botocore.awsrequest.AWSRequest(method=method, url=url, headers=headers)
        botocore.auth.S3SigV4Auth(keys, 's3', region).add_auth(request)
        print(json.dumps(dict(
            method=method, bucket=bucket, region=region, custom=custom, key=base64.b64encode(name).decode(),
            query=[[n, base64.b64encode(v).decode()] for n, v in query], headers=list(map(list, headers.items())),
            id=keys.access_key, secret=keys.secret_key, token=token, time=int(now.replace(tzinfo=datetime.timezone.utc).timestamp()),
            url=url.split('?')[0], authorization=request.headers['Authorization'])))
    """#

  @Test(.enabled(if: python != nil, "no Python here has botocore; scripts/test installs it"))
  func `500 random requests are signed as botocore signs them`() async throws {
    let python = try #require(Self.python)
    let result = try await run([python, "-c", Self.script], limit: .seconds(50))
    #expect(result.succeeded, "\(result)")
    let lines = result.output.split(separator: "\n")
    #expect(lines.count == 500)
    for line in lines {
      let vector = try #require(JSON(parsing: Array(line.utf8)))
      let (request, url) = try sent(vector)
      #expect(url == vector["url"]?.string, "\(line)")
      #expect(request.field("authorization") == vector["authorization"]?.string, "\(line)")
    }
  }

  /// The request that the store makes of it, and its URL without the query.
  private func sent(_ vector: JSON) throws -> (HTTPRequest, String) {
    func text(_ name: String) throws -> String { try #require(vector[name]?.string) }
    func pairs(_ name: String) throws -> [(String, String)] {
      guard case .array(let items)? = vector[name] else { return [] }
      return try items.map { item in
        guard case .array(let pair) = item, pair.count == 2 else { throw CredentialError("bad vector") }
        return (try #require(pair[0].string), try #require(pair[1].string))
      }
    }
    let key = try #require(bytes(base64: try text("key")))
    let endpoint = try Endpoint(
      bucket: try text("bucket"), region: try text("region"), customURL: vector["custom"]?.string)
    var question = Question(operation: "Test", subject: "", kind: .get)
    question.method = try text("method") == "HEAD" ? .head : .get
    question.key = key.isEmpty ? nil : ObjectKey(key)
    question.query = try pairs("query").map { ($0.0, try #require(bytes(base64: $0.1))) }
    question.headers = try pairs("headers").map { HTTPField($0.0, $0.1) }
    let credentials = Credentials(
      accessKeyID: try text("id"), secretAccessKey: try text("secret"), sessionToken: vector["token"]?.string)
    let request = question.request(
      at: Target(endpoint, key: question.key), identity: .signed(credentials),
      date: Timestamp(seconds: try #require(vector["time"]?.int)), keys: SigningKeys(), timeout: nil)
    return (request, String(request.url.prefix { $0 != "?" }))
  }
}
