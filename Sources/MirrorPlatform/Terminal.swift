// The terminal as a screen: its size, keys one by one, and a picture that is redrawn in place.
import CGlibc
import Glibc

/// Standard input and output as a screen, from `begin` to `end`.
public enum Terminal {
  /// Columns and rows of standard output; nil where it is no terminal, or does not say.
  public static var size: (columns: Int, rows: Int)? {
    var (rows, columns): (Int32, Int32) = (0, 0)
    guard unsafe cglibc_terminal_size(1, &rows, &columns) == 0 else { return nil }
    return (Int(columns), Int(rows))
  }

  /// Another page of the terminal, without a cursor; keys come one by one and are not shown.
  public static func begin() {
    _ = cglibc_terminal_begin(0)
    emit("\u{1B}[?1049h\u{1B}[?25l")
  }

  /// The page from before, as it was.
  public static func end() {
    emit("\u{1B}[?25h\u{1B}[?1049l")
    cglibc_terminal_end(0)
  }

  /// Puts these lines in place of what is shown; nothing flickers, since nothing is cleared before it is written over.
  public static func show(_ lines: [String]) {
    emit("\u{1B}[H" + lines.map { $0 + "\u{1B}[K" }.joined(separator: "\r\n") + "\u{1B}[J")
  }

  public enum Key: Equatable, Sendable { case byte(UInt8), none, ended }

  /// The next key, if one comes in time.
  public static func key(within limit: Duration) -> Key {
    switch cglibc_terminal_key(0, Int32(clamping: limit.nanosecondsClamped / 1_000_000)) {
    case -1: .none
    case -2: .ended
    case let byte: .byte(UInt8(truncatingIfNeeded: byte))
    }
  }
}
