// The pages of a directory from the origin: each is asked for as soon as its place is known, and taken in when it came.
import MirrorCache
import MirrorPlatform
import MirrorStore
import Synchronization

/// A page that was asked for.
private struct AskedPage {
  let request: ListRequest
  /// When the request was sent: nothing in it is vouched for as of later.
  let requested: Instant
  let answer: Task<Result<ListPage, StoreError>, Never>
  /// Where the listing goes on, as soon as the answer says so; ends with it.
  let next: AsyncStream<String>
}

/// Whether a listing gets anywhere: a server whose pages lead nowhere is asked, and paid, for ever.
private struct ListingCourse {
  private var places: Set<String> = []
  private var last = ObjectKey([])
  private var empty = 0

  mutating func advances(to page: ListPage, of request: ListRequest, isOrdered: Bool) -> Bool {
    guard let place = page.next else { return true }
    empty = page.isEmpty ? empty + 1 : 0
    // A flat listing that is begun anew name by name comes by the same places.
    guard empty <= FilledPages.most, places.insert(request.delimited ? place : "flat \(place)").inserted else {
      return false
    }
    guard isOrdered, let end = [page.objects.last?.key, page.prefixes.last].compactMap(\.self).max() else {
      return true
    }
    defer { last = end }
    return last < end
  }
}

extension BucketMirror {
  /// All pages of a directory. The first is flat: in a small tree it is the only one, for all that lies below; in a
  /// walk it takes in the directories that follow.
  func fetchListing(_ directory: Int) async throws(StoreError) {
    let since = clock.now()
    if !traits.lacks(.order), state.withLock({ $0.isWalk(to: directory, since) }) {
      _ = await page(.directory(directory)).value
      if state.withLock({ $0.isListingFresh(directory, clock.now()) }) { return }
    }
    var scan = ListingScan(base: directory, coversBase: true, since: since, isOrdered: !traits.lacks(.order))
    var asked = ask(
      state.withLock { state in
        ListRequest(
          prefix: ObjectKey(state.namespace.directories[directory].key), delimited: state.large.contains(directory))
      }, of: directory)
    var course = ListingCourse()
    while true {
      let (page, ahead) = try await receive(asked, of: directory)
      if !course.advances(to: page, of: asked.request, isOrdered: scan.isOrdered) {
        ahead?.answer.cancel()
        throw StoreError(
          .malformedResponse, operation: "ListObjectsV2", subject: "\(asked.request.prefix)",
          message: "the server's pages go round in a circle")
      }
      if scan.isOrdered, traits.lacks(.order) {
        // It came to light just now: pages before this one told less than they seemed to.
        scan = ListingScan(base: directory, coversBase: true, since: since, isOrdered: false)
        if asked.request.startAfter != nil || asked.request.continuation != nil {
          ahead?.answer.cancel()
          course = ListingCourse()
          asked = ask(ListRequest(prefix: asked.request.prefix, delimited: true), of: directory)
          continue
        }
      }
      let next = change { state, now in state.take(page, of: asked, directory, now, &scan) }
      answerKnown(in: directory)
      guard let next else { return }
      asked = ahead ?? ask(next, of: directory)
      pageArrived(directory)
    }
  }

  private func ask(_ request: ListRequest, of directory: Int) -> AskedPage {
    let (next, told) = AsyncStream<String>.makeStream(bufferingPolicy: .bufferingOldest(1))
    let requested = clock.now()
    var request = request
    request.deadline = requested + Self.deadline
    request.purpose = Errand.purpose(
      state.withLock { $0.namespace.mayServeStaleListing(directory, requested) } ? .listing : .content)
    if request.delimited { request.onNext = { told.yield($0) } }
    let answer = Task { [store, request] in
      defer { told.finish() }
      do throws(StoreError) { return Result<_, StoreError>.success(try await store.list(request)) } catch {
        return .failure(error)
      }
    }
    return AskedPage(request: request, requested: requested, answer: answer, next: next)
  }

