// Names that do not exist, and until when that is believed.
public import MirrorPlatform
public import MirrorStore

extension Catalogue {
  /// Until when a name is to be taken for absent; nil: nothing is known of its absence. One that is over may be told.
  public func absence(_ key: ObjectKey) async -> WallTime? {
    await ask(nil) { session in
      session.read { (store) throws(SQLiteError) in try store.absence(key) } ?? nil
    }
  }
}

extension CatalogueStore {
  /// So many are kept at most, those that hold the longest.
  static let largestAbsences = 50_000
  /// After so many new ones those that are over are dropped.
  private static let step = 1000

  func absence(_ key: ObjectKey) throws(SQLiteError) -> WallTime? {
    let query = try statement(.findAbsence)
    bind(query, key)
    guard try query.step() else { return nil }
    defer { query.reset() }
    return WallTime(milliseconds: query.int(0))
  }

  func absences(in directory: ObjectKey) throws(SQLiteError) -> [CatalogueAbsence] {
    let query = try statement(.absencesIn)
    query.bind(1, directory.bytes[...])
    var absences: [CatalogueAbsence] = []
    while try query.step() {
      absences.append(CatalogueAbsence(name: query.bytes(0), until: WallTime(milliseconds: query.int(1))))
    }
    return absences
  }

  func putAbsence(_ key: ObjectKey, _ until: WallTime, now: WallTime) throws(SQLiteError) {
    let query = try statement(.putAbsence)
    bind(query, key)
    query.bind(3, until.milliseconds)
    try query.run()
    hasAbsences = true
    absencesPut += 1
    if absencesPut >= Self.step { try dropAbsences(now: now) }
  }

  /// The name appeared.
  func removeAbsence(_ key: ObjectKey) throws(SQLiteError) {
    if hasAbsences == nil { hasAbsences = try findAnyAbsence() }
    guard hasAbsences == true else { return }
    let query = try statement(.removeAbsence)
    bind(query, key)
    try query.run()
  }

  private func findAnyAbsence() throws(SQLiteError) -> Bool {
    let query = try statement(.anyAbsence)
    defer { query.reset() }
    return try query.step()
  }

  /// Drops what is over, and what is too much. The number dropped.
  @discardableResult
  func dropAbsences(now: WallTime) throws(SQLiteError) -> Int {
    absencesPut = 0
    let over = try statement(.removeAbsencesOver)
    over.bind(1, now.milliseconds)
    try over.run()
    let count = connection.changes
    let excess = try statement(.removeExcess)
    excess.bind(1, Int64(Self.largestAbsences - Self.step))
    try excess.run()
    return count + connection.changes
  }
}
