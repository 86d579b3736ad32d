// The targets over MirrorCore.
import MirrorCore
import MirrorPlatform

fuzz([
  "names": fuzzNames,
  "rules": fuzzRules,
])
