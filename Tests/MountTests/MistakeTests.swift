// What a new user gets wrong, and the exact words that name the mistake and its cure.
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(2)), .enabled(if: Machine.canMount))
struct MistakeTests {
  /// In arguments and messages: `{M}` the mount point, `{H}` a directory of one's own, `{E}` the server, `{P}` its port.
  struct Mistake: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let arguments: [String]
    let code: Int32
    let message: String
    var fault: Fault?
    var environment: [String: String] = [:]
    /// A configuration file of the user's.
    var configuration = ""
    /// Is mounted before.
    var isMounted = false

    init(
      _ description: String, _ arguments: [String], _ code: Int32, _ message: String, fault: Fault? = nil,
      environment: [String: String] = [:], configuration: String = "", isMounted: Bool = false
    ) {
      testDescription = description
      (self.arguments, self.code, self.message) = (arguments, code, message)
      self.fault = fault
      (self.environment, self.configuration, self.isMounted) = (environment, configuration, isMounted)
    }
  }

  private static let mount = ["mount", "--endpoint-url", "{E}", "--cache-dir", "{H}/cache"]

  static let all: [Mistake] = [
    Mistake("a command that does not exist", ["mout", "b", "{M}"], 2, "unknown command 'mout'; did you mean 'mount'?"),
    Mistake(
      "no command", ["my-bucket", "{M}"], 2,
      "unknown command 'my-bucket'; the command comes first: s3mirror mount SOURCE MOUNTPOINT"),
    Mistake(
      "no mount point", ["mount", "my-bucket"], 2,
      "MOUNTPOINT is missing, and no configuration file has a section [mount \"my-bucket\"]; usage: s3mirror mount [options] SOURCE MOUNTPOINT, or NAME of a mount in s3mirror.conf(5)"
    ),
    Mistake(
      "source and mount point swapped", ["mount", "{M}", "my-bucket"], 2,
      "source '{M}': this is a path; SOURCE, a bucket, comes first, and then MOUNTPOINT"),
    Mistake(
      "the bucket as a web address", ["mount", "https://my-bucket.s3.amazonaws.com", "{M}"], 2,
      "source 'https://my-bucket.s3.amazonaws.com': write it as s3://my-bucket"),
    Mistake(
      "one slash", ["mount", "s3:/my-bucket", "{M}"], 2,
      "source 's3:/my-bucket': write it with two slashes: s3://BUCKET/PREFIX"),
    Mistake(
      "upper case", ["mount", "My-Bucket", "{M}"], 2,
      "source 'My-Bucket': bucket names have no upper-case letters (is it 'my-bucket'?)"),
    Mistake(
      "an option mistyped", ["mount", "--freshnes", "1m", "b", "{M}"], 2,
      "unknown option '--freshnes'; did you mean '--freshness'?"),
    Mistake(
      "an option of a list mistyped", ["mount", "b", "{M}", "-o", "allow_others"], 2,
      "unknown option '-o allow_others'; did you mean '-o allow-other'?"),
    Mistake(
      "a duration in words", ["mount", "--freshness", "1hour", "b", "{M}"], 2,
      "option '--freshness 1hour': '1hour': the lifetime must be a duration (500ms, 60s, 15m, 1h, 7d), 'always', 'forever' or 'origin'"
    ),
    Mistake(
      "a size in words", ["mount", "--cache-size", "ten gigabytes", "b", "{M}"], 2,
      "option '--cache-size ten gigabytes': a size is a number and a unit: 64MiB, 10GB"),
    Mistake(
      "an endpoint without a scheme", ["mount", "--endpoint-url", "localhost:9000", "b", "{M}"], 2,
      "option '--endpoint-url localhost:9000': a URL begins with http:// or https://"),
    Mistake(
      "a budget without a unit", ["mount", "--budget", "5/month", "b", "{M}"], 2,
      "option '--budget 5/month': a budget is an amount of USD or of requests: 5USD/month, 2000req/hour"),
    Mistake(
      "a mount point that does not exist", mount + ["b", "{H}/none"], 3,
      "mount point '{H}/none' does not exist; make it first (mkdir -p '{H}/none')"),
    Mistake(
      "a file for a mount point", mount + ["b", "/etc/hostname"], 3,
      "mount point '/etc/hostname' is not a directory; choose one"),
    Mistake(
      "the cache in the mount point", ["mount", "--cache-dir", "{M}/cache", "b", "{M}"], 3,
      "the cache directory '{M}/cache' would lie under the mount point '{M}'; choose another --cache-dir"),
    Mistake(
      "mounted already", mount + ["bucket", "{M}"], 3,
      "'{M}' is already mounted by s3mirror; 's3mirror status {M}' tells what it is", isMounted: true),
    Mistake(
      "no credentials", mount + ["bucket", "{M}"], 5,
      "can't mount bucket: ListObjectsV2 bucket/: no credentials found (asked: environment, profile default, container); check the credentials and --profile, or use --no-sign-request for a public bucket",
      environment: ["AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""]),
    Mistake(
      "a profile that does not exist", mount + ["--profile", "reader", "bucket", "{M}"], 5,
      "can't mount bucket: ListObjectsV2 bucket/: no profile reader in the shared files, nor any other; check the credentials and --profile, or use --no-sign-request for a public bucket"
    ),
    Mistake(
      "a wrong secret", mount + ["bucket", "{M}"], 5,
      "can't mount bucket: ListObjectsV2 bucket/: SignatureDoesNotMatch, said the scripted server (HTTP 403 SignatureDoesNotMatch) [request REQUEST0]; check the credentials and --profile, or use --no-sign-request for a public bucket",
      fault: .status(403, code: "SignatureDoesNotMatch")),
    Mistake(
      "no rights", mount + ["bucket", "{M}"], 5,
      "can't mount bucket: ListObjectsV2 bucket/: AccessDenied, said the scripted server (HTTP 403 AccessDenied) [request REQUEST0]; these credentials need s3:ListBucket and s3:GetObject here; where they are for a part of it, mount BUCKET/PREFIX; where the owner does not pay, --requester-pays",
      fault: .status(403, code: "AccessDenied")),
    Mistake(
      "a bucket that does not exist", mount + ["no-such-bucket", "{M}"], 4,
      "can't mount no-such-bucket: ListObjectsV2 no-such-bucket/: NoSuchBucket, said the scripted server (HTTP 404 NoSuchBucket) [request REQUEST0]; check its name, and --endpoint-url if it is not at AWS"
    ),
    Mistake(
      "a server that is not there",
      ["mount", "--endpoint-url", "http://127.0.0.1:9", "--cache-dir", "{H}/cache", "b", "{M}"], 6,
      "can't mount b: ListObjectsV2 b/: Couldn't connect to server (127.0.0.1:9); check the network and --endpoint-url"),
    Mistake(
      "unmounting what is not mounted", ["unmount", "{M}"], 8, "'{M}' is not a mount of s3mirror; see 's3mirror status'"
    ),
    Mistake(
      "a path outside of all mounts", ["refresh", "{H}/file"], 8,
      "'{H}/file' does not lie in a mount of s3mirror; see 's3mirror status'"),
    Mistake(
      "a name for a mount that is not configured", ["mount", "contend"], 2,
      "MOUNTPOINT is missing, and no configuration file has a section [mount \"contend\"]; did you mean 'content'?",
      configuration: "[mount \"content\"]\nsource = b\nmountpoint = /m\n"),
    Mistake(
      "a key mistyped in the configuration", ["mount", "b", "{M}"], 2,
      "{H}/s3mirror/s3mirror.conf:1: there is no key 'freshnes'; did you mean 'freshness'?",
      configuration: "freshnes = 1m\n"),
    Mistake(
      "a secret in the configuration", ["mount", "b", "{M}"], 2,
      "{H}/s3mirror/s3mirror.conf:1: 'secret_access_key': credentials are not kept here; put them into ~/.aws/credentials and name the 'profile'",
      configuration: "secret_access_key = hush\n"),
  ]

  @Test(arguments: all)
  func `a mistake is named, and its cure`(_ mistake: Mistake) async throws {
    let server = try FakeS3()
    server.put("f", "x")
    let fixture = try MountFixture(server.bucket, endpoint: server.endpoint, environment: mistake.environment)
    let home = try #require(FileSystem.parent(of: fixture.point))
    let place = { (text: String) in
      [("{M}", fixture.point), ("{H}", home), ("{E}", server.endpoint)].reduce(text) { text, pair in
        text.split(separator: pair.0, omittingEmptySubsequences: false).joined(separator: pair.1)
      }
    }
    if !mistake.configuration.isEmpty {
      try FileSystem.makeDirectories(home + "/s3mirror")
      try FileSystem.write(Array(mistake.configuration.utf8), to: home + "/s3mirror/s3mirror.conf", mode: 0o600)
    }
    if mistake.isMounted { #expect(try await fixture.mount().succeeded) }
    if let fault = mistake.fault { server.inject(fault) }
    let result = try await fixture.command(mistake.arguments.map(place))
    #expect(result.status == mistake.code, "\(result)")
    #expect(result.errors == "s3mirror: \(place(mistake.message))\n")
    #expect(result.output.isEmpty)
    #expect(fixture.isMounted == mistake.isMounted)
  }
}
