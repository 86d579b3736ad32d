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

  /// Owns this reader, or outlives it.
  private unowned let consumer: any XMLConsumer
  private var parser: OpaquePointer?
  private var depth = 0
  private var text: [UInt8] = []

  init(_ consumer: any XMLConsumer) {
    self.consumer = consumer
    unsafe parser = nil
    var callbacks = unsafe cxml_callbacks(start: xmlElementStarts, end: xmlElementEnds, text: xmlText)
    let context = unsafe Unmanaged.passUnretained(self).toOpaque()
    unsafe parser = cxml_create(&callbacks, context, Self.depthCap, Self.textCap)
  }
  deinit { unsafe cxml_free(parser) }

  /// False when the document is no XML, or not of the kind an answer may be.
  func feed(_ bytes: RawSpan) -> Bool {
    guard let parser = unsafe parser else { return false }
    return unsafe bytes.withUnsafeBytes { unsafe cxml_feed(parser, $0.baseAddress, $0.count) == 1 }
  }

  func feed(_ bytes: [UInt8]) -> Bool { unsafe feed(bytes.span.bytes) }

  /// Whether the document was complete.
  func finish() -> Bool {
    guard let parser = unsafe parser else { return false }
    return unsafe cxml_finish(parser) == 1
  }

  fileprivate func start(_ name: String) {
    depth += 1
    text.removeAll(keepingCapacity: true)
    consumer.opened(name, depth: depth)
  }
  fileprivate func end(_ name: String) {
    consumer.closed(name, depth: depth, text: text)
    text.removeAll(keepingCapacity: true)
    depth -= 1
  }
  fileprivate func append(_ bytes: UnsafeBufferPointer<UInt8>) { unsafe text.append(contentsOf: bytes) }
}

private func reader(_ context: UnsafeMutableRawPointer?) -> XMLReader? {
  guard let context = unsafe context else { return nil }
  return unsafe Unmanaged<XMLReader>.fromOpaque(context).takeUnretainedValue()
}

private func xmlElementStarts(_ context: UnsafeMutableRawPointer?, _ name: UnsafePointer<CChar>?) {
  guard let name = unsafe name else { return }
  unsafe reader(context)?.start(String(cString: name))
}

private func xmlElementEnds(_ context: UnsafeMutableRawPointer?, _ name: UnsafePointer<CChar>?) {
  guard let name = unsafe name else { return }
  unsafe reader(context)?.end(String(cString: name))
}

private func xmlText(_ context: UnsafeMutableRawPointer?, _ bytes: UnsafePointer<UInt8>?, _ count: Int) {
  unsafe reader(context)?.append(UnsafeBufferPointer(start: bytes, count: count))
}
