// Faults of the server and of the way to it, put in and taken out.
import Glibc
import MirrorPlatform
import MirrorStore
import Synchronization
import TestSupport

extension FaultScene {
  /// Puts the fault in place; for a page or part only there.
  func beginAtServer(_ phase: FaultPhase) throws {
    switch kind {
    case .refused: trip(phase) { [server] in server.mode = .refuse }
    case .untrustedCertificate: trip(phase) { [front, untrusted] in front?.set(.to(untrusted)) }
    case .brokenHandshake: trip(phase) { [front] in front?.set(.nowhere) }
    case .noNames:
      try shim.resolve(.nowhere)
      server.cutConnections()
    case .deadAddresses:
      try shim.resolve(.deadFirst)
      server.cutConnections()
    case .silentAddress:
      try shim.resolve(.silentFirst)
      server.cutConnections()
    default: inject(phase)
    }
  }

  func endAtServer() throws {
    server.clearFaults()
    server.mode = .ok
    front?.set(.to(trusted))
    if kind.needsName { try shim.resolve(.resolve) }
  }

  /// At once; or when the page or part is asked for, whose request is reset.
  private func trip(_ phase: FaultPhase, _ change: @escaping @Sendable () -> Void) {
    guard phase.portion != nil else { return change() }
    let once = Once()
    server.inject([.reset]) { request in
      guard Self.meets(request, phase) else { return false }
      if once.first { detachThread { change() } }
      return true
    }
  }

  private func inject(_ phase: FaultPhase) {
    let isOfBodies = kind.nature == .brokenBody
    let meetsListings = [.stallInBody, .resetInBody, .truncated, .lengthShort, .lengthLong, .drip].contains(kind)
    let isDefinite = [.denied, .gone, .senseless].contains(kind.nature)
    // Of an object: that a bucket is gone is another matter.
    let isOfObject = kind.nature == .gone && (phase == .validation || phase.isCold || phase == .eviction)
    let onlyParts = kind == .wrongContentRange || kind == .otherTag || kind == .wholeForRange
    // A redirect leads back to where it came from.
    let endpoint = server.endpoint + "/" + server.bucket
    for request in [S3RequestKind.get, .list, .head, .bucketHead, .other] {
      if isOfBodies || kind == .drip, request != .get, !(request == .list && meetsListings) { continue }
      if onlyParts, request != .get { continue }
      if isDefinite, request == .bucketHead || request == .other { continue }
      if isOfObject, request == .list { continue }
      let place = request == .get || request == .head ? "\(endpoint)/\(FaultContent.key(phase))" : endpoint
      server.inject(faults(phase, place), on: request) { request in
        (phase.portion == nil || Self.meets(request, phase)) && (!onlyParts || request.range != nil)
      }
    }
  }

  /// Whether a request is for the page or part that the phase is about.
  private static func meets(_ request: RecordedRequest, _ phase: FaultPhase) -> Bool {
    if phase.isListing {
      guard request.kind == .list, request.query["prefix"]?.hasPrefix(phase.directory) == true else { return false }
      return page(request) == phase.portion
    }
    guard request.kind == .get, request.key == ObjectKey(FaultContent.key(phase)), let portion = phase.portion else {
      return false
    }
    let place = [0, FaultContent.part + FaultContent.part / 2, FaultContent.large - 1][portion]
    let ends = (request.range ?? "bytes=0-").dropFirst(6).split(separator: "-").compactMap { Int($0) }
    return ends.first.map { $0 <= place } == true && (ends.count < 2 || ends[1] >= place)
  }

  /// The page that a listing's request asks for, by the name it goes on after.
  private static func page(_ request: RecordedRequest) -> Int {
    let token = request.query["continuation-token"].flatMap { bytes(hexadecimal: Array($0.dropFirst().utf8)) }
    guard let after = request.query.bytes("start-after") ?? token else { return 0 }
    let name = String(decoding: after, as: UTF8.self).split(separator: "/").last.map(String.init) ?? ""
    let index = FaultContent.names.firstIndex { $0 >= name.prefix(3) } ?? FaultContent.names.count - 1
    return min(2, (index + 1) / FaultContent.pageSize)
  }

  private func faults(_ phase: FaultPhase, _ place: String) -> [Fault] {
    switch kind {
    case .delay: [.delay(.milliseconds(300))]
    case .stall: [.hang]
    case .stallInBody: [.hangAfter(100)]
    case .drip: [.throttle(bytesPerSecond: 300_000)]
    case .reset: [.reset]
    case .resetInBody: [.resetAfter(100)]
    case .earlyClose: [.close]
    case .truncated: [.truncateAfter(100)]
    case .lengthShort: [.announce(longerBy: -1)]
    case .lengthLong: [.announce(longerBy: 1), .closeAfter]
    case .wrongContentRange: [.contentRange("bytes 7-1000/5000")]
    case .wholeForRange: [.ignoreRange]
    case .otherTag: [.field("ETag", "\"00000000000000000000000000000000\"")]
    case .corruptedByte: [.corruptSomewhere]
    case .status(let status, told: true): [.status(status, code: Self.codes[status])]
    case .status(let status, told: false): [.answer(status, Fields(), [])]
    case .portal: [.html, .field("x-amz-request-id", nil), .field("Server", "portal")]
    case .redirectLoop: [.answer(307, Fields([("Location", place)]), [])]
    case .redirectElsewhere: [.answer(302, Fields([("Location", "\(elsewhere.endpoint)/login")]), [])]
    case .garbageHead:
      round % 2 == 0
        ? [.raw(content(3000, UInt64(round)))]
        : [.raw(Array("HTTP/1.1 2x0 \u{1}\r\nContent-Length: -5\r\nETag\r\n: \r\n\r\nnothing".utf8))]
    case .hugeHead: [.field("X-Filler", String(repeating: "x", count: 2 << 20))]
    default: []
    }
  }

  private static let codes = [
    400: "InvalidRequest", 403: "AccessDenied", 404: "NoSuchKey", 405: "MethodNotAllowed", 412: "PreconditionFailed",
    416: "InvalidRange", 429: "TooManyRequests", 500: "InternalError", 503: "SlowDown",
  ]
}

/// True for the first who asks.
final class Once: Sendable {
  private let isOver = Mutex(false)
  var first: Bool {
    isOver.withLock { isOver in
      defer { isOver = true }
      return !isOver
    }
  }
}
