// The release, as `--version` and `status --json` tell it.

public let programVersion = "0.1.0"
