// Programs that found something, as short as they got: what was wrong, and how it came about.

enum ModelCases {
  static let all: [String] = [
    // A refreshed name took along the absence of all that begins like it.
    """
    settings
    look nope
    refresh n
    open nope
    """,
    // A directory vanished, and the file that it had hidden did not show.
    """
    settings
    put d/e/f 4925
    put d/e 2591
    advance 70769
    list %
    delete d/e/f
    advance 60974
    list %
    open d/e/f
    """,
    // While the first listing of a directory came in, names were shown that it had yet to vouch for.
    """
    settings page=2
    put k/k20 42
    put k/k12 4404
    put k/k37 4785
    open k/k37
    delete k/k37
    advance 74434
    put k/k17 3551
    listplus k
    """,
    // The same with an old version in place of a deleted file.
    """
    settings page=1
    put d/2 2608
    put d/1 1590
    look d/2
    put d/2 131072
    advance 71333
    listplus d
    """,
    // The wall clock was set back after a restart, and what the catalogue held became younger.
    """
    settings
    put t/1 4687
    list %
    put t/1 3532
    advance 18445
    restart
    wall -20000
    advance 4051
    look t/1
    """,
  ]
}
