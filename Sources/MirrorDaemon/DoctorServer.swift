// The doctor's look at an object and at its server: what reading needs, and what the server does otherwise than S3.
import MirrorAWS
import MirrorPlatform
import MirrorStore

extension Doctor {
  func examineObject(_ store: S3Store, _ object: ListedObject, _ ledger: Ledger) async {
    let what = "'\(object.key)'"
    do throws(StoreError) {
      // Not to its end, if that can be: an answer that has more tells of a server without ranges.
      let range = ByteRange(0, max(1, min(1024, object.revision.size - 1)))
      let outcome = try await store.get(
        GetRequest(key: object.key, range: range, deadline: deadline), into: FirstBytes())
      guard case .delivered(let head) = outcome else { return note(.odd, "read", "\(what) could not be read whole") }
      note(.good, "read", "the beginning of \(what)")
      guard let tag = head.revision.etag else {
        return note(.odd, "validation", "\(what) has no ETag: changes are told by size and time alone")
      }
      if let listed = object.revision.etag, listed != tag, object.revision.modified == head.revision.modified {
        store.traits.note(.listedTags)
      }
      _ = try await store.get(
        GetRequest(key: object.key, range: range, condition: .ifNoneMatch(tag), deadline: deadline), into: FirstBytes())
      // The store makes no difference between a 304 and a 200 with the same tag; the ledger does.
      if ledger.sinceMount.notModified > 0 {
        note(.good, "validation", "an unchanged object is said to be unchanged")
      } else {
        note(.odd, "validation", "the server sends what has not changed again: it costs bytes at every use")
      }
      await examineMatch(store, object.key, range)
      if store.traits.all.isEmpty { note(.good, "server", "it did all that was asked as S3 does") }
    } catch { fail("read", error) }
  }

  /// Asks for a revision that there can't be.
  private func examineMatch(_ store: S3Store, _ key: ObjectKey, _ range: ByteRange) async {
    let never = EntityTag(Array("\"no-such-revision\"".utf8))
    _ = try? await store.get(
      GetRequest(key: key, range: range, condition: .ifMatch(never), deadline: deadline), into: FirstBytes())
  }

  /// What the requests so far have brought to light.
  func examineServer(_ store: S3Store) {
    for lack in store.traits.all { note(.odd, "server", "it \(lack.remedy)") }
  }
}

private final class FirstBytes: ObjectSink {
  func begin(_ head: ObjectHead) -> Bool { true }
  func receive(_ bytes: RawSpan) -> Bool { true }
}
