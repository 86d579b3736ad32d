import MirrorDaemon
import MirrorStore
import Testing

@Suite(.timeLimit(.minutes(1)))
struct SourceTests {
  // A082
  @Test(arguments: [
    ("bucket", "bucket", ""), ("bucket/", "bucket", ""), ("bucket/a", "bucket", "a/"), ("bucket/a/", "bucket", "a/"),
    ("s3://bucket", "bucket", ""), ("S3://bucket/a/b", "bucket", "a/b/"), ("arn:aws:s3:::bucket/a", "bucket", "a/"),
    ("my-ap-abc123-s3alias", "my-ap-abc123-s3alias", ""), ("bucket//a", "bucket", "/a/"),
    ("arn:aws:s3:eu-west-1:1:accesspoint/n", "arn:aws:s3:eu-west-1:1:accesspoint/n", ""),
    ("arn:aws:s3:eu-west-1:1:accesspoint/n/", "arn:aws:s3:eu-west-1:1:accesspoint/n", ""),
    ("arn:aws:s3:eu-west-1:1:accesspoint/n/a/b", "arn:aws:s3:eu-west-1:1:accesspoint/n", "a/b/"),
  ])
  func `a source names a bucket and a prefix`(written: String, bucket: String, prefix: String) throws {
    let source = try Source(parsing: written)
    #expect(source.bucket == bucket)
    #expect(source.prefix == ObjectKey(prefix))
    #expect(source.written == written)
  }

  @Test(arguments: [
    ("", "name is missing"), ("s3://", "name is missing"), ("/etc", "SOURCE, a bucket, comes first"),
    ("B_Up", "upper-case"),
    ("My-Bucket", "is it 'my-bucket'?"), ("a_b", "lower-case letters, digits"), ("bucket.", "begins and ends"),
    ("a..b", "'..'"), ("10.0.0.1", "IP address"), ("https://host/bucket", "--endpoint-url"),
    ("gs://bucket", "only s3://"), ("arn:aws:s3", "not the ARN of"),
    ("arn:aws:s3:::My", "upper-case"), ("arn:aws:sns:a:b:c", "not the ARN of"),
    (String(repeating: "a", count: 64), "63"),
  ])
  func `a name that can't be a bucket is refused with a hint`(written: String, hint: String) {
    do throws(CommandFailure) {
      let source = try Source(parsing: written)
      Issue.record("\(written) was taken for \(source)")
    } catch {
      #expect(error.code == .usage)
      #expect(error.message.contains(hint), "\(error.message)")
    }
  }
}
