// What is billed, at which price, and how prices are written.
import MirrorStore
import Testing

@Suite(.timeLimit(.minutes(1)))
struct PricesTests {
  @Test(arguments: [
    (200, true), (206, true), (304, true), (404, true), (412, true), (416, true), (403, true), (401, true), (429, true),
    (0, true), (301, false), (307, false), (400, false), (500, false), (503, false),
  ])
  func `an attempt is charged by its status`(status: Int, isBilled: Bool) {
    var counts = RequestCounts()
    counts.add(.get, status: status, bytes: 0)
    #expect(counts.billed == (isBilled ? 1 : 0))
    #expect(counts.cost(Prices()) == (isBilled ? 0.0004 / 1000 : 0))
  }

  @Test func `a listing costs twelve and a half checks`() {
    var counts = RequestCounts()
    for _ in 0..<1000 { counts.add(.get, status: 200, bytes: 1) }
    for _ in 0..<1000 { counts.add(.list, status: 200, bytes: 0) }
    for _ in 0..<1000 { counts.add(.head, status: 200, bytes: 0) }
    var prices = Prices()
    #expect(abs(counts.cost(prices) - 0.0058) < 1e-12)
    #expect(abs(prices.of(.list) / prices.of(.get) - 12.5) < 1e-9)
    prices.perByteReceived = 0.001
    #expect(abs(counts.cost(prices) - 1.0058) < 1e-9)
  }

  @Test func `reads of other storage classes have their prices, and content is paid by the byte`() {
    var counts = RequestCounts()
    for _ in 0..<1000 { counts.add(.get, status: 200, bytes: 1_000_000, storageClass: .standardIA) }
    #expect(abs(counts.cost(Prices()) - (0.001 + 0.01)) < 1e-9)
    counts = RequestCounts()
    for _ in 0..<1000 { counts.add(.get, status: 304, bytes: 0, storageClass: .glacierIR) }
    for _ in 0..<1000 { counts.add(.list, status: 200, bytes: 0, storageClass: .glacierIR) }
    #expect(abs(counts.cost(Prices()) - (0.01 + 0.005)) < 1e-9)
    #expect(StorageClass("DEEP_ARCHIVE") == .standard && StorageClass(nil) == .standard)
  }

  private func prices(_ texts: String...) throws -> Prices {
    var prices = Prices()
    for text in texts { try prices.set(text) }
    return prices
  }

  @Test func `prices are written for requests and for bytes`() throws {
    #expect(try prices("get=0.0005/1000").perGet == 0.0005 / 1000)
    #expect(try prices("get=0.0000005").perGet == 0.0000005)
    #expect(try prices("list=5/1000000").perList == 5.0 / 1_000_000)
    #expect(try prices("egress=0.09/GB").perByteReceived == 0.09 / 1e9)
    #expect(try prices("egress=1/GiB").perByteReceived == 1.0 / 1_073_741_824)
    #expect(try prices("egress=9/100GB").perByteReceived == 9.0 / 1e11)
    #expect(try prices("egress=0").perByteReceived == 0)
    #expect(try prices("get:standard_ia=0.002/1000").of(.get, .standardIA) == 0.002 / 1000)
    #expect(try prices("retrieval:GLACIER_IR=0.05/GB").classes[.glacierIR]?.perByteRetrieved == 0.05 / 1e9)
  }

  @Test func `a HEAD costs what a GET does unless it has its own price`() throws {
    #expect(try prices("get=1/1000").perHead == 0.001)
    #expect(try prices("head=2/1000", "get=1/1000").perHead == 0.002)
  }

  @Test func `all prices can be nothing`() throws {
    let free = try prices("none")
    #expect(free.named.allSatisfy { $0.usd == 0 })
    #expect(try prices("none", "list=1").of(.list) == 1)
  }

  @Test(arguments: [
    ("get", "NAME=USD"), ("put=1", "there is no price 'put'"), ("get=", "no amount"), ("get=x", "no amount"),
    ("get=-1", "no amount"), ("get=1e3", "no amount"), ("get=1/0", "price of requests"),
    ("get=1/GB", "price of requests"),
    ("egress=0.09", "price of bytes"), ("egress=0.09/1000x", "price of bytes"), ("get:STANDARD=1", "there is no price"),
    ("get:NEARLINE=1", "there is no price"), ("retrieval:STANDARD_IA=1", "price of bytes"), ("get=nan", "no amount"),
    ("get=0.1.2", "no amount"), ("=1", "there is no price"), ("Get=1", "there is no price"),
    ("list=2000000", "more than anyone asks"), ("list=1/0.0000001", "more than anyone asks"),
  ])
  func `a price that is written wrong is refused with what is right`(text: String, hint: String) {
    var prices = Prices()
    do throws(PriceError) {
      try prices.set(text)
      Issue.record("\(text) is accepted")
    } catch { #expect(error.message.contains(hint), "\(error.message)") }
    #expect(prices == Prices())
  }

  @Test func `prices come back by their names`() throws {
    let prices = try prices("get=0.0005/1000", "head=1/3000", "retrieval:STANDARD_IA=0.02/GB", "egress=0.02/GB")
    var again = Prices()
    #expect(Prices().changed.isEmpty)
    for (name, usd) in prices.changed {
      let isKnown = again.set(name, usd)
      #expect(isKnown)
    }
    #expect(again == prices)
  }
}
