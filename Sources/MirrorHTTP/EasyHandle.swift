// One curl easy handle: the options that never change, and those of a request.
import CCurl
import MirrorPlatform

/// Owns a handle and its header list; used by the transfer thread alone.
@safe final class EasyHandle {
  let pointer: UnsafeMutableRawPointer
  private var headers: UnsafeMutablePointer<curl_slist>?

  /// `sessions` (`ccurl_share_sessions`) must outlive it.
  init?(_ settings: HTTPSettings, sessions: UnsafeMutableRawPointer?) {
    guard let pointer = unsafe curl_easy_init() else { return nil }
    unsafe self.pointer = pointer
    set(CURLOPT_NOSIGNAL, 1)
    // The end of a transfer does not wait for a name server: its thread serves them all.
    set(CURLOPT_QUICK_EXIT, 1)
    unsafe ccurl_set_pointer(pointer, CURLOPT_SHARE, sessions)
    set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
    set(CURLOPT_PROTOCOLS_STR, "http,https")
    set(CURLOPT_PATH_AS_IS, 1)
    set(CURLOPT_FOLLOWLOCATION, 0)
    set(CURLOPT_TCP_NODELAY, 1)
    set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    // Bytes a second: a drip is no answer either.
    set(CURLOPT_LOW_SPEED_LIMIT, 1024)
    set(CURLOPT_LOW_SPEED_TIME, settings.silenceLimit.wholeSeconds)
    set(CURLOPT_MAXAGE_CONN, settings.idleLimit.wholeSeconds)
    set(CURLOPT_DNS_CACHE_TIMEOUT, settings.addressLifetime.wholeSeconds)
    set(CURLOPT_DNS_SHUFFLE_ADDRESSES, 1)
    set(CURLOPT_USERAGENT, settings.userAgent)
    if let bundle = settings.caBundle { set(CURLOPT_CAINFO, bundle) }
    if let certificate = settings.clientCertificate { set(CURLOPT_SSLCERT, certificate) }
    if let key = settings.clientKey { set(CURLOPT_SSLKEY, key) }
    unsafe ccurl_set_receiver(pointer, CURLOPT_HEADERFUNCTION, receiveHeaderLine)
    unsafe ccurl_set_receiver(pointer, CURLOPT_WRITEFUNCTION, receiveBody)
    unsafe ccurl_set_sender(pointer, beforeSending)
  }

  deinit {
    unsafe curl_easy_cleanup(pointer)
    unsafe curl_slist_free_all(headers)
  }

  /// Takes a request's options; false when the URL is refused or memory is out.
  func prepare(_ request: WireRequest, context: UnsafeMutableRawPointer, settings: HTTPSettings) -> Bool {
    // A line end in a value would begin a header of its own.
    guard request.headers.allSatisfy({ !$0.value.utf8.contains { $0 < 0x20 || $0 == 0x7F } }) else { return false }
    guard unsafe ccurl_set_string(pointer, CURLOPT_URL, request.url) == CURLE_OK else { return false }
    setMethod(request)
    set(CURLOPT_CONNECTTIMEOUT_MS, (request.connectTimeout ?? settings.connectTimeout).nanosecondsClamped / 1_000_000)
    set(CURLOPT_FRESH_CONNECT, request.isFresh ? 1 : 0)
    // Empty: no proxy; none given: what the environment says.
    unsafe ccurl_set_string(pointer, CURLOPT_PROXY, request.isDirect ? "" : nil)
    set(CURLOPT_BUFFERSIZE, Int64(request.isBulk ? settings.bulkBuffer : settings.smallBuffer))

    unsafe curl_slist_free_all(headers)
    unsafe headers = curl_slist_append(nil, "Accept:")
    for field in request.headers {
      guard let longer = unsafe curl_slist_append(headers, "\(field.name): \(field.value)") else { return false }
      unsafe headers = longer
    }
    unsafe ccurl_set_list(pointer, CURLOPT_HTTPHEADER, headers)
    unsafe ccurl_set_pointer(pointer, CURLOPT_HEADERDATA, context)
    unsafe ccurl_set_pointer(pointer, CURLOPT_WRITEDATA, context)
    unsafe ccurl_set_pointer(pointer, CURLOPT_PREREQDATA, context)
    unsafe ccurl_set_pointer(pointer, CURLOPT_PRIVATE, context)
    return true
  }

  private func setMethod(_ request: WireRequest) {
    switch request.method {
    case .get: set(CURLOPT_HTTPGET, 1)
    case .head: set(CURLOPT_NOBODY, 1)
    case .post:
      set(CURLOPT_POST, 1)
      unsafe ccurl_set_offset(pointer, CURLOPT_POSTFIELDSIZE_LARGE, Int64(request.body.count))
      unsafe request.body.withUnsafeBytes { bytes in
        _ = unsafe ccurl_set_pointer(
          pointer, CURLOPT_COPYPOSTFIELDS, UnsafeMutableRawPointer(mutating: bytes.baseAddress))
      }
    case .put:
      // Without a body nothing is read.
      set(CURLOPT_UPLOAD, 1)
      unsafe ccurl_set_offset(pointer, CURLOPT_INFILESIZE_LARGE, 0)
    }
  }

  /// Bytes of requests put on a connection; 0: never sent.
  var requestSize: Int { unsafe ccurl_get_long(pointer, CURLINFO_REQUEST_SIZE) }
  /// Status of a proxy's answer to CONNECT, else 0.
  var proxyStatus: Int { unsafe ccurl_get_long(pointer, CURLINFO_HTTP_CONNECTCODE) }
  /// errno of the last failed system call of this transfer.
  var systemError: Int32 { Int32(truncatingIfNeeded: unsafe ccurl_get_long(pointer, CURLINFO_OS_ERRNO)) }

  private func set(_ option: CURLoption, _ value: Int64) { unsafe ccurl_set_long(pointer, option, Int(value)) }
  private func set(_ option: CURLoption, _ value: Int) { unsafe ccurl_set_long(pointer, option, value) }
  private func set(_ option: CURLoption, _ value: String) { unsafe ccurl_set_string(pointer, option, value) }
}

extension Duration {
  /// Rounded up, at least 1.
  var wholeSeconds: Int64 { max(1, (nanosecondsClamped + 999_999_999) / 1_000_000_000) }
}
