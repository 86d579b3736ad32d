// The targets over MirrorDaemon.
import MirrorDaemon
import MirrorPlatform

fuzz([
  "configuration": fuzzConfiguration,
  "control": fuzzControl,
])
