// The answer to a question about a name: its head is the answer, its body the content.
import MirrorPlatform
import MirrorStore
import Synchronization

/// Takes a GET that a look-up sent: answers the look-up at the head, and lets the body stream into the cache.
final class RevisionSink: ObjectSink {
  private weak let mirror: BucketMirror?
  private let question: Question
  private let flight: UInt64
  private let requested: Instant
  private struct State {
    var hasBegun = false
    var isForeign = false
    var run: FetchRun?
    /// Nobody wants the body, and it is short.
    var isDropping = false
  }
  /// To read so much costs less than another connection.
  private static let dropped: Int64 = 16 << 10
  private let state = Mutex(State())

  init(mirror: BucketMirror, question: Question, flight: UInt64, requested: Instant) {
    self.mirror = mirror
    self.question = question
    self.flight = flight
    self.requested = requested
  }

  /// The head was there, and answered the question.
  var hasBegun: Bool { state.withLock { $0.hasBegun } }
  /// The answer says nothing of which object it is, though the origin did before: it is somebody else's.
  var isForeign: Bool { state.withLock { $0.isForeign } }

  func begin(_ head: ObjectHead) -> Bool {
    if !head.revision.isIdentified, mirror?.isIdentified(question.id) == true {
      state.withLock { $0.isForeign = true }
      return false
    }
    let run = mirror?.arrived(question.id, head, requested: requested)
    let isDropping = run == nil && head.end - head.start <= Self.dropped
    state.withLock {
      $0.hasBegun = true
      $0.run = run
      $0.isDropping = isDropping
    }
    mirror?.settle(question.id, flight)
    return run != nil || isDropping
  }

  func receive(_ bytes: RawSpan) -> Bool {
    let (run, isDropping) = state.withLock { ($0.run, $0.isDropping) }
    return run?.receive(bytes) ?? isDropping
  }

  /// The transfer is over.
  func end(_ outcome: GetOutcome) { takeRun()?.ended(outcome) }

  /// The transfer failed.
  func end(_ error: StoreError) { takeRun()?.brokeOff(error) }

  private func takeRun() -> FetchRun? {
    state.withLock { state in
      defer { state.run = nil }
      return state.run
    }
  }
}

extension BucketMirror {
  /// The name's known revision has an ETag or a date.
  func isIdentified(_ id: NameID) -> Bool {
    state.withLock { state in
      guard let slot = state.namespace.fileSlot(of: id) else { return false }
      return state.namespace.directories[id.directory].table[slot].revision.isIdentified
    }
  }

  /// The head of a 200 or 206: this is the name's current revision. Returns where its body goes, if it is wanted.
  func arrived(_ id: NameID, _ head: ObjectHead, requested: Instant) -> FetchRun? {
    seen(id, head.metadata, requested: requested, hasBody: true)?.fill(from: head)
  }

  /// A name's current revision, by an answer for the name itself. Returns the content that a body would be part of,
  /// where that is not here yet.
  @discardableResult
  func seen(_ id: NameID, _ metadata: ObjectMetadata, requested: Instant, hasBody: Bool) -> MirroredFile? {
    let (file, unkept) = change { state, _ -> (MirroredFile?, MirroredFile?) in
      state.namespace.noteTagDifference(id, metadata.revision)
      let change = state.namespace.setFile(
        id.directory, id.name[...], metadata.revision, storageClass: metadata.storageClass, vouched: requested,
        by: .object)
      guard change != .hidden, change != .outdated,
        let slot = state.namespace.fileSlot(of: id)
      else { return (nil, nil) }
      state.namespace.noteRecalled(id.directory, slot)
      state.namespace.noteDescribed(id.directory, slot, metadata.posix)
      let unkept = state.noteStated(FileID(id.directory, slot), metadata.caching, asked: requested)
      let entry = state.namespace.directories[id.directory].table[slot]
      // Content that is thought to be here already is not written twice.
      if !hasBody || change == .unchanged && entry.cached { return (nil, unkept) }
      return (self.content(FileID(id.directory, slot), &state), unkept)
    }
    unkept?.retire()
    return file
  }

  /// An answer to a reader came for a revision: it is current, and what it says of its freshness.
  func fileTold(_ file: MirroredFile, _ metadata: ObjectMetadata, asked: Instant) {
    let unkept = change { state, now -> MirroredFile? in
      let id = file.id
      let (directory, slot) = (Int(id.directory), Int(id.slot))
      guard state.files[id] === file else { return nil }
      let entry = state.namespace.directories[directory].table[slot]
      // Somebody may have said after that question that it is to be asked again.
      let isRenewed = !entry.isExpired && !state.namespace.isFresh(directory, slot, now)
      if isRenewed { state.namespace.freshen(directory, slot, nil, vouched: asked, confirmed: true) }
      state.namespace.learnVersion(directory, slot, metadata.revision.version)
      state.namespace.noteDescribed(directory, slot, metadata.posix)
      // The parts of one object say the same.
      guard isRenewed && asked >= entry.validated || entry.stated == .unknown else { return nil }
      let given = state.namespace.lifetime(directory, slot)
      let unkept = state.noteStated(id, metadata.caching, asked: asked)
      // The kernel was told of the listing's lifetime.
      if state.namespace.lifetime(directory, slot) < given { state.namespace.expireForKernel(directory, slot) }
      return unkept
    }
    unkept?.retire()
  }

  /// The content of a name's current revision.
  func content(_ id: FileID, _ state: inout State) -> MirroredFile {
    state.moveRetired()
    let (directory, slot) = (Int(id.directory), Int(id.slot))
    if let file = state.files[id] {
      // What was found gone made the name expire.
      if file.wasGone.load(ordering: .relaxed), !state.namespace.directories[directory].table[slot].isExpired {
        file.revive()
      }
      return file
    }
    let (key, revision) = (state.namespace.key(directory, slot), state.namespace.revision(directory, slot))
    let old = state.supersededFile(key, revision)
    old?.restore(as: id)
    let file = old ?? MirroredFile(id: id, key: key, revision: revision, sources: sources, owner: self)
    if state.namespace.mayNotKeep(directory, slot) { file.retire() }
    state.files[id] = file
    return file
  }
}

extension BucketMirror.State {
  /// Takes note of what an answer says; the content that may not be kept for it, to be retired once nothing is locked.
  mutating func noteStated(
    _ id: FileID, _ fields: CachingFields, asked: Instant, confirmed: Bool = false
  ) -> MirroredFile? {
    let (directory, slot) = (Int(id.directory), Int(id.slot))
    if namespace.noteStated(directory, slot, fields, asked: asked, confirmed: confirmed) { return nil }
    if let file = files[id] {
      namespace.askToForget(directory, slot)
      return file
    }
    let entry = namespace.directories[directory].table[slot]
    if entry.cached {
      namespace.effects.unwanted.append((namespace.key(directory, slot), entry.revision))
      namespace.noteCached(directory, slot, false)
    }
    return nil
  }
}
