// Credentials that a program of the user's hands out (credential_process).
import MirrorPlatform

extension CredentialFetcher {
  /// What the program says on standard error may be secret: it is not read.
  func run(_ command: String, of profile: String) async throws(CredentialError) -> Credentials {
    let what = "credential_process of profile \(profile)"
    guard let words = Self.words(command), let program = words.first else {
      throw CredentialError("\(what) has an open quote, or is empty")
    }
    let result: (status: Int32, output: [UInt8])
    do throws(Errno) {
      result = try await runProgram([path(program)] + words.dropFirst(), limit: .seconds(60))
    } catch {
      throw CredentialError(
        error == .timedOut ? "\(what): \(program) did not end within a minute" : "\(what): \(program): \(error)")
    }
    guard result.status == 0 else {
      throw CredentialError("\(what): \(program) failed with exit code \(result.status)")
    }
    guard let json = JSON(parsing: result.output), json["Version"]?.int == 1,
      let credentials = Credentials(json, token: "SessionToken")
    else { throw CredentialError("\(what): \(program) wrote no credentials of version 1") }
    if let end = credentials.expiration, end <= clock.wall() {
      throw CredentialError("\(what): \(program) gives credentials that have ended")
    }
    return credentials
  }

  /// Words as a shell splits them: blanks, quotes, backslashes; nil for an open quote.
  static func words(_ command: String) -> [String]? {
    var words: [String] = []
    var word: String?
    var quote: Character?
    var isEscaped = false
    for character in command {
      if isEscaped {
        // Between double quotes a backslash stands for itself, but before these.
        if quote == "\"", character != "\"", character != "\\" { word?.append("\\") }
        word = (word ?? "") + String(character)
        isEscaped = false
      } else if character == "\\", quote != "'" {
        isEscaped = true
        word = word ?? ""
      } else if let open = quote {
        if character == open { quote = nil } else { word?.append(character) }
      } else if character == "'" || character == "\"" {
        quote = character
        word = word ?? ""
      } else if character == " " || character == "\t" {
        if let word { words.append(word) }
        word = nil
      } else {
        word = (word ?? "") + String(character)
      }
    }
    guard quote == nil, !isEscaped else { return nil }
    if let word { words.append(word) }
    return words
  }
}
