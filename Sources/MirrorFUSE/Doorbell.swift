// The bell that wakes a thread of ours.
import CFUSE
import Glibc
import MirrorPlatform

/// Wakes one waiting thread; rings while nobody waits are remembered as one.
///
/// `@unchecked`: the C object locks itself, and the pointer never changes.
@safe final class Doorbell: @unchecked Sendable {
  private let bell: OpaquePointer

  init() throws(Errno) {
    guard let bell = unsafe cfuse_doorbell_create() else { throw Errno(rawValue: ENOMEM) }
    unsafe self.bell = unsafe bell
  }
  deinit { unsafe cfuse_doorbell_destroy(bell) }

  func ring() { unsafe cfuse_doorbell_ring(bell) }

  /// Returns after a ring, or after so long; nil waits for ever.
  func wait(_ limit: Duration?) {
    let milliseconds = limit.map { max(1, $0.nanosecondsClamped / 1_000_000) } ?? -1
    unsafe cfuse_doorbell_wait(bell, milliseconds)
  }
}
