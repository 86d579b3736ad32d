// LOOKUP: answered from memory, or by one flight for each name.
import MirrorPlatform
import MirrorStore
import Synchronization

extension BucketMirror {
  /// So many questions stay asked while nobody is answered: more of them find out no more, and a walk would have one for
  /// each name, held in memory until its deadline, and all sent when the origin returns.
  private static let questionsWhileLate = 16

  public func lookUp(_ name: [UInt8], in parent: NodeID, reply: @escaping @Sendable (LookupAnswer) -> Bool) {
    if name.count > 255 {
      _ = reply(.failed(.nameTooLong))
      return
    }
    enum Step {
      case answer(LookupAnswer)
      case start(Question, flight: UInt64)
      case answerAndStart(LookupAnswer, Question, flight: UInt64)
      case wait
    }
    let isLate = store.isLate
    let step = change { state, now -> Step in
      guard let directory = state.namespace.directoryIndex(parent) else { return .answer(.failed(.stale)) }
      switch state.namespace.lookUp(directory, name, recalled: false, now: now) {
      case .answer(let answer):
        if let slot = state.namespace.fileSlot(of: NameID(directory: directory, name: name)) {
          state.noteUse(directory, slot, now)
          state.served.fresh += 1
        }
        return .answer(state.count(answer))
      case .ask(let question):
        if let answer = state.answerWhileAsking(question, now) ?? (isLate ? state.staleAnswer(question.id, self) : nil)
        {
          guard state.lookups[question.id] == nil, !isLate || state.lookups.count < Self.questionsWhileLate else {
            return .answer(answer)
          }
          state.lastFlight += 1
          state.lookups[question.id] = LookupFlight(number: state.lastFlight, waiters: [])
          return .answerAndStart(answer, question, flight: state.lastFlight)
        }
        if state.lookups[question.id] == nil {
          state.lastFlight += 1
          state.lookups[question.id] = LookupFlight(number: state.lastFlight, waiters: [reply])
          return .start(question, flight: state.lastFlight)
        }
        if state.lookups[question.id]?.overdue == true, let stale = state.staleAnswer(question.id, self) {
          return .answer(stale)
        }
        state.lookups[question.id]?.waiters.append(reply)
        return .wait
      }
    }
    switch step {
    case .answer(let answer): deliver(answer, to: [reply])
    case .start(let question, let flight): Task { await fly(question, flight) }
    case .answerAndStart(let answer, let question, let flight):
      deliver(answer, to: [reply])
      Task { await fly(question, flight) }
    case .wait: break
    }
  }

  /// Gives an answer whose look-ups were counted; those that did not arrive are given back.
  private func deliver(_ answer: LookupAnswer, to waiters: [LookupFlight.Reply]) {
    for reply in waiters where !reply(answer) {
      if case .found(let entry) = answer { forget(entry.attributes.node, count: 1) }
    }
  }

  /// Finds the answer: the catalogue first, then the origin.
  private func fly(_ question: Question, _ flight: UInt64) async {
    guard case .recall = question.subject else { return await ask(question, flight) }
    await recall(question.id)
    let next = change { state, now -> Question? in
      switch state.namespace.lookUp(question.id.directory, question.id.name, recalled: true, now: now) {
      case .answer(let answer):
        // `settle` counts a look-up for each who waits: this one was only a question.
        state.uncount(answer)
        return nil
      case .ask(let next): return next
      }
    }
    if let next { await ask(next, flight) } else { settle(question.id, flight) }
  }

  private func ask(_ question: Question, _ flight: UInt64) async {
    let timer = Task { [weak self, pause] in
      await pause(Self.unease)
      if !Task.isCancelled { self?.store.doubt("\(question.key)") }
      await pause(Self.patience - Self.unease)
      if !Task.isCancelled { self?.losePatience(question.id, flight) }
    }
    defer { timer.cancel() }
    do throws(StoreError) {
      switch question.subject {
      case .recall: break
      case .describe: try await describe(question)
      case .validate(let slot, let revision, let cached, let recalled):
        // What is fetched ahead needs an answer of its own in any case: that is its content.
        let byPage =
          state.withLock { $0.namespace.isFreshenedByPages(question.id) } && (Errand.current == nil || cached)
        if byPage, try await validateByPage(question) { break }
        // The page may have answered it meanwhile.
        guard state.withLock({ $0.lookups[question.id]?.number == flight }) else { return }
        let known = recalled ? cached : await recallCached(FileID(question.id.directory, slot), question.key)
        try await request(planner.validation(of: revision, cached: known), question, flight)
      case .discover(let neighbours, let wasAbsent):
        try await request(
          planner.discovery(question.id.name, beside: neighbours, wasAbsent: wasAbsent), question, flight)
      }
      settle(question.id, flight)
    } catch {
      // What is fetched ahead is refused money that a reader, who waits for the same by now, is given.
      if error.code == .overBudget, Errand.current != nil, isShared(question.id, flight) {
        return await Errand.$current.withValue(nil) { await ask(question, flight) }
      }
      Errand.current?.note(error)
      fail(question.id, flight, error)
    }
  }

