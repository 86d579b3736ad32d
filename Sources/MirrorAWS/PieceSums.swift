// Checks of an object's parts, joined: proof of an object that was never fetched in one piece.
import MirrorPlatform
import Synchronization

/// Collects the checks of parts by object, for as long as the object is being fetched; bounded, safe to share.
final class PieceSums: Sendable {
  enum Verdict: Equatable {
    /// Parts are missing still.
    case open
    /// All parts are here and join to the value expected.
    case proven
    /// They join to another.
    case damaged(got: [UInt8])
    /// They do so every time: the value is not that of the object.
    case meaningless
  }

  private struct Piece {
    let range: Range<Int64>
    let value: UInt64
  }
  private struct Object {
    let claim: String
    var pieces: [Piece] = []
  }
  private struct State {
    /// The latest last.
    var objects: [Object] = []
    /// What the parts of damaged objects joined to.
    var damaged: [String: UInt64] = [:]
  }
  private let state = Mutex(State())
  private let capacity = 16

  /// Takes the check of one part. `claim` names object, revision and the value expected of it all.
  func add(
    _ claim: String, _ algorithm: RedundancyCheck.Algorithm, _ value: [UInt8], of range: Range<Int64>, size: Int64,
    expected: [UInt8]
  ) -> Verdict {
    let number = value.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return state.withLock { state in
      var object = Object(claim: claim)
      if let index = state.objects.firstIndex(where: { $0.claim == claim }) { object = state.objects.remove(at: index) }
      if !object.pieces.contains(where: { $0.range.overlaps(range) }) {
        let place = object.pieces.firstIndex { $0.range.lowerBound > range.lowerBound } ?? object.pieces.endIndex
        object.pieces.insert(Piece(range: range, value: number), at: place)
        object.pieces = Self.merged(object.pieces, algorithm)
      }
      guard object.pieces.count == 1, object.pieces[0].range == 0..<size else {
        if state.objects.count >= capacity { state.objects.removeFirst() }
        state.objects.append(object)
        return .open
      }
      let whole = object.pieces[0].value
      let bytes = RedundancyCheck.bytes(whole, algorithm)
      if bytes == expected {
        state.damaged[claim] = nil
        return .proven
      }
      if state.damaged[claim] == whole { return .meaningless }
      if state.damaged.count >= capacity { state.damaged.removeAll() }
      state.damaged[claim] = whole
      return .damaged(got: bytes)
    }
  }

  private static func merged(_ pieces: [Piece], _ algorithm: RedundancyCheck.Algorithm) -> [Piece] {
    var merged: [Piece] = []
    for piece in pieces {
      guard let last = merged.last, last.range.upperBound == piece.range.lowerBound else {
        merged.append(piece)
        continue
      }
      let value = RedundancyCheck.joined(algorithm, last.value, piece.value, secondCount: Int64(piece.range.count))
      merged[merged.count - 1] = Piece(range: last.range.lowerBound..<piece.range.upperBound, value: value)
    }
    return merged
  }
}
