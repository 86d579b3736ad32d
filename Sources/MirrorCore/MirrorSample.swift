// A name of which nothing is known: the request that tells of file and directory alike.
import MirrorPlatform
import MirrorStore
import Synchronization

extension BucketMirror {
  /// LIST of the keys that begin with the name (or lie below it): what is there, and what is near.
  func sample(_ question: Question, onlyBelow: Bool = false) async throws(StoreError) {
    // Without an order keys are not listed by what they begin with, but by directory.
    if traits.lacks(.order) { return try await sampleUnordered(question, onlyBelow: onlyBelow) }
    let requested = clock.now()
    let prefix = onlyBelow ? ObjectKey(question.key.bytes + [0x2F]) : question.key
    let page = try await store.list(
      ListRequest(
        prefix: prefix, delimited: false, deadline: requested + Self.deadline, purpose: Errand.purpose(.content)))
    let isOrdered = !traits.lacks(.order)
    let undecided = change { state, _ -> Bool in
      var scan = ListingScan(
        base: question.id.directory, coversBase: false, since: requested, isOrdered: isOrdered)
      scan.applyFlat(page, requested: requested, to: &state.namespace)
      state.learn(page, of: ListRequest(prefix: prefix, delimited: false), scan)
      if page.next != nil, isOrdered { state.large.formUnion(scan.large) }
      let known = state.namespace.slot(of: question.id) != nil
      return !known && page.next != nil && !onlyBelow
    }
    if undecided { return try await sample(question, onlyBelow: true) }
    noteAbsent(question.id)
    answerKnown(in: question.id.directory)
  }

  /// A name where listings have no order: the file first, then whether anything lies below it.
  private func sampleUnordered(_ question: Question, onlyBelow: Bool) async throws(StoreError) {
    // Where there is no file it comes back to what lies below.
    if !onlyBelow { return try await look(question) }
    let requested = clock.now()
    var request = ListRequest(
      prefix: ObjectKey(question.key.bytes + [0x2F]), delimited: true, purpose: Errand.purpose(.content))
    // A page may be empty, and the next one not: nothing is absent before the end.
    while true {
      request.deadline = clock.now() + Self.deadline
      let page = try await store.list(request)
      let isKnown = change { state, _ -> Bool in
        guard !page.objects.isEmpty || !page.prefixes.isEmpty else { return false }
        let child = state.namespace.makeDirectory(question.id.directory, question.id.name[...], vouched: requested)
        var scan = ListingScan(
          base: child, coversBase: page.next == nil && request.continuation == nil,
          since: requested, isOrdered: false)
        scan.applyDelimited(page, requested: requested, to: &state.namespace)
        return true
      }
      guard !isKnown, let next = page.next else { break }
      request.continuation = next
    }
    noteAbsent(question.id)
    answerKnown(in: question.id.directory)
  }
}
