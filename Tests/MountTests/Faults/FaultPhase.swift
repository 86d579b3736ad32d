// What a mount is doing when a fault meets it: the columns of the fault matrix, in the order in which a row goes.

enum FaultPhase: String, CaseIterable, Sendable {
  case mount, firstLook, validation, listFirst, listMiddle, listLast, coldFirst, coldMiddle, coldLast, warm, eviction
  case verify, unmount, remount

  /// Its column's head.
  var name: String {
    switch self {
    case .mount: "mount"
    case .firstLook: "look"
    case .validation: "valid"
    case .listFirst: "list1"
    case .listMiddle: "listM"
    case .listLast: "listL"
    case .coldFirst: "cold1"
    case .coldMiddle: "coldM"
    case .coldLast: "coldL"
    case .warm: "warm"
    case .eviction: "evict"
    case .verify: "verify"
    case .unmount: "unmnt"
    case .remount: "again"
    }
  }

  /// Keys that begin with this are the phase's own.
  var directory: String {
    switch self {
    case .firstLook: "look"
    case .validation: "val"
    case .listFirst: "lista"
    case .listMiddle: "listb"
    case .listLast: "listc"
    case .coldFirst: "colda"
    case .coldMiddle: "coldb"
    case .coldLast: "coldc"
    case .eviction: "evict"
    case .mount, .warm, .verify, .unmount, .remount: "warm"
    }
  }

  /// Which page of a listing, or which part of an object, the fault meets: 0, 1 or 2.
  var portion: Int? {
    switch self {
    case .listFirst, .coldFirst: 0
    case .listMiddle, .coldMiddle: 1
    case .listLast, .coldLast: 2
    default: nil
    }
  }

  var isListing: Bool { self == .listFirst || self == .listMiddle || self == .listLast }
  var isCold: Bool { self == .coldFirst || self == .coldMiddle || self == .coldLast }
  /// It begins without a mount.
  var isStart: Bool { self == .mount || self == .remount }
  /// No request is sent for it.
  var isLocal: Bool { self == .warm || self == .verify || self == .unmount }
}
