// The commands, one table: dispatch and help read it.
import MirrorDaemon
import MirrorPlatform

struct Command: Sendable {
  let name: String
  /// What follows the name.
  let usage: String
  let summary: String
  /// Options with their meaning; those of `mount` are a table of their own.
  var options: [(String, String)] = []
  var details = ""
  let run: @Sendable ([[UInt8]]) throws(CommandFailure) -> ExitCode

  static let aliases = ["umount": "unmount", "prefetch": "warm"]

  static func named(_ name: String) -> Command? {
    let name = aliases[name] ?? name
    return all.first { $0.name == name }
  }

  /// Its options are those of the table in `MountOption`.
  var takesMountOptions: Bool { ["mount", "doctor", "seed"].contains(name) }

  static let all: [Command] = [
    Command(
      name: "mount", usage: "[options] SOURCE MOUNTPOINT | NAME", summary: "show a bucket as files",
      details: "SOURCE is BUCKET, BUCKET/PREFIX, s3://BUCKET/PREFIX, or the ARN or alias of an\n"
        + "access point; NAME is that of a mount in a configuration file, s3mirror.conf(5).\n"
        + "Every option may also be given as -o name=value[,name=value...]; there the\n"
        + "options that mount(8) has for every file system are accepted too.",
      run: MountCommand.run),
    Command(
      name: "unmount", usage: "[--lazy] MOUNTPOINT", summary: "end a mount; wait until its process has gone",
      options: [("--lazy", "detach it even while programs use it; it ends when they let go")], run: UnmountCommand.run),
    Command(
      name: "status", usage: "[MOUNTPOINT] [--json | --hidden]",
      summary: "what is mounted, online or not, requests, cost, cache",
      options: [
        ("--json", "for scripts: one object for all mounts"),
        ("--hidden", "as 'keys --hidden --json' tells of this mount"),
      ], run: StatusCommand.run),
    Command(
      name: "top", usage: "[MOUNTPOINT] [--once] [--interval DURATION]",
      summary: "the same, alive: hits, requests, transfers, cost",
      options: TopCommand.options, run: TopCommand.run),
    Command(
      name: "metrics", usage: "[MOUNTPOINT]", summary: "the figures of a mount as OpenMetrics text",
      run: MetricsCommand.run),
    Command(
      name: "log-level", usage: "[LEVEL] [MOUNTPOINT]", summary: "what a running mount writes into its log",
      details: "LEVEL is \(Log.Level.names); without one, which it is now.", run: LogLevelCommand.run),
    Command(
      name: "refresh", usage: "PATH...", summary: "have files or directories in a mount validated at their next use",
      run: RefreshCommand.run),
    Command(
      name: "warm", usage: "PATH... [--from FILE] [--dry-run]",
      summary: "fetch files ahead: paths, whole directories, quoted patterns, lists",
      options: WarmCommand.options, details: WarmCommand.details, run: WarmCommand.run),
    Command(
      name: "explain", usage: "PATH [--json]",
      summary: "which rule applies, age, what the next open would ask and cost",
      options: [("--json", "for scripts")], run: ExplainCommand.run),
    Command(
      name: "cost", usage: "[MOUNTPOINT | --cache-dir DIR] [--by day|prefix] [--project] [--json]",
      summary: "what was asked and what it cost: by day, by prefix, this month, and next",
      options: CostCommand.options, details: CostCommand.details, run: CostCommand.run),
    Command(
      name: "cache", usage: "ls|stat|du|verify|evict|gc|export DIR|pin|unpin|pins [options] [PREFIX]",
      summary: "what is cached, with a mount running or none; what is to be kept",
      options: CacheCommand.options, details: CacheCommand.details, run: CacheCommand.run),
    Command(
      name: "seed", usage: "create [options] SOURCE DIR",
      summary: "a bucket's content as a directory that images carry, for mount --seed",
      details: SeedCommand.details, run: SeedCommand.run),
    Command(
      name: "config", usage: "check [FILE] | show [NAME] [--config FILE] [--json] | sample",
      summary: "the configuration file: its mistakes, what holds and where it comes from, a sample",
      options: ConfigCommand.options, details: ConfigCommand.details, run: ConfigCommand.run),
    Command(
      name: "keys", usage: "--hidden [MOUNTPOINT | --cache-dir DIR] [--json]",
      summary: "objects that have no name in the mount, and why", options: KeysCommand.options, run: KeysCommand.run),
    Command(
      name: "doctor", usage: "[options] [SOURCE]",
      summary: "what is in the way of a mount: settings, credentials, network, bucket, FUSE, cache",
      details: DoctorCommand.details, run: DoctorCommand.run),
    Command(
      name: "debug", usage: "bundle [FILE]", summary: "what helps others to help: state and log, without secrets",
      details: DebugCommand.details, run: DebugCommand.run),
    Command(name: "version", usage: "", summary: "which release this is", run: VersionCommand.run),
    Command(
      name: "completion", usage: "bash|zsh|fish", summary: "what a shell needs to complete commands and options",
      run: CompletionCommand.run),
    Command(name: "help", usage: "[COMMAND]", summary: "about a command", run: HelpCommand.run),
  ]
}
