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
    // A listing was overdue when it began, and stayed so for all who came after its first page.
    """
    settings page=5
    put k/k36 4035
    put k/k16 3536
    look k/k38
    put k/k38 1925
    put k/k29 4057
    hold
    advance 73132
    look k/k36
    advance 69646
    put k/k14 535
    put k/k21 131
    listplus k
    deliver 0
    list k
    """,
    // A page showed that a file was gone, and ended before the directory that has its name.
    """
    settings listing=2 page=1
    put f 300000
    put j 0
    put a 2535
    list %
    put d/4 131072
    put a/ 0
    put a-b 645543
    delete a
    advance 79144
    put d/3 884
    look j
    listplus d
    listplus f
    open a/d.txt
    """,
    // After a read that failed the name may be asked for sooner than was promised, never later.
    """
    settings origin=1
    put d/r.o 1 no-cache
    look d/1
    down malformedResponse
    restart
    open d/r.o
    read 0 0 131072
    list d
    advance 9202
    look d/r.o
    """,
    // A page of the keys that begin with `n` was taken for one of all keys up to its end.
    """
    settings listing=1 page=1
    put n/%c3%a9 2235
    put n/%ff%fe 3827
    put j 0
    look n/%ff
    open j
    read 0 0 131072
    advance 465932
    hold
    look n/%c3%a9
    advance 57409
    open n/%c3%a9
    down interrupted
    free
    look j
    """,
    // The wait for the second page was counted from before the first one had come.
    """
    settings page=5
    put k/k10 131072
    put k/k18 1165
    put k/k17 580
    put k/k16 2026
    put k/k13 3700
    listplus k
    put k/k29 131073
    advance 381886
    hold
    listplus k
    advance 4270
    deliver 4
    listplus k
    """,
    // A read that overlaps one that waited in vain just now fails at once.
    """
    settings
    hold
    listplus %
    put n/z.d/w 3335
    deliver 2
    open n/z.d/w
    read 0 0 131072
    advance 8262
    advance 8389
    advance 9073
    read 0 0 1048576
    """,
    // A listing may be shown for as long as listings may, though a file in it has a shorter lifetime.
    """
    settings inner=20000 sie=100000
    put d/1 123
    look d/e
    put d/1 1859
    down interrupted
    advance 68829
    advance 55062
    listplus d
    """,
    // A 304 for what a later answer had replaced, and what had come back since.
    """
    settings
    put n/%ff 1
    open n/%ff
    read 0 0 131072
    hold
    advance 320473
    list %
    put n/%ff 131073
    look n/%ff
    deliver 0
    open n/%ff
    restore n/%ff 0
    free
    stat 60
    """,
    // Of what comes back a listing does not say how long it may be used.
    """
    settings origin=1
    put i.txt 2261
    put p.o 2185 max-age=10,must-revalidate
    look i.txt
    look p.o
    put p.o 118 max-age=10,must-revalidate
    advance 68977
    listplus p.o
    restore p.o 1
    listplus %
    """,
    // A refresh marks names too that nobody has looked up.
    """
    settings
    put a/d.txt 3083
    look a/b
    down serverError
    refresh %
    open a/d.txt
    hold
    up
    look a/nope
    look a.txt
    open d/4
    read 0 0 131072
    look a/b/c
    look a/d.txt
    look t/u
    list m
    deliver 11
    advance 57437
    """,
    // After a restart what nobody has described is asked for sooner, once a listing brought it to mind.
    """
    settings origin=1
    put p.o 1916 max-age=5
    list p.o
    down credentials
    restart
    open p.o
    read 0 0 131072
    look p.o
    list %
    advance 284
    look p.o
    """,
    // Bytes that go past the cache tell that their revision is current, too.
    """
    settings limit=300000
    put d/e/f 659591
    open d/e/f
    hold
    advance 65362
    read 26 598542 143568
    read 66 100966 123549
    list %
    look d/e/f
    advance 233
    open s
    read 0 0 131072
    listplus d
    open d/r.o
    look d/1
    deliver 14
    """,
  ]
}
