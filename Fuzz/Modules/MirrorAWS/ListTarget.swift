// Pages of listings: whole and in pieces they say the same.
import MirrorHTTP
import MirrorPlatform
import MirrorStore
import Synchronization

public func fuzzList(_ bytes: [UInt8]) {
  var input = FuzzInput(bytes)
  let kind = input.byte()
  let seed = input.byte()
  let document = input.rest()
  let pieces = FuzzInput.pieces(document, seed: seed)
  if kind & 1 == 0 { fuzzPage([document], pieces) } else { fuzzVersions([document], pieces) }
}

private final class Tokens: Sendable {
  let told = Mutex<[String]>([])
}

private func fuzzPage(_ whole: [[UInt8]], _ pieces: [[UInt8]]) {
  func read(_ parts: [[UInt8]]) -> (ListingReader.Outcome, [String]) {
    let tokens = Tokens()
    let reader = ListingReader { token in tokens.told.withLock { $0.append(token) } }
    for part in parts where !part.isEmpty && !reader.receive(part.span.bytes) { break }
    return (reader.finish(), tokens.told.withLock { $0 })
  }
  let (first, second) = (read(whole), read(pieces))
  switch (first.0, second.0) {
  case (.page(let a, let unsized, let isOld), .page(let b, let otherUnsized, let wasOld)):
    promise(a.objects == b.objects && a.prefixes == b.prefixes && a.next == b.next, "a page does not depend on cuts")
    promise(unsized == otherUnsized && isOld == wasOld && first.1 == second.1, "nor does what is said of it")
    promise(a.objects.allSatisfy { $0.revision.size >= 0 }, "no size is negative")
    promise(unsized.allSatisfy { a.objects.indices.contains($0) }, "what lacks a size is on the page")
    if let next = a.next { promise(isOld == (ListingMarker.key(next) != nil) || !isOld, "a marker leads on") }
    for object in a.objects {
      guard let tag = object.revision.etag else { continue }
      promise(EntityTag(tag.bytes) == tag, "a tag is as it is spelled")
      promise(tag.bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7F }, "a tag can be sent back")
    }
    KnownClasses().learn(a.objects)
  case (.error(let a), .error(let b)): promise(a == b, "an error does not depend on cuts")
  case (.malformed, .malformed): break
  // A document that breaks off may have told its code before or not.
  case (.error, .malformed), (.malformed, .error): break
  default: promise(false, "what an answer is does not depend on cuts")
  }
}

private func fuzzVersions(_ whole: [[UInt8]], _ pieces: [[UInt8]]) {
  func read(_ parts: [[UInt8]]) -> VersionsReader.Outcome {
    let reader = VersionsReader()
    for part in parts where !part.isEmpty && !reader.receive(part.span.bytes) { break }
    return reader.finish()
  }
  switch (read(whole), read(pieces)) {
  case (.page(let a), .page(let b)):
    promise(
      a.versions == b.versions && a.prefixes == b.prefixes && a.next == b.next, "a page does not depend on cuts")
    let keys = a.versions.map(\.object.key)
    promise(zip(keys, keys.dropFirst()).allSatisfy { $0 <= $1 }, "versions are in the order of keys")
    promise(a.versions.allSatisfy { $0.object.revision.size >= 0 }, "no size is negative")
  case (.error(let a), .error(let b)): promise(a == b, "an error does not depend on cuts")
  case (.malformed, .malformed), (.error, .malformed), (.malformed, .error): break
  default: promise(false, "what an answer is does not depend on cuts")
  }
}
