// The targets over MirrorCache.
import MirrorCache
import MirrorPlatform

fuzz([
  "catalogue": fuzzCatalogue,
  "seed": fuzzSeed,
])
