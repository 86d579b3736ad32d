// Signing keys of the last few days, regions and identities: four HMACs saved on every request.
import Synchronization

/// Derived keys, kept in memory only.
final class SigningKeys: Sendable {
  private struct Entry {
    let scope: String
    let accessKeyID: String
    let secret: String
    let key: [UInt8]
  }
  private let entries = Mutex<[Entry]>([])
  private let capacity = 4

  /// The key for this signer, from memory where it was asked for before.
  func key(for signer: SigV4) -> [UInt8] {
    let scope = signer.scope
    let credentials = signer.credentials
    let known = entries.withLock { entries in
      entries.first {
        $0.scope == scope && $0.accessKeyID == credentials.accessKeyID && $0.secret == credentials.secretAccessKey
      }?.key
    }
    if let known { return known }
    let key = signer.signingKey
    entries.withLock { entries in
      if entries.count >= capacity { entries.removeFirst() }
      entries.append(
        Entry(scope: scope, accessKeyID: credentials.accessKeyID, secret: credentials.secretAccessKey, key: key))
    }
    return key
  }
}
