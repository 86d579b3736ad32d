// The `<Error>` document of a refused request (S3 API Reference, Error responses).

struct ErrorDocument: Hashable, Sendable {
  var code = ""
  var message = ""
  var region: String?
  var requestID: String?
  /// Of an object that is archived.
  var storageClass: String?

  /// Takes an element that matters; others are passed over.
  mutating func take(_ name: String, _ text: [UInt8]) {
    // What a server says of itself ends in messages: it is bounded.
    let value = String(decoding: text.prefix(1024), as: UTF8.self)
    switch name {
    case "Code": if code.isEmpty { code = value }
    case "Message": if message.isEmpty { message = value }
    case "Region": region = value.isEmpty ? nil : value
    case "RequestId": requestID = value
    case "StorageClass": storageClass = value
    default: break
    }
  }

  /// Nil for what is no error document; one that was cut gives what it has.
  static func parse(_ bytes: [UInt8]) -> ErrorDocument? {
    let consumer = Consumer()
    let reader = XMLReader(consumer)
    if reader.feed(bytes) { _ = reader.finish() }
    return consumer.isError && !consumer.document.code.isEmpty ? consumer.document : nil
  }

  private final class Consumer: XMLConsumer {
    var document = ErrorDocument()
    var isError = false
    func opened(_ name: String, depth: Int) {
      if depth == 1 { isError = name == "Error" || name == "ErrorResponse" }
    }
    func closed(_ name: String, depth: Int, text: [UInt8]) { document.take(name, text) }
  }
}
