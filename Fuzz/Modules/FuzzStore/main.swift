import MirrorPlatform
// The targets over MirrorStore.
import MirrorStore

fuzz([
  "events": fuzzEvents,
  "spending": fuzzSpending,
])
