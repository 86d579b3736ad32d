// What a running mirror does to its own cache when it is asked.
public import MirrorCache
import MirrorPlatform
public import MirrorStore

extension BucketMirror {
  /// Deletes the copies of keys that begin with a prefix. The kernel is asked to forget those that no program uses; what
  /// is left in `inUse` after that is open, mapped or on its way.
  public func evict(under prefix: ObjectKey) async -> CacheEviction {
    var sum = CacheEviction()
    for pause in [20, 50, 100, 200, 0] {
      let round = await cache.evict(under: prefix)
      sum.objects += round.objects
      sum.bytes += round.bytes
      sum.inUse = round.inUse
      guard !round.inUse.isEmpty, pause > 0 else { break }
      askToForget(round.inUse)
      await sleep(.milliseconds(pause))
    }
    return sum
  }

  /// Drops the damaged blocks of these keys' copies, so that they are fetched anew; how many they were.
  public func recheck(_ keys: [ObjectKey]) async -> Int {
    var dropped = 0
    for key in keys {
      let found = await cache.recheck(key)
      // Pages that came from there may be in the kernel; they go with an inode that nobody uses.
      if found > 0 { askToForget([key]) }
      dropped += found
    }
    return dropped
  }

  /// Takes away what is of no use, and brings the cache under limits.
  public func collectGarbage(_ limits: CacheLimits) async -> CacheGarbage { await cache.collectGarbage(limits) }
}
