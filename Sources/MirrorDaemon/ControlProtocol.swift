// The words between a command and a running mount: one line asked, one answer.
import MirrorPlatform

/// A question to a running mount.
public struct ControlRequest: Equatable, Sendable {
  public enum Verb: String, CaseIterable, Sendable {
    case status, statusJSON = "status-json", refresh, explain, explainJSON = "explain-json", hidden
    /// As OpenMetrics text.
    case metrics
    /// The argument is the name of a level; empty: which it is.
    case logLevel = "log-level"
    /// The argument is a `CostQuestion`.
    case cost
    /// The argument is a `WarmQuestion`; steps come before the answer.
    case warm
    /// The argument is what keys begin with.
    case evict
    /// The argument is limits, see `CareAnswer`.
    case collect
    /// The argument is keys, separated by NUL, whose copies are to be read and mended.
    case recheck
    /// The argument is a `PinQuestion`; before the answer to `pin` come steps.
    case pin, unpin
    /// Unmount unless it is in use; from sight, even then.
    case unmount, detach
    /// Unmount, flush and end. The connection closes when the process is gone.
    case stop
    /// No question: the connection closes when the process is gone.
    case attend
  }
  public let verb: Verb
  /// A path relative to the mount's root, bytes; what else a verb needs.
  public let argument: [UInt8]

  public init(_ verb: Verb, _ argument: [UInt8] = []) {
    self.verb = verb
    self.argument = argument
  }

  /// `VERB PATH`, the path percent-encoded: it may hold any byte.
  var line: [UInt8] {
    Array("\(verb.rawValue) \(percentEncoded(argument, keepingSlash: true))\n".utf8)
  }

  init?(line: [UInt8]) {
    let parts = line.prefix { $0 != 0x0A }.split(separator: 0x20, maxSplits: 1, omittingEmptySubsequences: false)
    guard line.last == 0x0A, let verb = parts.first.flatMap({ Verb(rawValue: String(decoding: $0, as: UTF8.self)) })
    else { return nil }
    self.init(verb, parts.count == 2 ? percentDecoded(parts[1], form: false) : [])
  }
}

/// How far a long answer has come: a line that begins with `+`, before the answer.
public struct ControlStep: Equatable, Sendable {
  /// Zero until it is known how much is to be done.
  public var objects: Int
  public var bytes: Int64
  public var doneObjects = 0
  public var doneBytes: Int64 = 0

  public init(objects: Int = 0, bytes: Int64 = 0) {
    self.objects = objects
    self.bytes = bytes
  }

  var line: [UInt8] { Array("+ \(objects) \(bytes) \(doneObjects) \(doneBytes)\n".utf8) }

  init?(line: some Sequence<UInt8>) {
    let parts = String(decoding: Array(line), as: UTF8.self).split(separator: " ")
    guard parts.count == 5, parts[0] == "+", let objects = Int(parts[1]), let bytes = Int64(parts[2]),
      let doneObjects = Int(parts[3]), let doneBytes = Int64(parts[4])
    else { return nil }
    self.init(objects: objects, bytes: bytes)
    (self.doneObjects, self.doneBytes) = (doneObjects, doneBytes)
  }
}

/// `OK` and the body, or the exit code and the message of a failure.
public enum ControlAnswer: Equatable, Sendable {
  case text(String)
  case failure(CommandFailure)

  var bytes: [UInt8] {
    switch self {
    case .text(let body): Array("OK\n\(body)".utf8)
    case .failure(let failure): Array("\(failure.code.rawValue)\n\(failure.message)".utf8)
    }
  }

  init?(bytes: [UInt8]) {
    guard let newline = bytes.firstIndex(of: 0x0A) else { return nil }
    let head = String(decoding: bytes[..<newline], as: UTF8.self)
    let body = String(decoding: bytes[(newline + 1)...], as: UTF8.self)
    if head == "OK" {
      self = .text(body)
    } else if let code = Int32(head).flatMap(ExitCode.init(rawValue:)) {
      self = .failure(CommandFailure(code, body))
    } else {
      return nil
    }
  }
}
