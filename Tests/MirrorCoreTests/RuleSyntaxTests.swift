// Rules as people write them, and what is said of those that can't be read.
import MirrorPlatform
import Testing

@testable import MirrorCore

@Suite(.timeLimit(.minutes(1))) struct RuleSyntaxTests {
  private func rules(_ texts: String...) throws -> FreshnessRules {
    var rules = FreshnessRules()
    for text in texts { try rules.add(text) }
    return rules
  }
  private func path(_ text: String) -> ArraySlice<UInt8> { Array(text.utf8)[...] }

  @Test func `a lifetime may have modifiers, long or short`() throws {
    let rules = try rules(
      "*.html=60s,stale-while-revalidate=30s,stale-if-error=1d,negative=2s,listing=10m",
      "*.css=origin,swr=1m,sie=forever",
      "15m,negative=1s")
    let html = rules.rule(of: path("a/b.html"))
    #expect(html.lifetime == .window(.seconds(60)) && html.staleWhileRevalidate == .seconds(30))
    #expect(html.staleIfError == .seconds(86400) && html.negative == .seconds(2) && html.listing == .seconds(600))
    #expect(html.text == "*.html=60s,stale-while-revalidate=30s,stale-if-error=1d,negative=2s,listing=10m")
    let css = rules.rule(of: path("b.css"))
    #expect(css.lifetime == .origin && css.staleWhileRevalidate == .seconds(60))
    #expect(css.staleIfError == Lifetime.forever.duration && css.negative == nil)
    #expect(rules.terms(css).lifetime == .seconds(900), "an object that says nothing has the default lifetime")
    #expect(rules.negative(rules.rule(of: path("x"))) == .seconds(1))
    #expect(rules.negative(css) == .seconds(5), "what a rule does not say is the mount's, not the default rule's")
  }

  @Test(arguments: ["a*", "a**", "*?", "**/", "[a-c]*"])
  func `no pattern takes time that grows by powers`(part: String) throws {
    let rules = try rules(String(repeating: part, count: 20) + "b=always", "1m")
    let name = String(repeating: "a", count: 60)
    #expect(rules.lifetime(of: path(name + "/" + name)) == .window(.seconds(60)))
    #expect(rules.lifetime(of: path(part == "**/" ? name + "/b" : name + "b")) == .window(.zero))
  }

  @Test(arguments: [
    ("a*c", "abc", true), ("a*c", "a/c", false), ("/a**c", "a/b/c", true), ("a/**/c", "a/c", true),
    ("a/**/c", "a/b/d/c", true), ("**/d", "a/Ad", false), ("a/**/c", "ac", false), ("**/c", "c", true),
    ("a/**", "a/", true), ("?", "/", false),
    ("[a-c]x", "bx", true), ("[!a-c]x", "bx", false), ("[]]", "]", true), ("[", "[", true), ("[a", "[a", true),
    ("*.tar.*", "x.tar.gz", true), ("*b*b", "abab", true), ("*b*b", "aba", false), ("a", "d/a", true),
    ("/a", "d/a", false),
  ])
  func `a pattern means what a shell has it mean`(pattern: String, name: String, fits: Bool) {
    #expect(Glob(pattern).matches(path(name)) == fits)
  }

  @Test func `patterns may hold commas and equals signs`() throws {
    let rules = try rules("a,b=always", "year=2024/*=forever", "c,d=5s,sie=1s")
    #expect(rules.lifetime(of: path("a,b")) == .window(.zero))
    #expect(rules.lifetime(of: path("year=2024/x")) == .forever)
    #expect(rules.rule(of: path("c,d")).staleIfError == .seconds(1))
  }

  @Test func `a pattern that ends in a slash names directories`() throws {
    let rules = try rules("img/=10m,sie=1h", "/=5s", "data/**/=1h", "**=forever,listing=2m", "7s")
    func listing(_ text: String) -> Duration { rules.listingLifetime(rules.rule(ofDirectory: path(text))) }
    #expect(listing("img") == .seconds(600) && listing("a/b/img") == .seconds(600))
    #expect(listing("") == .seconds(5), "the root")
    #expect(listing("data/x/y") == .seconds(3600))
    #expect(listing("other") == .seconds(120))
    #expect(rules.lifetime(of: path("img")) == .forever, "a file of that name is none")
    #expect(rules.staleIfError(rules.rule(ofDirectory: path("img"))) == .seconds(3600))
    let plain = try self.rules("**=forever", "origin,listing=always")
    #expect(plain.listingLifetime(plain.rule(ofDirectory: path(""))) == .zero, "the root is no rule's but its own")
    #expect(try self.rules("origin").listingLifetime(self.rules("origin").rule(ofDirectory: path("d"))) == .seconds(60))
  }

  @Test(arguments: [
    ("soon", "'soon'", "the lifetime must be"), ("*.js=sometimes", "'*.js=sometimes'", "'origin'"),
    ("*.html=60x,swr=30s", "'*.html=60x'", "the lifetime must be"), ("60x,swr=30s", "'60x'", "the lifetime must be"),
    ("=5s", "'=5s'", "pattern is missing"), ("=5s,swr=1s", "'=5s'", "pattern is missing"),
    ("*.html=60s,foo=3s", "'foo=3s'", "stale-while-revalidate= (swr=)"), ("60s,", "''", "negative= or listing="),
    ("60s,swr", "'swr'", "after the lifetime"),
    ("60s,swr=soon", "'swr=soon'", "stale-while-revalidate must be a duration"),
    ("60s,swr=", "'swr='", "must be a duration"),
    ("60s,swr=1s,stale-while-revalidate=2s", "'stale-while-revalidate=2s'", "twice"),
    ("60s,negative=always", "'negative=always'", "or 'forever'"), ("d/=origin", "'d/=origin'", "no headers"),
    ("d/=1m,negative=2s", "'negative=2s'", "stale-if-error only"),
    ("d/=1m,listing=2s", "'listing=2s'", "names directories"),
    ("60s,listing=origin", "'listing=origin'", "listing must be"),
  ])
  func `an error names the part that is wrong and what is allowed`(text: String, part: String, hint: String) {
    let error = #expect(throws: RuleError.self) { try rules(text) }
    #expect(
      error.map { $0.message.hasPrefix(part + ":") && $0.message.contains(hint) } == true, "\(error?.message ?? "")")
  }
}
