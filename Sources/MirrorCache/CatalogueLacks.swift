// What the server was met without, in the table `meta`: the time of the last meeting by name.
public import MirrorPlatform
public import MirrorStore

extension Catalogue {
  /// Keeps when the server was last met without something; nil: it has it.
  public func save(_ lack: ServerLack, met: WallTime?) {
    thread.post(.write(.lack(lack, met)), within: CatalogueSession.patience)
  }

  /// All that is kept, however old.
  public func lacks() async -> [ServerLack: WallTime] {
    await ask([:]) { session in
      session.read { (store) throws(SQLiteError) in try store.lacks() } ?? [:]
    }
  }
}

extension CatalogueStore {
  func put(_ lack: ServerLack, _ met: WallTime?) throws(SQLiteError) {
    try setMeta("lack \(lack.rawValue)", met?.milliseconds ?? 0)
  }

  func lacks() throws(SQLiteError) -> [ServerLack: WallTime] {
    var lacks: [ServerLack: WallTime] = [:]
    for lack in ServerLack.allCases {
      if let met = try meta("lack \(lack.rawValue)"), met > 0 { lacks[lack] = WallTime(milliseconds: met) }
    }
    return lacks
  }
}
