// The C session: the one object through which libfuse is driven, and freed with it.
import CFUSE
import MirrorCore
import MirrorPlatform

/// `@unchecked`: libfuse's session may be used from any thread, the pointer never changes, and it is freed by the last
/// owner.
@safe final class KernelChannel: NoticeChannel, @unchecked Sendable {
  private let session: OpaquePointer
  /// Kept alive, since libfuse holds only its address.
  private let service: KernelService

  /// Nil when libfuse refuses the options.
  init?(options: String, service: KernelService) {
    var handlers = makeHandlers()
    let owner = unsafe Unmanaged.passUnretained(service).toOpaque()
    guard let session = unsafe cfuse_session_create(options, &handlers, owner) else { return nil }
    unsafe self.session = unsafe session
    self.service = service
  }

  deinit {
    unsafe cfuse_session_close(session)
    unsafe cfuse_session_destroy(session)
  }

  func offerPassthrough(depth: UInt32) { unsafe cfuse_session_offer_passthrough(session, depth) }
  /// The device, where the kernel knows passthrough; a descriptor of its own, since libfuse closes its one.
  func passthroughDevice() -> File? {
    guard unsafe cfuse_session_has_passthrough(session) != 0 else { return nil }
    return try? File.duplicate(unsafe cfuse_session_device(session))
  }
  func mount(_ path: String) -> Bool { unsafe cfuse_session_mount(session, path) == 0 }
  func run(threads: UInt32) -> Int32 { unsafe cfuse_session_run(session, threads) }
  /// Closes the device; nothing may be sent afterwards.
  func close() { unsafe cfuse_session_close(session) }

  func expire(_ name: [UInt8], in parent: NodeID) -> Int32 {
    unsafe cfuse_notify_expire(session, parent.rawValue, name, name.count)
  }
  func invalidate(_ name: [UInt8], in parent: NodeID) -> Int32 {
    unsafe cfuse_notify_invalidate(session, parent.rawValue, name, name.count)
  }
  func forgetContent(of node: NodeID) -> Int32 { unsafe cfuse_notify_content(session, node.rawValue) }
}
