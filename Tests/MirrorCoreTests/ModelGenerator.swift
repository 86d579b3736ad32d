// Makes random programs: few names, used often, so that what happens to them meets.
import TestSupport

struct ModelGenerator {
  private var random: SplitMix
  /// Apart, so that the first programs stay as they were when faults were put in by hand to see which notice them.
  private var returns: SplitMix?
  private var keys: [[UInt8]] = []
  private var paths: [[UInt8]] = []
  private var isHolding = false
  private var isDown = false

  /// The program of a seed.
  static func program(_ seed: UInt64, steps: Int = 400) -> ModelProgram {
    var generator = ModelGenerator(random: SplitMix(seed: seed))
    if seed > firstWithReturns { generator.returns = SplitMix(seed: ~seed) }
    return generator.make(steps)
  }

  /// Programs of later seeds also bring back what was replaced.
  private static let firstWithReturns: UInt64 = 60

  private init(random: SplitMix) { self.random = random }

  private mutating func make(_ count: Int) -> ModelProgram {
    let settings = settings()
    chooseNames()
    var steps: [ModelStep] = []
    for _ in 0..<random.below(12) { steps.append(put()) }
    while steps.count < count { steps += next() }
    return ModelProgram(settings: settings, steps: steps)
  }

  private mutating func settings() -> ModelSettings {
    var settings = ModelSettings()
    settings.values["window"] = random.pick([60_000, 60_000, 10_000, 1_000, 0, 600_000])
    settings.values["negative"] = random.pick([5_000, 5_000, 500, 0, 30_000])
    if random.chance(25) { settings.values["inner"] = random.pick([0, 2_000, 20_000, 120_000]) }
    if random.chance(30) { settings.values["origin"] = 1 }
    if random.chance(20) { settings.values["sie"] = random.pick([0, 10_000, 100_000]) }
    if random.chance(15) { settings.values["swr"] = random.pick([1_000, 30_000]) }
    if random.chance(50) { settings.values["page"] = random.pick([1, 2, 3, 5, 8]) }
    if random.chance(50) { settings.values["part"] = random.pick([128 << 10, 256 << 10]) }
    if random.chance(12) { settings.values["limit"] = random.pick([300_000, 800_000]) }
    if random.chance(40) { settings.values["listing"] = random.pick([1, 2, 4]) }
    if random.chance(50) { settings.values["halves"] = 1 }
    return settings
  }

  private static let families: [[String]] = [
    ["a", "a/b", "a/b/c", "a-b", "a.txt", "a/", "a/d.txt"],
    ["d/1", "d/2", "d/3", "d/4", "d/e/f", "d/e/g", "d/e"],
    ["f", "g", "h.txt", "i.txt", "j"],
    ["p.o", "q.o", "d/r.o", "s/t.o"],
    ["m/", "m/n", "m", "x//y", "x/./z", "x/../w", "/v", "x/ok"],
    ["n/\u{e9}", "n/e\u{301}", "n/z", "n/z.d/w"],
    ["t/u/v/w/1", "t/u/v/w/2", "t/u/2", "t/1"],
  ]

  private mutating func chooseNames() {
    var chosen: [[UInt8]] = []
    for family in Self.families where random.chance(45) {
      chosen += family.filter { _ in random.chance(70) }.map { Array($0.utf8) }
    }
    if random.chance(20) { chosen += [Array("n/".utf8) + [0xFF, 0xFE], Array("n/".utf8) + [0xFF]] }
    if random.chance(10) { chosen.append(Array("l/".utf8) + [UInt8](repeating: 0x62, count: 256)) }
    if random.chance(20) { chosen += (10..<40).map { Array("k/k\($0)".utf8) } }
    if chosen.count < 3 { chosen += ["f", "d/1", "d/2"].map { Array($0.utf8) } }
    keys = chosen
    var all: Set<[UInt8]> = []
    for key in keys {
      let names = key.split(separator: 0x2F, omittingEmptySubsequences: false)
      let bad = names.firstIndex { $0.isEmpty || $0.elementsEqual([0x2E]) || $0.elementsEqual([0x2E, 0x2E]) }
      for count in 1...names.count where count <= bad ?? names.count && names[0..<count].last?.isEmpty == false {
        all.insert(Array(names[..<count].joined(separator: [0x2F])))
      }
    }
    for absent in ["nope", "d/nope", "d/nope.txt", "a/nope", "f/under"] where random.chance(50) {
      all.insert(Array(absent.utf8))
    }
    paths = all.sorted { $0.lexicographicallyPrecedes($1) }
  }

