// HTTP over libcurl: callers hand requests to one transfer thread and await their end.
import CCurl
import Glibc
public import MirrorPlatform
import Synchronization

/// Owns the transfer thread and its connections. Safe to share; `close` before the end of the process.
public final class HTTPTransport: HTTPClient {
  private let loop: TransferLoop
  private let thread: Mutex<pthread_t?>

  /// Starts the thread (pthread_create(3)); EAGAIN or ENOMEM where that fails.
  public init(_ settings: HTTPSettings = HTTPSettings()) throws(Errno) {
    guard let loop = TransferLoop(settings) else { throw Errno(rawValue: ENOMEM) }
    var thread = pthread_t()
    let failure = unsafe pthread_create(&thread, nil, runTransferLoop, Unmanaged.passRetained(loop).toOpaque())
    if failure != 0 {
      unsafe Unmanaged.passUnretained(loop).release()
      throw Errno(rawValue: failure)
    }
    self.loop = loop
    self.thread = Mutex(thread)
  }

  deinit { close() }

  /// Ends every transfer with `closed` and joins the thread; not from a handler.
  public func close() {
    let running = thread.withLock { thread in
      defer { thread = nil }
      return thread
    }
    guard let running else { return }
    loop.close()
    pthread_join(running, nil)
  }

  public func perform(
    _ request: HTTPRequest, handler: any HTTPResponseHandler
  ) async throws(HTTPError) -> HTTPSummary {
    let transfer = Transfer(request, handler)
    let outcome = await withTaskCancellationHandler {
      await withCheckedContinuation { waiter in
        transfer.wait(waiter)
        loop.submit(transfer)
      }
    } onCancel: {
      loop.cancel(transfer)
    }
    return try outcome.get()
  }
}

private func runTransferLoop(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let context = unsafe context else { return nil }
  unsafe Unmanaged<TransferLoop>.fromOpaque(context).takeRetainedValue().run()
  return nil
}
