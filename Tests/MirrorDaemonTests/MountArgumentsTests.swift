import MirrorCore
import MirrorDaemon
import MirrorPlatform
import MirrorStore
import Testing

@Suite(.timeLimit(.minutes(1)))
struct MountArgumentsTests {
  private func settings(_ words: String...) throws -> MountSettings {
    guard case .mount(let settings) = try parseMountArguments(words.map { Array($0.utf8) }) else {
      throw CommandFailure(.failure, "this asks for help")
    }
    return settings
  }

  private func failure(_ words: [String]) -> CommandFailure? {
    do throws(CommandFailure) {
      _ = try parseMountArguments(words.map { Array($0.utf8) })
      return nil
    } catch { return error }
  }

  @Test func `options and positionals come in any order`() throws {
    for settings in try [
      settings("--region", "eu-west-1", "b", "/mnt", "--cache-size=1GiB"),
      settings("b", "--cache-size", "1GiB", "/mnt", "--region=eu-west-1"),
      settings("b", "/mnt", "-o", "region=eu-west-1,cache_size=1GiB"),
      settings("-oregion=eu-west-1", "-o", "cache-size=1GiB", "--", "b", "/mnt"),
    ] {
      #expect(settings.source.bucket == "b")
      #expect(settings.mountPoint == "/mnt")
      #expect(settings.region == "eu-west-1")
      #expect(settings.cacheSize == 1 << 30)
    }
  }

  @Test func `defaults are those of the manual`() throws {
    let settings = try self.settings("b", "/mnt")
    #expect(settings.rules.default.duration == .seconds(60))
    #expect(settings.rules.negative == .seconds(5))
    #expect(settings.rules.staleIfError == nil)
    #expect(settings.rules.staleWhileRevalidate == nil)
    #expect(settings.fileMode == 0o444 && settings.directoryMode == 0o555)
    #expect(settings.user == ThisProcess.user && settings.group == ThisProcess.group)
    #expect(settings.partSize == 8 << 20)
    #expect(!settings.foreground && !settings.offline && !settings.allowOther && !settings.anonymous)
    #expect(settings.warnings.isEmpty)
  }

  @Test func `content comes through the cache unless passthrough is asked for`() throws {
    #expect(try !settings("b", "/mnt").passthrough)
    #expect(try settings("--data-path", "passthrough", "b", "/mnt").passthrough)
    #expect(try settings("-o", "data_path=passthrough", "b", "/mnt").passthrough)
    #expect(try !settings("--data-path=passthrough", "--data-path=cached", "b", "/mnt").passthrough)
    #expect(failure(["--data-path", "splice", "b", "/mnt"])?.code == .usage)
  }

  @Test func `freshness rules keep their order`() throws {
    let settings = try self.settings(
      "--freshness", "1h", "--freshness", "*.json=always", "--freshness=live/**=5s", "--freshness", "**=forever", "b",
      "/m")
    #expect(settings.rules.lifetime(of: Array("a.json".utf8)[...]) == .window(.zero))
    #expect(settings.rules.lifetime(of: Array("live/x".utf8)[...]) == .window(.seconds(5)))
    #expect(settings.rules.lifetime(of: Array("x/y".utf8)[...]) == .forever)
    #expect(settings.rules.default == .window(.seconds(3600)))
  }

  @Test func `prices are taken over in their order`() throws {
    let settings = try self.settings(
      "--price", "none", "--price=list=0.006/1000", "b", "/m", "-o", "price=egress=0.09/GB")
    #expect(settings.prices.perGet == 0 && settings.prices.perList == 0.006 / 1000)
    #expect(settings.prices.perByteReceived == 0.09 / 1e9)
  }

  @Test func `a queue is named by region, account and name, or by its URL`() throws {
    let named = try settings("--events", "sqs://eu-west-1/111122223333/changes", "b", "/m").events
    #expect(named.map { "\($0)" } == "https://sqs.eu-west-1.amazonaws.com/111122223333/changes")
    let problem = failure(["--events", "changes", "b", "/m"])
    #expect(problem?.code == .usage && problem?.message.contains("sqs://REGION/ACCOUNT/QUEUE") == true)
    #expect(try settings("b", "/m").events == nil)
  }

  @Test func `budgets add up`() throws {
    let settings = try self.settings("--budget", "5USD/month", "b", "/m", "-o", "budget=2000req/hour")
    #expect(settings.budgets == [BudgetLimit(5, .usd, per: .month), BudgetLimit(2000, .requests, per: .hour)])
    #expect(try self.settings("b", "/m").budgets.isEmpty)
  }

  @Test func `quiet programs are names, in lists or one by one`() throws {
    let settings = try self.settings(
      "--quiet-for", "updatedb,tracker-miner-f", "b", "/m", "-o", "quiet_for=plocate\\,baloo_file")
    #expect(settings.quietFor == ["updatedb", "tracker-miner-f", "plocate", "baloo_file"])
    #expect(failure(["--quiet-for", "/usr/bin/updatedb", "b", "/m"])?.message.contains("is a path") == true)
    #expect(failure(["--quiet-for", ",", "b", "/m"])?.code == .usage)
  }