  /// The page, and the one behind it, which is asked for while this one is still coming. Of a flat page it is not known
  /// before its end where to go on.
  private func receive(
    _ asked: AskedPage, of directory: Int
  ) async throws(StoreError) -> (ListPage, ahead: AskedPage?) {
    let following = Task { () -> AskedPage? in
      guard asked.request.delimited else { return nil }
      for await token in asked.next { return ask(asked.request.going(on: token), of: directory) }
      return nil
    }
    let result = await asked.answer.value
    let ahead = await following.value
    if case .success(let page) = result, let ahead, page.next == ahead.request.continuation { return (page, ahead) }
    // A server that says one thing before the keys and another after them.
    ahead?.answer.cancel()
    return (try result.get(), nil)
  }

  /// One page of what lies below the mount's root: says whether the bucket answers, and fills a small tree whole.
  func sampleRoot(_ store: any ObjectStore, deadline: Duration) async throws(StoreError) {
    let since = clock.now()
    let isKnown = state.withLock { $0.namespace.mayServeStaleListing(0, since) }
    let page = try await store.list(
      ListRequest(
        prefix: configuration.prefix, delimited: false, deadline: since + deadline,
        purpose: isKnown ? .listing : .content))
    change { state, _ in
      var scan = ListingScan(base: 0, coversBase: true, since: since, isOrdered: !traits.lacks(.order))
      scan.applyFlat(page, requested: since, to: &state.namespace)
      let request = ListRequest(prefix: configuration.prefix, delimited: false)
      state.learn(page, of: request, scan)
      // A later start knows by this that the bucket was served from here before.
      state.namespace.effects.changes.append(.directory(configuration.prefix, listed: nil))
      if page.next != nil { state.large.formUnion(scan.large) }
    }
  }
}

extension ListRequest {
  fileprivate func going(on token: String) -> ListRequest {
    var next = self
    next.continuation = token
    return next
  }
}

extension BucketMirror.State {
  /// Takes in a page of a directory's listing; how to go on, if there is more.
  fileprivate mutating func take(
    _ page: ListPage, of asked: AskedPage, _ directory: Int, _ now: Instant, _ scan: inout ListingScan
  ) -> ListRequest? {
    defer { listings[directory]?.pages += 1 }
    listings[directory]?.heard = now
    listings[directory]?.overdue = false
    if asked.request.delimited {
      scan.applyDelimited(page, requested: asked.requested, to: &namespace)
      // Where nothing but files lies between its keys, a delimited page is a flat one.
      if page.prefixes.isEmpty, scan.isOrdered { learn(page, of: asked.request, scan, after: scan.lastKey) }
      scan.noteEnd(of: page)
      return page.next.map { asked.request.going(on: $0) }
    }
    scan.applyFlat(page, requested: asked.requested, to: &namespace)
    learn(page, of: asked.request, scan)
    lastChildListed[namespace.directories[directory].parent] = (asked.requested, page.objects.count)
    guard page.next != nil else { return nil }
    large.formUnion(scan.large)
    var next = asked.request
    next.delimited = true
    // Without an order there is no place to go on from: it begins anew, name by name.
    if scan.isOrdered {
      guard let last = page.objects.last else { return page.next.map { asked.request.going(on: $0) } }
      next.startAfter = scan.narrow(after: last.key, namespace)
    }
    return next
  }

  /// Whether this listing follows that of a small sibling, so that a page had better take in what follows: a walk.
  fileprivate func isWalk(to directory: Int, _ now: Instant) -> Bool {
    guard directory != 0, !large.contains(directory) else { return false }
    let parent = namespace.directories[directory].parent
    guard let last = lastChildListed[parent] else { return false }
    // Of larger ones a page takes in one at most, and can't tell that it has.
    return now - last.at < namespace.listingLifetime(parent) && last.keys <= ListRequest.maximumKeys / 2
  }
}
