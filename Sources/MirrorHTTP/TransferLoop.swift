// The transfer thread: takes requests from an inbox, drives libcurl, answers whoever waits.
import CCurl
import MirrorPlatform
import Synchronization

/// `@unchecked Sendable`: the inbox is locked, `multi` is set once and safe to wake from any thread until `run` frees
/// it after the inbox closed; everything else belongs to the thread in `run`.
@safe final class TransferLoop: @unchecked Sendable {
  private struct Inbox {
    var submitted: [Transfer] = []
    var cancelled: [Transfer] = []
    var isClosed = false
    var isEmpty: Bool { submitted.isEmpty && cancelled.isEmpty && !isClosed }
  }

  private let settings: HTTPSettings
  private let multi: UnsafeMutableRawPointer
  /// What one connection's TLS handshake brought shortens those of the others.
  private let sessions: UnsafeMutableRawPointer?
  private let inbox = Mutex(Inbox())
  private var active: [ObjectIdentifier: Transfer] = [:]
  private var idle: [EasyHandle] = []
  /// How often deadlines are looked at, milliseconds.
  private static let look: Int32 = 250
  private var nextLook = Instant.distantPast

  /// curl_global_init is not safe against itself in old releases.
  private static let isReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

  init?(_ settings: HTTPSettings) {
    guard Self.isReady, let multi = unsafe curl_multi_init() else { return nil }
    self.settings = settings
    unsafe self.multi = multi
    unsafe sessions = ccurl_share_sessions()
    unsafe ccurl_multi_set_long(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, settings.maximumConnections)
    unsafe ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, settings.pooledConnections)
  }

  // MARK: any thread

  func submit(_ transfer: Transfer) {
    let accepted = inbox.withLock { inbox in
      guard !inbox.isClosed else { return false }
      if inbox.isEmpty { unsafe curl_multi_wakeup(multi) }
      inbox.submitted.append(transfer)
      return true
    }
    if !accepted { transfer.fail(.closed, wasSent: false, "the transport is closed") }
  }

  func cancel(_ transfer: Transfer) {
    transfer.isCancelled.store(true, ordering: .releasing)
    inbox.withLock { inbox in
      guard !inbox.isClosed else { return }
      if inbox.isEmpty { unsafe curl_multi_wakeup(multi) }
      inbox.cancelled.append(transfer)
    }
  }

  func close() {
    inbox.withLock { inbox in
      guard !inbox.isClosed else { return }
      inbox.isClosed = true
      unsafe curl_multi_wakeup(multi)
    }
  }

  // MARK: the transfer thread

  func run() {
    var isOpen = true
    while isOpen {
      isOpen = takeInbox()
      var running: Int32 = 0
      unsafe curl_multi_perform(multi, &running)
      finishDone()
      handOn()
      endOverdue()
      // Anything that finished may have brought new work meanwhile: the wake-up is kept, so this returns at once.
      if isOpen { unsafe curl_multi_poll(multi, nil, 0, active.isEmpty ? 60_000 : Self.look, nil) }
    }
    for transfer in active.values { end(transfer, .closed, "the transport is closed") }
    idle.removeAll()
    unsafe curl_multi_cleanup(multi)
    unsafe curl_share_cleanup(sessions)
  }

  /// False when the transport closes.
  private func takeInbox() -> Bool {
    let work = inbox.withLock { inbox in
      let work = inbox
      inbox.submitted = []
      inbox.cancelled = []
      return work
    }
    for transfer in work.submitted { start(transfer) }
    for transfer in work.cancelled { end(transfer, .cancelled, "cancelled") }
    return !work.isClosed
  }

  /// libcurl's own limit would count the body too, and not the wait for a connection.
  private func endOverdue() {
    let now = SystemClock().now()
    guard !active.isEmpty, now >= nextLook else { return }
    nextLook = now + .milliseconds(Int64(Self.look))
    for transfer in active.values where transfer.isOverdue(now) {
      end(transfer, .timeout, "no answer in time")
    }
  }

  private func start(_ transfer: Transfer) {
    if transfer.isCancelled.load(ordering: .acquiring) {
      transfer.fail(.cancelled, wasSent: false, "cancelled")
      return
    }
    guard let easy = takeHandle() else {
      transfer.fail(.connection, wasSent: false, "out of memory")
      return
    }
    let context = unsafe Unmanaged.passUnretained(transfer).toOpaque()
    guard unsafe easy.prepare(transfer.request, context: context, settings: settings),
      unsafe curl_multi_add_handle(multi, easy.pointer) == CURLM_OK
    else {
      transfer.fail(.invalid, wasSent: false, "libcurl refuses the request")
      return
    }
    transfer.easy = easy
    active[ObjectIdentifier(transfer)] = transfer
  }

  private func takeHandle() -> EasyHandle? {
    if let easy = idle.popLast() { return easy }
    return unsafe EasyHandle(settings, sessions: sessions)
  }

  private func finishDone() {
    var result = CURLE_OK
    while let pointer = unsafe ccurl_next_finished(multi, &result) {
      guard let context = unsafe ccurl_get_pointer(pointer, CURLINFO_PRIVATE) else { continue }
      let transfer = unsafe Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
      guard let easy = release(transfer) else { continue }
      while transfer.handOnPiece() { beginSubmitted() }
      transfer.finish(result, handle: easy)
      keep(easy)
    }
  }

  /// Who reads a long answer may know what to ask next before its end: that is sent at once.
  private func beginSubmitted() {
    let submitted = inbox.withLock { inbox in
      defer { inbox.submitted = [] }
      return inbox.submitted
    }
    guard !submitted.isEmpty else { return }
    for transfer in submitted { start(transfer) }
    var running: Int32 = 0
    unsafe curl_multi_perform(multi, &running)
  }

  /// What the last turn brought.
  private func handOn() {
    for transfer in active.values where !transfer.handOn() {
      guard let easy = release(transfer) else { continue }
      transfer.finish(CURLE_WRITE_ERROR, handle: easy)
      keep(easy)
    }
  }

  private func end(_ transfer: Transfer, _ kind: HTTPError.Kind, _ message: String) {
    guard let easy = transfer.easy else { return }
    let sent = easy.requestSize > 0
    _ = release(transfer)
    transfer.fail(kind, wasSent: sent, message)
    keep(easy)
  }

  /// Takes the transfer off libcurl (curl_multi_remove_handle closes a connection in mid-answer).
  private func release(_ transfer: Transfer) -> EasyHandle? {
    guard let easy = transfer.easy else { return nil }
    unsafe curl_multi_remove_handle(multi, easy.pointer)
    transfer.easy = nil
    active[ObjectIdentifier(transfer)] = nil
    return easy
  }

  /// Idle handles are a few KiB each: libcurl frees the receive buffer with the transfer.
  private func keep(_ easy: EasyHandle) {
    if idle.count < settings.maximumConnections { idle.append(easy) }
  }
}
