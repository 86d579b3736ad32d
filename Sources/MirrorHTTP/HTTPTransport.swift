// HTTP over libcurl: callers hand requests to one transfer thread and await their end.
import Glibc
public import MirrorPlatform
import Synchronization

/// Owns the transfer thread and its connections. Safe to share.
public final class HTTPTransport: HTTPClient {
  private let loop: TransferLoop
  private let ended = Promise<Bool>()

  /// Starts the thread; ENOMEM where libcurl can't be set up.
  public init(_ settings: HTTPSettings = HTTPSettings()) throws(Errno) {
    guard let loop = TransferLoop(settings) else { throw Errno(rawValue: ENOMEM) }
    self.loop = loop
    startThread("http") { [ended] in
      loop.run()
      ended.set(true)
    }
  }

  deinit { loop.close() }

  /// Ends every transfer with `closed` and waits for the thread's end; never from a handler.
  public func close() {
    loop.close()
    _ = ended.wait()
  }

  public func perform(
    _ request: HTTPRequest, handler: any HTTPResponseHandler
  ) async throws(HTTPError) -> HTTPSummary {
    try await perform(WireRequest(request), handler: handler)
  }

  func perform(_ request: WireRequest, handler: any HTTPResponseHandler) async throws(HTTPError) -> HTTPSummary {
    let transfer = Transfer(request, handler)
    let outcome = await withTaskCancellationHandler {
      await withCheckedContinuation { waiter in
        transfer.wait(waiter)
        loop.submit(transfer)
      }
    } onCancel: {
      loop.cancel(transfer)
    }
    // The caller reads what its handler was given on the transfer thread.
    _ = transfer.hasEnded.load(ordering: .acquiring)
    return try outcome.get()
  }
}
