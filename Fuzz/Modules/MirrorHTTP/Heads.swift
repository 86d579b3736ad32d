// Heads of answers out of lines, as libcurl hands them over.
import MirrorPlatform

/// Every head in the bytes; nil behind what is malformed.
public func fuzzHeads(_ bytes: [UInt8]) -> [HTTPHead] {
  var parser = HTTPHeadParser()
  var heads: [HTTPHead] = []
  for line in bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
    switch parser.receive(line: Array(line) + [0x0A]) {
    case .more: break
    case .malformed: return heads
    case .head(let head):
      promise((200...999).contains(head.status), "an answer has a final status")
      heads.append(head)
      let fields = head.all(prefix: "")
      let again = HTTPHead(status: head.status, fields: fields)
      promise(
        again.all(prefix: "").elementsEqual(fields) { $0.name == $1.name && $0.value == $1.value },
        "fields that are written again are the same")
      promise(head.contentLength.map { $0 >= 0 } ?? true, "no length is negative")
    }
  }
  return heads
}
