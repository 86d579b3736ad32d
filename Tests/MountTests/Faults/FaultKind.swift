// Everything that goes wrong: the rows of the fault matrix.
import Glibc

enum FaultKind: Hashable, Sendable {
  // Between here and the server, and at the server.
  case delay, stall, stallInBody, drip, refused, reset, resetInBody, earlyClose, truncated, lengthShort, lengthLong
  case wrongContentRange, wholeForRange, otherTag, corruptedByte
  case status(Int, told: Bool)
  case portal, redirectLoop, redirectElsewhere, garbageHead, hugeHead
  case untrustedCertificate, brokenHandshake, noNames, deadAddresses, silentAddress
  // The disk.
  case diskFull, quota, noInodes, blobReadError, blobWriteError, catalogueError, readOnly
  case cacheDeleted, cacheSwapped, catalogueLocked, catalogueCorrupted, catalogueNewer
  // Time.
  case clockAhead, clockBack, suspend
  // The process.
  case killed, stopped, terminated, memoryLimit, descriptorLimit

  static let all: [FaultKind] =
    [
      .delay, .stall, .stallInBody, .drip, .refused, .reset, .resetInBody, .earlyClose, .truncated, .lengthShort,
      .lengthLong, .wrongContentRange, .wholeForRange, .otherTag, .corruptedByte,
    ] + [400, 403, 404, 405, 412, 416, 429, 500, 503].flatMap { [.status($0, told: true), .status($0, told: false)] }
    + [
      .portal, .redirectLoop, .redirectElsewhere, .garbageHead, .hugeHead, .untrustedCertificate, .brokenHandshake,
      .noNames, .deadAddresses, .silentAddress, .diskFull, .quota, .noInodes, .blobReadError, .blobWriteError,
      .catalogueError, .readOnly, .cacheDeleted, .cacheSwapped, .catalogueLocked, .catalogueCorrupted, .catalogueNewer,
      .clockAhead, .clockBack, .suspend, .killed, .stopped, .terminated, .memoryLimit, .descriptorLimit,
    ]

  var name: String {
    switch self {
    case .delay: "answers 300 ms late"
    case .stall: "no answer, ever"
    case .stallInBody: "silence within bodies"
    case .drip: "bodies drop by drop"
    case .refused: "connections refused"
    case .reset: "reset before the head"
    case .resetInBody: "reset within bodies"
    case .earlyClose: "closed before the head"
    case .truncated: "bodies cut off"
    case .lengthShort: "Content-Length too small"
    case .lengthLong: "Content-Length too large"
    case .wrongContentRange: "wrong Content-Range"
    case .wholeForRange: "200 for a Range"
    case .otherTag: "206 with another ETag"
    case .corruptedByte: "one byte changed"
    case .status(let status, let told): "\(status)\(told ? "" : " without a body")"
    case .portal: "200 with a portal's HTML"
    case .redirectLoop: "redirects in a loop"
    case .redirectElsewhere: "redirects to elsewhere"
    case .garbageHead: "garbage for a head"
    case .hugeHead: "head of 2 MB"
    case .untrustedCertificate: "TLS: unknown authority"
    case .brokenHandshake: "TLS: handshake cut"
    case .noNames: "DNS gone"
    case .deadAddresses: "all addresses but one dead"
    case .silentAddress: "first address silent"
    case .diskFull: "disk full"
    case .quota: "quota used up"
    case .noInodes: "inodes used up"
    case .blobReadError: "EIO reading blobs"
    case .blobWriteError: "EIO writing blobs"
    case .catalogueError: "EIO in the catalogue"
    case .readOnly: "disk turned read-only"
    case .cacheDeleted: "cache directory deleted"
    case .cacheSwapped: "cache directory swapped"
    case .catalogueLocked: "catalogue locked"
    case .catalogueCorrupted: "catalogue corrupted"
    case .catalogueNewer: "catalogue of a newer version"
    case .clockAhead: "clock stepped 2 h ahead"
    case .clockBack: "clock stepped 2 h back"
    case .suspend: "suspended for an hour"
    case .killed: "SIGKILL"
    case .stopped: "SIGSTOP"
    case .terminated: "SIGTERM under load"
    case .memoryLimit: "memory limit"
    case .descriptorLimit: "descriptor limit"
    }
  }

  /// What the fault amounts to for whoever needs the server; how it is met there is told by `FaultExpectation`.
  enum Nature: Sendable {
    /// Slower or otherwise than usual, and all the same right.
    case hidden
    /// The server can't be asked.
    case outage
    /// Bodies can't be trusted or do not end; other answers are right.
    case brokenBody
    case denied, gone, senseless
    /// The disk does not take or give.
    case disk
    case process
  }

  var nature: Nature {
    switch self {
    case .delay, .drip, .wholeForRange, .deadAddresses, .silentAddress, .clockAhead, .clockBack, .suspend, .stopped:
      .hidden
    case .stallInBody, .resetInBody, .truncated, .lengthShort, .lengthLong, .wrongContentRange, .otherTag,
      .corruptedByte:
      .brokenBody
    case .status(403, _): .denied
    case .status(404, _): .gone
    case .status(let status, _): status < 429 ? .senseless : .outage
    case .stall, .refused, .reset, .earlyClose, .portal, .redirectLoop, .redirectElsewhere, .garbageHead, .hugeHead,
      .untrustedCertificate, .brokenHandshake, .noNames:
      .outage
    case .diskFull, .quota, .noInodes, .blobReadError, .blobWriteError, .catalogueError, .readOnly, .cacheDeleted,
      .cacheSwapped, .catalogueLocked, .catalogueCorrupted, .catalogueNewer:
      .disk
    case .killed, .terminated, .memoryLimit, .descriptorLimit: .process
    }
  }

  var isAtServer: Bool {
    switch nature {
    case .disk, .process: false
    default: self != .clockAhead && self != .clockBack && self != .suspend && self != .stopped
    }
  }
  var needsSecurity: Bool { self == .untrustedCertificate || self == .brokenHandshake }
  var needsName: Bool { self == .noNames || self == .deadAddresses || self == .silentAddress }
  var needsSmallDisk: Bool { self == .diskFull || self == .noInodes }
  /// What is wrong with a catalogue is wrong with one that is there.
  var needsCatalogue: Bool { self == .catalogueLocked || self == .catalogueCorrupted || self == .catalogueNewer }
  /// The daemon ends by it.
  var endsProcess: Bool { self == .killed || self == .terminated }
  /// Connections break under requests: one that was sent may be counted that the server never read.
  var cutsConnections: Bool {
    self == .refused || self == .suspend || needsSecurity || needsName || endsProcess || self == .stopped
      || self == .descriptorLimit || self == .memoryLimit
  }
  /// Readers who need the server wait for long.
  var isSlow: Bool {
    switch self {
    case .stall, .stallInBody: true
    default: false
    }
  }
}