  @Test func `a line of fstab is understood`() throws {
    let settings = try self.settings(
      "b", "/mnt", "-o",
      "_netdev,nofail,noauto,user,rw,nosuid,nodev,noatime,exec,x-systemd.automount,allow_other,uid=1000,gid=100,file_mode=0440,dir_mode=0550"
    )
    #expect(settings.allowOther && settings.user == 1000 && settings.group == 100)
    #expect(settings.fileMode == 0o440 && settings.directoryMode == 0o550)
    let strict = try self.settings("b", "/mnt", "-o", "file-mode=0555,noexec")
    #expect(strict.fileMode == 0o444)
  }

  @Test func `a comma that belongs to a value is escaped`() throws {
    let settings = try self.settings("b", "/mnt", "-o", "freshness=a\\,b=always,offline")
    #expect(settings.rules.lifetime(of: Array("a,b".utf8)[...]) == .window(.zero))
    #expect(settings.offline)
  }

  @Test func `a rule may have modifiers, escaped in a list`() throws {
    let settings = try self.settings(
      "--freshness", "*.html=origin,swr=30s", "b", "/mnt", "-o", "freshness=15m\\,negative=2s,offline")
    let rules = settings.rules
    #expect(rules.rule(of: Array("a.html".utf8)[...]).staleWhileRevalidate == .seconds(30))
    #expect(rules.rule(of: Array("a".utf8)[...]).negative == .seconds(2))
    #expect(settings.offline)
  }

  @Test func `a directory mode without search permission gets it, and a warning`() throws {
    let settings = try self.settings("--dir-mode", "0666", "b", "/m")
    #expect(settings.directoryMode == 0o777)
    #expect(settings.warnings.count == 1)
    let usual = try self.settings("--dir-mode", "0750", "b", "/m")
    #expect(usual.warnings.isEmpty)
  }

  @Test(arguments: [
    (["b"], "MOUNTPOINT is missing"), ([], "SOURCE and MOUNTPOINT are missing"), (["b", "/m", "c"], "too many"),
    (["b", ""], "MOUNTPOINT is empty"), (["--freshnes", "60s", "b", "/m"], "did you mean '--freshness'?"),
    (["b", "/m", "-o", "chache_dir=/x"], "did you mean '-o cache-dir'?"), (["--frobnicate", "b", "/m"], "help mount"),
    (["b", "/m", "-z"], "unknown option '-z'"), (["b", "/m", "--region"], "needs a value"),
    (["b", "/m", "--region="], "needs a value"), (["b", "/m", "--offline=maybe"], "takes no value"),
    (["b", "/m", "-o"], "needs a value"), (["--freshness", "soon", "b", "/m"], "lifetime must be"),
    (["--freshness", "60s,sw=3s", "b", "/m"], "'sw=3s': after the lifetime come"),
    (["--cache-size", "10XB", "b", "/m"], "a size is"), (["--part-size", "1", "b", "/m"], "must lie between"),
    (["--file-mode", "999", "b", "/m"], "octal"), (["--uid", "root", "b", "/m"], "a number"),
    (["--log-level", "loud", "b", "/m"], "notice"), (["--seed", "/x", "b", "/m"], "s3mirror seed create"),
    (["--budget=1/day", "b", "/m"], "a budget is"), (["--budget", "5USD/year", "b", "/m"], "the period is"),
    (["b", "/m", "-o", "config=/none"], "configuration file '/none' can't be read"),
    (["--price", "get=cheap", "b", "/m"], "no amount of USD"),
    (["b", "/m", "-o", "price=egress=0.09"], "price of bytes"),
    (["--endpoint-url", "localhost:8333", "b", "/m"], "http://"),
    (["--negative-freshness", "x", "b", "/m"], "duration"),
    (["B", "/m"], "upper-case"),
  ])
  func `a mistake is answered with exit code 2 and what to do`(words: [String], hint: String) {
    let failure = failure(words)
    #expect(failure?.code == .usage)
    #expect(failure?.message.contains(hint) == true, "\(failure?.message ?? "accepted")")
    #expect(failure?.message.contains("\n") == false)
  }

  @Test func `help is help wherever it stands`() throws {
    for words in [["--help"], ["b", "-h"], ["--offline", "--help", "b"]] {
      guard case .help = try parseMountArguments(words.map { Array($0.utf8) }) else {
        Issue.record("\(words) is not taken for a wish for help")
        continue
      }
    }
  }

  @Test func `a near word is suggested and a far one is not`() {
    #expect(suggestion(for: "mout", among: ["mount", "unmount"]) == "; did you mean 'mount'?")
    #expect(suggestion(for: "staust", among: ["status", "unmount"]) == "; did you mean 'status'?")
    #expect(suggestion(for: "frobnicate", among: ["mount", "unmount"]) == "")
  }
}
