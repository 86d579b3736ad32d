// What the metrics of one mount are called and mean; s3mirror(1) and the dashboard in share/ go by these names.
import MirrorPlatform
import MirrorStore

/// The metrics of one mount at one moment.
struct MetricsReport: Sendable {
  let status: StatusReport
  let process: ProcessFigures

  var text: String {
    var text = MetricsText(common: [("mountpoint", status.mountPoint)])
    addMount(&text)
    addRequests(&text)
    addServed(&text)
    addCache(&text)
    addMoney(&text)
    addProcess(&text)
    return text.text
  }

  private func addMount(_ text: inout MetricsText) {
    text.add("s3mirror_build", .info, "The release that runs.", [.init(1, [("version", programVersion)])])
    text.add(
      "s3mirror_mount", .info, "What is mounted, and from where.",
      [.init(1, [("source", status.source), ("endpoint", status.endpoint)])])
    text.add(
      "s3mirror_start_time_seconds", .gauge, unit: "seconds", "When it was mounted, seconds since 1970.",
      [.init(status.since.seconds)])
    text.add(
      "s3mirror_offline", .gauge, "1 while the origin can't be asked and what is cached is served.",
      [.init(status.online ? 0 : 1)])
    text.add(
      "s3mirror_offline_since_seconds", .gauge, unit: "seconds",
      "When the outage began, seconds since 1970; absent while online.",
      status.offlineSince.map { [.init($0.seconds)] } ?? [])
    text.add(
      "s3mirror_hidden_keys", .gauge, "Objects that have no name in the mount, as far as they were seen.",
      [.init(status.hiddenKeys)])
  }

  private func addRequests(_ text: inout MetricsText) {
    let classes = RequestKind.allCases.flatMap { kind in RequestOutcome.allCases.map { (kind, $0) } }
    let tallies = classes.map { kind, outcome in
      let meant = status.requests.tallies.filter { $0.key.kind == kind && $0.key.outcome == outcome }
      return (kind, outcome, meant.values.reduce(Tally(requests: 0, bytes: 0), +))
    }
    text.add(
      "s3mirror_requests", .counter, "Requests sent, retries included, by kind and by what became of them.",
      tallies.filter { $0.2.requests > 0 || $0.1 == .success }.map { kind, outcome, tally in
        .init(tally.requests, [("kind", kind.rawValue), ("outcome", outcome.rawValue)])
      })
    text.add(
      "s3mirror_received_bytes", .counter, unit: "bytes", "Bytes of the bodies that came, by kind of request.",
      RequestKind.allCases.map { kind in
        .init(tallies.reduce(0) { $1.0 == kind ? $0 + $1.2.bytes : $0 }, [("kind", kind.rawValue)])
      })
    text.add(
      "s3mirror_retries", .counter, "Requests sent once more because an attempt failed.",
      [.init(status.traffic.retries)])
    text.add(
      "s3mirror_requests_in_flight", .gauge, "Requests that were sent and are not over, by kind.",
      RequestKind.allCases.map { kind in
        .init(status.traffic.underWay.count { $0.kind == kind }, [("kind", kind.rawValue)])
      })
    text.add(
      "s3mirror_response_seconds", .histogram, unit: "seconds",
      "From sending a request to the head of its answer, by kind.", waits)
  }

  private var waits: [MetricsText.Sample] {
    RequestKind.allCases.flatMap { kind -> [MetricsText.Sample] in
      guard let histogram = status.traffic.waits[kind] else { return [] }
      let label = ("kind", kind.rawValue)
      var below = 0
      let buckets = histogram.counts.enumerated().map { index, count -> MetricsText.Sample in
        below += count
        let bound = index < WaitHistogram.bounds.count ? "\(WaitHistogram.bounds[index])" : "+Inf"
        return .init(below, [label, ("le", bound)], suffix: "_bucket")
      }
      return buckets + [
        .init(histogram.count, [label], suffix: "_count"), .init(histogram.sum, places: 6, [label], suffix: "_sum"),
      ]
    }
  }

  private func addServed(_ text: inout MetricsText) {
    text.add(
      "s3mirror_lookups", .counter,
      "Look-ups answered without a request: fresh copies, stale ones in an outage, and absent names. What the kernel answers by itself is not seen.",
      [
        .init(status.fresh, [("answer", "fresh")]), .init(status.stale, [("answer", "stale")]),
        .init(status.negative, [("answer", "negative")]),
      ])
    text.add("s3mirror_revalidated", .counter, "Copies that the origin confirmed (304).", [.init(status.revalidated)])
    text.add(
      "s3mirror_fetched", .counter, "Revisions whose bytes were fetched, whole or in part.", [.init(status.fetched)])
  }

  private func addCache(_ text: inout MetricsText) {
    text.add(
      "s3mirror_cache_bytes", .gauge, unit: "bytes", "What the copies take on disk.", [.init(status.cacheBytes)])
    text.add(
      "s3mirror_cache_limit_bytes", .gauge, unit: "bytes", "What they may take.", [.init(status.cacheLimit)])
    text.add("s3mirror_cache_objects", .gauge, "Copies.", [.init(status.cachedObjects)])
    text.add(
      "s3mirror_cache_in_use_objects", .gauge, "Copies that may not be evicted because the kernel knows them.",
      [.init(status.pinned)])
  }

  private func addMoney(_ text: inout MetricsText) {
    text.add(
      "s3mirror_cost_usd", .counter, unit: "usd", "What the requests since mount cost.",
      [.init(status.costSinceMount, places: 9)])
    text.add(
      "s3mirror_month_cost_usd", .gauge, unit: "usd", "What those of this UTC month cost, of earlier mounts too.",
      [.init(status.costThisMonth, places: 9)])
    let budgets = status.budgets.map { budget in
      (budget, [("unit", budget.limit.unit.rawValue), ("period", budget.limit.period.rawValue)])
    }
    text.add(
      "s3mirror_budget_limit", .gauge, "The most that may be spent in a period.",
      budgets.map { .init($0.0.limit.amount, places: 6, $0.1) })
    text.add(
      "s3mirror_budget_spent", .gauge, "What was spent in the last period.",
      budgets.map { .init($0.0.spent, places: 6, $0.1) })
  }

  private func addProcess(_ text: inout MetricsText) {
    text.add(
      "process_resident_memory_bytes", .gauge, unit: "bytes", "Memory that is resident.",
      [.init(process.residentBytes)])
    text.add(
      "process_cpu_seconds", .counter, unit: "seconds", "Processor time of all threads.",
      [.init(process.processorSeconds, places: 3)])
    text.add("process_open_fds", .gauge, "Open file descriptors.", [.init(process.openFiles)])
  }
}
