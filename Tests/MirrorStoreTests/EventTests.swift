// What a message says, in each envelope; and which changes are news, in whatever order they come.
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

/// An order that expectations may ask.
private final class Order {
  private var order: EventOrder
  init(capacity: Int = 1000) { order = EventOrder(capacity: capacity) }
  var count: Int { order.count }
  func isNews(_ change: KeyChange) -> Bool { order.isNews(change) }
}

@Suite(.timeLimit(.minutes(1)))
struct EventTests {
  private func changes(_ body: String, bucket: String? = "b", prefix: String = "") -> [KeyChange]? {
    EventMessage(Array(body.utf8), bucket: bucket, prefix: ObjectKey(prefix))?.changes
  }

  private func keys(_ body: String, bucket: String? = "b", prefix: String = "") -> [ObjectKey]? {
    changes(body, bucket: bucket, prefix: prefix)?.map(\.key)
  }

  @Test func `a notification of S3 tells key, kind, order and version`() {
    let written = notification("ObjectCreated:Put", "b", "d/f", sequencer: "0A", version: "v1")
    #expect(
      changes(written) == [
        KeyChange(ObjectKey("d/f"), sequencer: "0A", version: "v1", time: "2026-11-30T12:00:00.000Z")
      ])
    for event in ["ObjectRemoved:Delete", "ObjectRemoved:DeleteMarkerCreated", "LifecycleExpiration:Delete"] {
      #expect(changes(notification(event, "b", "d/f"))?.map(\.isRemoval) == [true], "\(event)")
    }
    for event in ["ObjectCreated:CompleteMultipartUpload", "ObjectCreated:Copy", "s3:ObjectCreated:Put"] {
      #expect(changes(notification(event, "b", "d/f"))?.map(\.isRemoval) == [false], "\(event)")
    }
  }

  @Test func `keys are decoded as forms are, and may be any bytes`() {
    for (encoded, key) in [
      ("a+b%2F%C3%A9%2B1", Array("a b/é+1".utf8)), ("a/b+c", Array("a/b c".utf8)), ("%FF%00", [0xFF, 0]),
      ("100%", Array("100%".utf8)), ("a%2Bb", Array("a+b".utf8)),
    ] {
      #expect(keys(notification("ObjectCreated:Put", "b", encoded)) == [ObjectKey(key)], "\(encoded)")
    }
  }

  @Test func `a notification through SNS says the same`() {
    let inner = notification("ObjectCreated:Put", "b", "a+b", sequencer: "1")
    let body = JSON.object([
      ("Type", .string("Notification")), ("TopicArn", .string("arn:aws:sns:r:1:t")), ("Message", .string(inner)),
    ])
    #expect(changes(body.text) == changes(inner))
    #expect(changes(body.text)?.count == 1)
    // Nobody wraps without end.
    let twice = JSON.object([("Type", .string("Notification")), ("Message", .string(body.text))])
    #expect(changes(twice.text)?.count == 1)
    let thrice = JSON.object([("Type", .string("Notification")), ("Message", .string(twice.text))])
    #expect(changes(thrice.text) == nil)
  }

  @Test(arguments: [("Object Created", false), ("Object Deleted", true)])
  func `an event of EventBridge has its key as it is`(kind: String, isRemoval: Bool) {
    let body = """
      {"version":"0","id":"1","detail-type":"\(kind)","source":"aws.s3","account":"1","time":"T","region":"r",
       "detail":{"version":"0","bucket":{"name":"b"},"object":{"key":"a+b%20c","size":1,"etag":"e","version-id":"v",
       "sequencer":"00AB"},"reason":"PutObject"}}
      """
    let change = KeyChange(
      ObjectKey("a+b%20c"), isRemoval: isRemoval, sequencer: "00AB", version: "v", time: "T")
    #expect(changes(body) == [change])
  }

  @Test func `other buckets, other places and other happenings are of no account`() {
    let other = notification("ObjectCreated:Put", "c", "d/f")
    #expect(keys(other) == [])
    #expect(keys(other, bucket: nil) == [ObjectKey("d/f")])
    let mine = notification("ObjectCreated:Put", "b", "d/f")
    #expect(keys(mine, prefix: "d/") == [ObjectKey("d/f")])
    #expect(keys(mine, prefix: "e/") == [])
    #expect(keys(mine, prefix: "d/f") == [])
    for event in ["ObjectTagging:Put", "ObjectAcl:Put", "LifecycleTransition", "ObjectRestore:Completed"] {
      #expect(keys(notification(event, "b", "d/f")) == [], "\(event)")
    }
    let test = #"{"Service":"Amazon S3","Event":"s3:TestEvent","Time":"T","Bucket":"b","RequestId":"1","HostId":"2"}"#
    #expect(keys(test) == [])
  }

  @Test(arguments: [
    "", "text", "[]", "{}", "{\"Records\":[{\"eventSource\":\"aws:ses\"}]}", "{\"Type\":\"Notification\"}",
    "{\"Type\":\"Notification\",\"Message\":\"hello\"}", "{\"source\":\"aws.ec2\",\"detail\":{}}", "{\"Records\":",
  ])
  func `what is no notification is known as that`(body: String) { #expect(changes(body) == nil) }

  @Test func `a message that comes twice is news once`() {
    let order = Order()
    let change = KeyChange(ObjectKey("k"), sequencer: "0055", time: "1")
    #expect(order.isNews(change))
    #expect(!order.isNews(change))
    // Some senders number all alike: another time is another change.
    #expect(order.isNews(KeyChange(ObjectKey("k"), sequencer: "0055", time: "2")))
    #expect(order.isNews(KeyChange(ObjectKey("other"), sequencer: "0055", time: "1")))
  }

  @Test func `what is older than the last that was told is no news, in any order`() {
    let numbers = ["1", "2", "21", "3", "3A", "3a1", "F"]
    for _ in 0..<100 {
      let order = Order()
      var highest = -1
      for number in numbers.indices.shuffled() {
        let isNews = order.isNews(KeyChange(ObjectKey("k"), sequencer: numbers[number], time: "\(number)"))
        #expect(isNews == (number > highest))
        highest = max(highest, number)
      }
    }
  }

  @Test func `the shorter number is filled up with zeros`() {
    let order = Order()
    #expect(order.isNews(KeyChange(ObjectKey("k"), sequencer: "00AA", time: "1")))
    #expect(!order.isNews(KeyChange(ObjectKey("k"), sequencer: "00AA00", time: "1")))
    #expect(order.isNews(KeyChange(ObjectKey("k"), sequencer: "00aa01", time: "1")))
    #expect(!order.isNews(KeyChange(ObjectKey("k"), sequencer: "00AA", time: "3")))
  }

  @Test func `without a number everything is news`() {
    let order = Order()
    for _ in 0..<3 { #expect(order.isNews(KeyChange(ObjectKey("k"), time: "1"))) }
    #expect(order.count == 0)
  }

  @Test func `however many keys there are, memory is bounded, and the latest are known`() {
    let order = Order(capacity: 100)
    for number in 0..<10_000 {
      #expect(order.isNews(KeyChange(ObjectKey("k\(number)"), sequencer: "1")))
      #expect(order.count <= 100)
      if number >= 40 { #expect(!order.isNews(KeyChange(ObjectKey("k\(number - 40)"), sequencer: "1"))) }
    }
  }
}