  private func isShared(_ id: NameID, _ flight: UInt64) -> Bool {
    state.withLock { state in
      state.lookups[id].map { $0.number == flight && $0.waiters.count > 1 } ?? false
    }
  }

  private func request(_ plan: ValidationPlanner.Request, _ question: Question, _ flight: UInt64)
    async throws(StoreError)
  {
    switch plan {
    case .validate(let tag, let range): try await get(question, flight, range, .ifNoneMatch(tag))
    case .fetch(let range): try await get(question, flight, range, .none)
    case .look: try await look(question)
    case .sample: try await sample(question)
    }
  }

  /// GET, whose head is the answer and whose body is the beginning of the content.
  private func get(_ question: Question, _ flight: UInt64, _ range: ByteRange?, _ condition: Condition)
    async throws(StoreError)
  {
    let requested = clock.now()
    let sink = RevisionSink(mirror: self, question: question, flight: flight, requested: requested)
    let request = GetRequest(
      key: question.key, range: range, condition: condition, deadline: requested + Self.deadline,
      purpose: Errand.purpose(state.withLock { $0.namespace.purpose(of: question, requested) }))
    do throws(StoreError) {
      let outcome = try await store.get(request, into: sink)
      sink.end(outcome)
      if sink.isForeign { throw foreign("GetObject", question.key) }
      if case .notModified(let modified, let caching) = outcome {
        confirmed(question, modified: modified, caching, requested: requested)
      }
    } catch {
      sink.end(error)
      // Once the head was there, the question is answered; the body is the readers' affair.
      if sink.hasBegun { return }
      switch error.code {
      case .rangeNotSatisfiable where range != nil: try await get(question, flight, nil, condition)
      case .notFound: try await missing(question, requested: requested)
      // What is archived can't be read, and can be seen.
      case .archived: try await look(question)
      default: throw error
      }
    }
  }

  /// There is no such object; a directory of that name may still exist. Where a file was, nearly always it was just
  /// deleted, which is to cost one request: whether a directory took its place is asked when somebody looks again.
  func missing(_ question: Question, requested: Instant) async throws(StoreError) {
    let file = change { state, _ -> Entry? in
      let directory = question.id.directory
      guard let slot = state.namespace.fileSlot(of: question.id) else { return nil }
      let entry = state.namespace.directories[directory].table[slot]
      // An answer older than what is held must not undo it.
      if requested < entry.validated && !entry.isExpired { return entry }
      state.namespace.removeFile(directory, slot)
      return entry
    }
    guard let file else { return try await sample(question, onlyBelow: true) }
    // Somebody has told since of something new: whoever looks next asks again.
    if file.wasTold(since: requested) { return }
    change { state, now in
      if state.namespace.slot(of: question.id) == nil { state.namespace.noteMissing(question.id, now: now) }
    }
  }

  /// Notes that a name does not exist, unless it came to light meanwhile.
  func noteAbsent(_ id: NameID) {
    change { state, now in
      if state.namespace.slot(of: id) == nil { _ = state.namespace.noteAbsent(id, now: now) }
    }
  }

  /// A 304: what was known when it was asked is current. Another answer may have told of a later revision meanwhile.
  private func confirmed(_ question: Question, modified: Int64?, _ caching: CachingFields, requested: Instant) {
    guard case .validate(_, let known, _, _) = question.subject else { return }
    let id = question.id
    let revision = ObjectRevision(
      etag: known.etag, size: known.size, modified: modified ?? known.modified, version: known.version)
    let unkept = change { state, now -> MirroredFile? in
      guard let slot = state.namespace.fileSlot(of: id) else { return nil }
      let change = state.namespace.setFile(
        id.directory, id.name[...], revision, storageClass: nil, vouched: requested, by: .object)
      guard change != .outdated else { return nil }
      state.served.revalidated += 1
      return state.noteStated(FileID(id.directory, slot), caching, asked: requested, confirmed: true)
    }
    unkept?.retire()
  }

  /// The answer is in the namespace: gives it to all who wait, and lets it count for those about to ask.
  func settle(_ id: NameID, _ flight: UInt64) {
    let settled = change { state, now -> (LookupAnswer, [LookupFlight.Reply])? in
      guard let waiters = state.land(id, flight) else { return nil }
      return (state.answer(id, count: waiters.count, now: now), waiters)
    }
    if let (answer, waiters) = settled { deliver(answer, to: waiters) }
  }

