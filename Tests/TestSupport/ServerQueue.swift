// A queue of moto's SQS, and a bucket of its S3 that tells the queue what happens.
import MirrorPlatform

extension RealServer {
  /// A new queue that hears of all that is written to a bucket or deleted; its URL. moto only.
  public func makeQueue(hearing bucket: String) async throws -> String {
    let name = "q-\(bucket)"
    try await blocking { [self] in
      // Nothing but the service and the region is looked at.
      let scope = "Credential=\(Self.accessKey)/20260101/us-east-1/sqs/aws4_request"
      let fields = Fields([
        ("Host", "127.0.0.1:\(port)"), ("Content-Type", "application/x-amz-json-1.0"),
        ("X-Amz-Target", "AmazonSQS.CreateQueue"),
        ("Authorization", "AWS4-HMAC-SHA256 \(scope), SignedHeaders=host, Signature=0"),
      ])
      let body = JSON.object([("QueueName", .string(name))]).text
      let made = try exchange(port: port, method: "POST", target: "/", fields: fields, body: Array(body.utf8))
      guard made.status == 200 else {
        throw SystemFailure(message: "CreateQueue: \(made.status) \(String(decoding: made.body, as: UTF8.self))")
      }
      let wish = """
        <NotificationConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><QueueConfiguration>\
        <Queue>arn:aws:sqs:us-east-1:123456789012:\(name)</Queue><Event>s3:ObjectCreated:*</Event>\
        <Event>s3:ObjectRemoved:*</Event></QueueConfiguration></NotificationConfiguration>
        """
      let told = try send("PUT", "/\(bucket)", query: "notification=", body: Array(wish.utf8))
      guard told.status == 200 else {
        throw SystemFailure(message: "notifications: \(told.status) \(String(decoding: told.body, as: UTF8.self))")
      }
    }
    return "\(endpoint)/123456789012/\(name)"
  }
}
