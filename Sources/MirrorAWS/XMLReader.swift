// XML as a stream of elements: each with its text when it closes.
import CXML

/// Learns of elements as they open and close.
protocol XMLConsumer: AnyObject {
  /// `depth` counts from 1 for the root.
  func opened(_ name: String, depth: Int)
  /// `text` is what stood directly before the closing tag.
  func closed(_ name: String, depth: Int, text: [UInt8])
}

/// Feeds one document through libxml2; not for sharing between threads.
@safe final class XMLReader {
  private static let depthCap: Int32 = 32
  private static let textCap = 64 << 10
  /// A page of a thousand keys of 1,024 bytes, each of them escaped, takes less than a sixth of it.
  private static let lengthCap = 32 << 20

  /// Owns this reader, or outlives it; counting references to it would be a third of the work.
  private unowned(unsafe) let consumer: any XMLConsumer
  /// Names by where libxml2 keeps them: it has one copy of each for as long as the document lives.
  private var places: [UInt] = []
  private var names: [String] = []
  private var parser: OpaquePointer?
  private var depth = 0
  private var length = 0
  private var text: [UInt8] = []

  init(_ consumer: any XMLConsumer) {
    unsafe self.consumer = consumer
    unsafe parser = nil
    var callbacks = unsafe cxml_callbacks(start: xmlElementStarts, end: xmlElementEnds, text: xmlText)
    let context = unsafe Unmanaged.passUnretained(self).toOpaque()
    unsafe parser = cxml_create(&callbacks, context, Self.depthCap, Self.textCap)
  }
  deinit { unsafe cxml_free(parser) }

  /// False when the document is no XML, or not of the kind an answer may be.
  func feed(_ bytes: RawSpan) -> Bool {
    length += bytes.byteCount
    guard let parser = unsafe parser, length <= Self.lengthCap else { return false }
    return unsafe bytes.withUnsafeBytes { unsafe cxml_feed(parser, $0.baseAddress, $0.count) == 1 }
  }

  func feed(_ bytes: [UInt8]) -> Bool { unsafe feed(bytes.span.bytes) }

  /// Whether the document was complete.
  func finish() -> Bool {
    guard let parser = unsafe parser, length <= Self.lengthCap else { return false }
    return unsafe cxml_finish(parser) == 1
  }

  private func name(_ place: UnsafePointer<CChar>) -> String {
    let address = UInt(bitPattern: place)
    if let known = places.firstIndex(of: address) { return names[known] }
    let name = unsafe String(cString: place)
    if names.count < 32 {
      places.append(address)
      names.append(name)
    }
    return name
  }

  fileprivate func start(_ place: UnsafePointer<CChar>) {
    let name = unsafe name(place)
    depth += 1
    text.removeAll(keepingCapacity: true)
    unsafe consumer.opened(name, depth: depth)
  }
  fileprivate func end(_ place: UnsafePointer<CChar>) {
    let name = unsafe name(place)
    unsafe consumer.closed(name, depth: depth, text: text)
    text.removeAll(keepingCapacity: true)
    depth -= 1
  }
  fileprivate func append(_ bytes: UnsafeBufferPointer<UInt8>) { unsafe text.append(contentsOf: bytes) }
}

/// Lets the reader of a callback work, which lives as long as the parser that calls.
private func reading(_ context: UnsafeMutableRawPointer?, _ work: (XMLReader) -> Void) {
  guard let context = unsafe context else { return }
  unsafe Unmanaged<XMLReader>.fromOpaque(context)._withUnsafeGuaranteedRef(work)
}

private func xmlElementStarts(_ context: UnsafeMutableRawPointer?, _ name: UnsafePointer<CChar>?) {
  guard let name = unsafe name else { return }
  unsafe reading(context) { unsafe $0.start(name) }
}

private func xmlElementEnds(_ context: UnsafeMutableRawPointer?, _ name: UnsafePointer<CChar>?) {
  guard let name = unsafe name else { return }
  unsafe reading(context) { unsafe $0.end(name) }
}

private func xmlText(_ context: UnsafeMutableRawPointer?, _ bytes: UnsafePointer<UInt8>?, _ count: Int) {
  unsafe reading(context) { unsafe $0.append(UnsafeBufferPointer(start: bytes, count: count)) }
}
