import MirrorDaemon
import Testing

@Suite(.timeLimit(.minutes(1)))
struct RedactionTests {
  private let redaction = Redaction(secrets: ["wJalrXUtnFEMI/K7MDENG", "short", "wJalrXUtnFEMI/K7MDENG/longer"])

  @Test(arguments: [
    ("the key wJalrXUtnFEMI/K7MDENG, twice: wJalrXUtnFEMI/K7MDENG", "the key [removed], twice: [removed]"),
    ("xwJalrXUtnFEMI/K7MDENG/longerx", "x[removed]x"),
    ("aws_secret_access_key = abc/def", "aws_secret_access_key = [removed]"),
    ("AWS_SESSION_TOKEN=abc def", "AWS_SESSION_TOKEN=[removed] def"),
    (#"{"SecretAccessKey":"abc","Expiration":"x"}"#, #"{"SecretAccessKey":"[removed]","Expiration":"x"}"#),
    ("GET /b?X-Amz-Signature=abc&x=1", "GET /b?X-Amz-Signature=[removed]&x=1"),
    ("Authorization: AWS4-HMAC-SHA256 Credential=x, Signature=y", "Authorization: [removed]"),
    ("x-amz-server-side-encryption-customer-key: a2V5", "x-amz-server-side-encryption-customer-key: [removed]"),
    ("http://me:pass@proxy:3128/x and https://h/p@q", "http://[removed]@proxy:3128/x and https://h/p@q"),
    ("a short word: nothing=1 is secret", "a short word: nothing=1 is secret"),
  ])
  func `what is secret goes, and the rest stays`(line: String, shown: String) {
    #expect(redaction.applied(to: line) == shown)
    #expect(redaction.applied(to: "before\n\(line)\nafter\n") == "before\n\(shown)\nafter\n")
  }
}