  /// Names of a directory that came to light answer the look-ups that wait for them: a READDIRPLUS that names
  /// one of them waits in the kernel for that look-up.
  func answerKnown(in directory: Int?) {
    let answered = change { state, now -> [(LookupAnswer, [LookupFlight.Reply])] in
      var answered: [(LookupAnswer, [LookupFlight.Reply])] = []
      for (id, flight) in state.lookups where !flight.waiters.isEmpty && id.directory == directory ?? id.directory {
        guard state.namespace.canAnswer(id, now) else { continue }
        answered.append((state.answer(id, count: flight.waiters.count, now: now), flight.waiters))
        state.lookups[id] = nil
      }
      return answered
    }
    for (answer, waiters) in answered { deliver(answer, to: waiters) }
  }

  /// The origin takes its time: whoever can be given a stale answer is, and the question stays asked.
  private func losePatience(_ id: NameID, _ number: UInt64) {
    let (answer, waiters) = change { state, now -> (LookupAnswer?, [LookupFlight.Reply]) in
      guard let flight = state.lookups[id], flight.number == number,
        let answer = state.staleAnswer(id, self, count: flight.waiters.count)
      else { return (nil, []) }
      state.lookups[id]?.overdue = true
      state.lookups[id]?.waiters = []
      return (answer, flight.waiters)
    }
    guard let answer else { return }
    store.noteLate()
    deliver(answer, to: waiters)
  }

  private func fail(_ id: NameID, _ flight: UInt64, _ error: StoreError) {
    let failed = change { state, now -> (LookupAnswer, [LookupFlight.Reply])? in
      guard let waiters = state.land(id, flight) else { return nil }
      // Whoever fetches ahead can wait for a better one.
      let maybeStale = error.isNoAnswer && Errand.current?.wait == nil
      let stale = maybeStale ? state.staleAnswer(id, self, count: waiters.count) : nil
      return (stale ?? .failed(error.errno), waiters)
    }
    // A stale answer for want of money is as it should be.
    var isTold = error.code == .cancelled || error.isConnectionFailure
    if error.code == .overBudget, case .found? = failed?.0 { isTold = true }
    if Errand.current?.wait != nil { isTold = true }
    if !isTold { log.limited(.warning, key: "look-up \(error.code)", "a look-up failed: \(error)") }
    if let (answer, waiters) = failed { deliver(answer, to: waiters) }
  }
}

extension BucketMirror.State {
  /// Counts what is told of absent names.
  mutating func count(_ answer: LookupAnswer) -> LookupAnswer {
    if case .absent = answer { served.negative += 1 }
    return answer
  }

  /// Ends a flight, if it is still the one under way: who waits for it.
  mutating func land(_ id: NameID, _ flight: UInt64) -> [LookupFlight.Reply]? {
    guard lookups[id]?.number == flight else { return nil }
    return lookups.removeValue(forKey: id)?.waiters
  }

  mutating func uncount(_ answer: LookupAnswer) {
    if case .found(let entry) = answer { _ = namespace.forget(entry.attributes.node, count: 1) }
  }

  /// What the namespace says of a name, to so many who wait.
  mutating func answer(_ id: NameID, count: Int, now: Instant) -> LookupAnswer {
    if let slot = namespace.slot(of: id) {
      if namespace.directories[id.directory].table[slot].kind == .file {
        namespace.noteAnswered(id.directory, slot, now)
      }
      if count > 0 { return namespace.answer(id.directory, slot, count: UInt64(count), now: now) }
    }
    served.negative += count
    return .absent(timeout: namespace.absenceLeft(id, now))
  }

  /// A stale answer that may be given while the origin is asked.
  mutating func answerWhileAsking(_ question: Question, _ now: Instant) -> LookupAnswer? {
    guard case .validate(let slot, _, _, _) = question.subject,
      namespace.mayServeWhileAsking(question.id.directory, slot, now)
    else { return nil }
    served.stale += 1
    return namespace.answer(question.id.directory, slot, now: now)
  }

  /// A stale answer for so many look-ups, if there is one and the rules allow it.
  mutating func staleAnswer(_ id: NameID, _ mirror: BucketMirror, count: Int = 1) -> LookupAnswer? {
    let now = mirror.clock.now()
    guard count > 0, let slot = namespace.slot(of: id), namespace.mayServeStale(id.directory, slot, now) else {
      return nil
    }
    served.stale += count
    return namespace.answer(id.directory, slot, count: UInt64(count), now: now)
  }
}

extension Namespace {
  /// What a GET for a look-up is for: where a stale copy may be served, it can be put off.
  func purpose(of question: Question, _ now: Instant) -> RequestPurpose {
    guard case .validate = question.subject, let slot = fileSlot(of: question.id),
      mayServeStale(question.id.directory, slot, now)
    else { return .content }
    let entry = directories[question.id.directory].table[slot]
    // Whoever asked for it to be looked at again is about to use it.
    let used = entry.isExpired ? now : max(entry.validated, entry.answered)
    return .validation(used: used, lifetime: lifetime(question.id.directory, slot))
  }
}
