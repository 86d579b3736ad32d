// One request under way: its answer so far, and whoever waits for it.
import CCurl
import MirrorPlatform
import Synchronization

/// `@unchecked Sendable`: after `submit` every field but the atomic ones is touched by the transfer thread alone.
final class Transfer: @unchecked Sendable {
  typealias Outcome = Result<HTTPSummary, HTTPError>

  let request: WireRequest
  let isCancelled = Atomic(false)
  /// What the transfer thread wrote until it set this is seen by whoever reads it afterwards.
  let hasEnded = Atomic(false)
  private let handler: any HTTPResponseHandler
  private var waiter: CheckedContinuation<Outcome, Never>?
  private var parser = HTTPHeadParser()
  private var status = 0
  private var bodyBytes: Int64 = 0
  /// Received and not handed on yet: libcurl gives what one recv(2) brought in pieces of 16 KiB, and whoever writes
  /// them to a file wants them together.
  private var held: [UInt8] = []
  /// So much of it the handler has.
  private var handedOn = 0
  private static let step: Int64 = 256 << 10
  private var wasEnded = false
  private var isMalformed = false
  private var isBegun = false
  /// It would have been sent again.
  private var isLost = false
  /// While libcurl holds it.
  var easy: EasyHandle?
  /// When an answer must have begun; time spent waiting for a connection counts.
  let deadline: Instant?

  init(_ request: WireRequest, _ handler: any HTTPResponseHandler) {
    self.request = request
    self.handler = handler
    deadline = request.timeout.map { SystemClock().now() + $0 }
  }

  /// Before it is submitted.
  func wait(_ waiter: CheckedContinuation<Outcome, Never>) { self.waiter = waiter }

  /// Its time is over and no answer has begun.
  func isOverdue(_ now: Instant) -> Bool { status == 0 && deadline.map { $0 <= now } ?? false }

  /// Before it is sent; false ends the transfer. What is sent again must have been counted, and paid for, before.
  func mayBeSent() -> Bool {
    isLost = isBegun && !request.mayBeResent
    isBegun = true
    return !isLost
  }

  /// False ends the transfer.
  func receive(line: UnsafeRawBufferPointer) -> Bool {
    switch unsafe parser.receive(line: line) {
    case .more: return true
    case .malformed:
      isMalformed = true
      return false
    case .head(let head):
      status = head.status
      wasEnded = !handler.head(head)
      return !wasEnded
    }
  }

  /// Hands on what comes first at once, for it may tell what to ask next; then by whole steps of the body, so that who
  /// writes them to a file fills large pages of its cache.
  func receive(body: UnsafeRawBufferPointer) -> Bool {
    let isFirst = bodyBytes == 0
    bodyBytes += Int64(body.count)
    unsafe held.append(contentsOf: body)
    if isFirst { return handOn() }
    let rest = Int(bodyBytes % Self.step)
    if held.count - handedOn > rest, handOnPiece(held.count - handedOn - rest) {
      held.removeFirst(handedOn)
      handedOn = 0
    }
    return !wasEnded
  }

  /// Gives the handler what is held; false when that ends the transfer. Nothing is held while the thread waits.
  func handOn() -> Bool {
    handOnPiece(held.count)
    return !wasEnded
  }

  /// Gives the handler some of what is held; false when there is no more to give.
  @discardableResult
  func handOnPiece(_ most: Int = 64 << 10) -> Bool {
    guard handedOn < held.count, !wasEnded else { return false }
    let piece = handedOn..<min(held.count, handedOn + most)
    wasEnded = unsafe held.withUnsafeBytes { unsafe !handler.body(UnsafeRawBufferPointer(rebasing: $0[piece]).bytes) }
    handedOn = piece.upperBound
    if handedOn == held.count {
      held.removeAll(keepingCapacity: true)
      handedOn = 0
    }
    return !held.isEmpty
  }

  /// Answers whoever waits; once.
  func finish(_ result: CURLcode, handle: EasyHandle) {
    let sent = handle.requestSize > 0
    _ = handOn()
    if result == CURLE_OK || (result == CURLE_WRITE_ERROR && wasEnded) {
      // A complete exchange without a head would be HTTP/0.9, which libcurl refuses.
      if status != 0 {
        resume(.success(HTTPSummary(status: status, bodyBytes: bodyBytes, wasEnded: wasEnded)))
      } else {
        fail(.malformed, wasSent: sent, "the answer has no status")
      }
      return
    }
    if status == 0, handle.proxyStatus >= 300 {
      fail(.connection, wasSent: false, "the proxy refuses the connection (\(handle.proxyStatus))")
      return
    }
    if isLost { return fail(.lost, wasSent: sent, "the server has closed the connection") }
    let kind = isMalformed ? .malformed : HTTPError.Kind(result, wasSent: sent, systemError: handle.systemError)
    fail(kind, wasSent: sent, unsafe String(cString: curl_easy_strerror(result)))
  }

  func fail(_ kind: HTTPError.Kind, wasSent: Bool, _ message: String) {
    resume(.failure(HTTPError(kind, wasSent: wasSent, status: status, bodyBytes: bodyBytes, message: message)))
  }

  private func resume(_ outcome: Outcome) {
    let waiter = self.waiter
    self.waiter = nil
    hasEnded.store(true, ordering: .releasing)
    waiter?.resume(returning: outcome)
  }
}

extension HTTPError.Kind {
  /// libcurl's result in our terms.
  init(_ result: CURLcode, wasSent: Bool, systemError: Int32) {
    switch result {
    case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_CONNECT, CURLE_INTERFACE_FAILED,
      CURLE_PROXY, CURLE_OUT_OF_MEMORY:
      self = .connection
    case CURLE_OPERATION_TIMEDOUT: self = wasSent ? .timeout : .connection
    case CURLE_SSL_CONNECT_ERROR:
      // A handshake cut by the network is no matter of trust.
      self = systemError != 0 ? .connection : .tls
    case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER, CURLE_SSL_CACERT_BADFILE,
      CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_ENGINE_INITFAILED, CURLE_SSL_CRL_BADFILE,
      CURLE_SSL_ISSUER_ERROR, CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_CLIENTCERT,
      CURLE_USE_SSL_FAILED:
      self = .tls
    case CURLE_URL_MALFORMAT: self = .invalid
    case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING:
      self = wasSent ? .malformed : .invalid
    default: self = .interrupted
    }
  }
}

/// CURLOPT_PREREQFUNCTION.
func beforeSending(
  _ context: UnsafeMutableRawPointer?, _ server: UnsafeMutablePointer<CChar>?, _ own: UnsafeMutablePointer<CChar>?,
  _ serverPort: Int32, _ ownPort: Int32
) -> Int32 {
  guard let context = unsafe context else { return CURL_PREREQFUNC_ABORT }
  let transfer = unsafe Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
  return transfer.mayBeSent() ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
}

// CURLOPT_HEADERFUNCTION and CURLOPT_WRITEFUNCTION: a count other than the one given ends the transfer.

func receiveHeaderLine(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
  guard let context = unsafe context else { return 0 }
  let transfer = unsafe Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
  return unsafe transfer.receive(line: UnsafeRawBufferPointer(start: bytes, count: size * count)) ? size * count : -1
}

func receiveBody(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
  guard let context = unsafe context else { return 0 }
  let transfer = unsafe Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
  return unsafe transfer.receive(body: UnsafeRawBufferPointer(start: bytes, count: size * count)) ? size * count : -1
}
