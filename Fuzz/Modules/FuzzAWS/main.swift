// The targets over MirrorAWS.
import MirrorAWS
import MirrorPlatform

fuzz([
  "list": fuzzList,
  "headers": fuzzHeaders,
  "errors": fuzzErrors,
  "profiles": fuzzProfiles,
  "credentials": fuzzCredentials,
])
