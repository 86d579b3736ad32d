// What a message in a queue says of a bucket: S3's event notifications, from S3 itself, through SNS or EventBridge.
import MirrorPlatform

/// The changes that one message tells (S3 User Guide, Event message structure).
public struct EventMessage: Sendable {
  /// Those of the bucket's keys below the prefix; none in a test event, or where other things happened.
  public let changes: [KeyChange]

  /// Nil for what is no notification of S3. Without a bucket (an access point tells none) those of all buckets count.
  public init?(_ body: [UInt8], bucket: String?, prefix: ObjectKey) {
    guard let json = JSON(parsing: body), let told = Self.told(json, layers: 2) else { return nil }
    changes = told.filter {
      (bucket == nil || $0.bucket == bucket) && $0.change.key.bytes.count > prefix.bytes.count
        && $0.change.key.bytes.starts(with: prefix.bytes)
    }.map(\.change)
  }

  private typealias Told = (bucket: String, change: KeyChange)

  /// `layers`: so many envelopes at most lie around it.
  private static func told(_ json: JSON, layers: Int) -> [Told]? {
    if case .array(let records)? = json["Records"] {
      let ours = records.filter { $0["s3"] != nil }
      return ours.isEmpty && !records.isEmpty ? nil : ours.compactMap(record)
    }
    if json["Event"]?.string == "s3:TestEvent" { return [] }
    if json["Type"]?.string == "Notification", layers > 0, let text = json["Message"]?.string {
      return JSON(parsing: Array(text.utf8)).flatMap { told($0, layers: layers - 1) }
    }
    if json["source"]?.string == "aws.s3", let detail = json["detail"] {
      return bridged(json, detail).map { [$0] } ?? []
    }
    return nil
  }

  /// Keys are form-encoded here.
  private static func record(_ record: JSON) -> Told? {
    guard let name = record["eventName"]?.string, let s3 = record["s3"], let bucket = s3["bucket"]?["name"]?.string,
      let object = s3["object"], let key = object["key"]?.string
    else { return nil }
    // MinIO writes it with `s3:`.
    let kind = name.hasPrefix("s3:") ? name.dropFirst(3) : Substring(name)
    let isRemoval = kind.hasPrefix("ObjectRemoved:") || kind.hasPrefix("LifecycleExpiration:")
    guard isRemoval || kind.hasPrefix("ObjectCreated:") else { return nil }
    return (
      bucket,
      KeyChange(
        ObjectKey(percentDecoded(key.utf8, form: true)), isRemoval: isRemoval, sequencer: object["sequencer"]?.string,
        version: object["versionId"]?.string, time: record["eventTime"]?.string ?? "")
    )
  }

  /// Keys are as they are here.
  private static func bridged(_ event: JSON, _ detail: JSON) -> Told? {
    guard let kind = event["detail-type"]?.string, kind == "Object Created" || kind == "Object Deleted",
      let bucket = detail["bucket"]?["name"]?.string, let object = detail["object"], let key = object["key"]?.string
    else { return nil }
    return (
      bucket,
      KeyChange(
        ObjectKey(key), isRemoval: kind == "Object Deleted", sequencer: object["sequencer"]?.string,
        version: object["version-id"]?.string, time: event["time"]?.string ?? "")
    )
  }
}