  private mutating func size() -> Int {
    switch random.below(20) {
    case 0: 0
    case 1: 1
    case 2: 128 << 10
    case 3: (128 << 10) + 1
    case 4: 300_000
    case 5: 600_000 + random.below(100_000)
    default: 1 + random.below(5_000)
    }
  }

  private mutating func put() -> ModelStep {
    let key = random.pick(keys)
    var said: String?
    if key.suffix(2).elementsEqual(Array(".o".utf8)) {
      said = random.pick([nil, "max-age=5", "max-age=100", "no-cache", "max-age=10,must-revalidate"])
    }
    return .put(key, size(), said)
  }

  private mutating func directory() -> [UInt8] {
    if random.chance(25) { return [] }
    let path = random.pick(paths)
    return path.lastIndex(of: 0x2F).map { Array(path[..<$0]) } ?? path
  }

  private mutating func next() -> [ModelStep] {
    let handle = random.below(100)
    switch random.below(1000) {
    case ..<90:
      let step = put()
      guard case .put(let key, _, _) = step, returns?.chance(25) ?? false else { return [step] }
      return [.restore(key, returns?.below(3) ?? 0)]
    case ..<110: return [.touch(random.pick(keys))]
    case ..<145: return [.delete(random.pick(keys))]
    case ..<360: return [.look(random.pick(paths))]
    case ..<470: return [.open(random.pick(paths)), .read(0, random.chance(70) ? 0 : random.below(400_000), 1 << 17)]
    case ..<490: return [.open(random.pick(paths)), .read(0, 0, 1 << 20)]
    case ..<560: return [.read(handle, random.below(700_000), 1 + random.below(200_000))]
    case ..<580: return [.read(handle, 0, 1 << 20)]
    case ..<595: return [.whole(handle)]
    case ..<615: return [.stat(handle)]
    case ..<650: return [.close(handle)]
    case ..<730: return [.list(directory(), random.chance(50))]
    case ..<740: return [.refresh(random.chance(20) ? [] : random.pick(paths))]
    case ..<840: return [time()]
    case ..<843: return [.wall(random.pick([-3_600_000, -20_000, -1_000, 5_000, 100_000]))]
    case ..<870:
      isHolding.toggle()
      return [isHolding ? .hold : .free]
    case ..<950:
      guard isHolding else { return [.look(random.pick(paths))] }
      return [held()]
    case ..<980:
      isDown.toggle()
      return [isDown ? .down(random.pick(ModelFault.allCases)) : .up, .look(random.pick(paths))]
    case ..<984: return [.evict]
    case ..<986: return [.restart]
    case ..<987: return [.crash]
    default:
      // All names of a directory, as ls -l, tar and the like use them.
      let below = directory()
      let names = paths.filter { $0.starts(with: below) }
      return [.list(below, random.chance(50))] + names.map { random.chance(50) ? .look($0) : .open($0) }
    }
  }

  private mutating func held() -> ModelStep {
    let number = random.below(20)
    switch random.below(10) {
    case ..<4: return .serve(number)
    case ..<9: return .deliver(number)
    default: return .fail(number, random.pick(ModelFault.allCases))
    }
  }

  private mutating func time() -> ModelStep {
    switch random.below(10) {
    case ..<3: .advance(1 + random.below(300))
    case ..<6: .advance(random.below(12_000))
    case ..<9: .advance(50_000 + random.below(30_000))
    default: .advance(random.below(700_000))
    }
  }
}
