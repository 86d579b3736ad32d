// This process: its arguments, environment, identity, limits and standard streams.
import CGlibc
import Glibc

public enum ThisProcess {
  /// argv without the program's name, as the bytes they are.
  public static var arguments: [[UInt8]] { Array(allArguments.dropFirst()) }

  /// argv[0] without its directories.
  public static var name: String {
    let path = String(decoding: allArguments.first ?? [], as: UTF8.self)
    return path.split(separator: "/").last.map(String.init) ?? path
  }

  private static var allArguments: [[UInt8]] {
    (0..<Int(CommandLine.argc)).compactMap { index in
      unsafe CommandLine.unsafeArgv[index].map { unsafe Array(UnsafeBufferPointer(start: $0, count: strlen($0))) }?
        .map { UInt8(bitPattern: $0) }
    }
  }

  /// getenv(3); nil when unset or empty.
  public static func environment(_ name: String) -> String? {
    guard let value = unsafe getenv(name) else { return nil }
    let text = unsafe String(cString: value)
    return text.isEmpty ? nil : text
  }

  /// setenv(3), or unsetenv(3) for nil; only while there is one thread.
  public static func setEnvironment(_ name: String, _ value: String?) {
    if let value { unsafe setenv(name, value, 1) } else { unsafe unsetenv(name) }
  }

  /// The names in environ(7).
  public static var environmentNames: [String] {
    let bytes = (try? FileSystem.read("/proc/self/environ")) ?? []
    return bytes.split(separator: 0).map { String(decoding: $0.prefix { $0 != 0x3D }, as: UTF8.self) }
  }

  /// The effective user and group, and the process id.
  public static var user: UInt32 { geteuid() }
  public static var group: UInt32 { getegid() }
  public static var identifier: Int32 { getpid() }

  /// `HOME`, else the password database's answer.
  public static var home: String? {
    if let home = environment("HOME") { return home }
    var entry = unsafe passwd()
    var buffer = [CChar](repeating: 0, count: 16384)
    var found: UnsafeMutablePointer<passwd>?
    guard unsafe getpwuid_r(geteuid(), &entry, &buffer, buffer.count, &found) == 0, unsafe found != nil,
      let directory = unsafe entry.pw_dir
    else { return nil }
    return unsafe String(cString: directory)
  }

  /// getcwd(3); `/` where it is gone.
  public static var currentDirectory: [UInt8] {
    guard let path = unsafe getcwd(nil, 0) else { return [0x2F] }
    defer { unsafe free(path) }
    return unsafe Array(UnsafeRawBufferPointer(start: path, count: strlen(path)))
  }

  /// chdir(2).
  public static func enter(_ directory: String) throws(Errno) { try checked { unsafe chdir(directory) } }

  /// Raises RLIMIT_NOFILE to its hard limit; the limit that is then in force.
  public static func raiseOpenFileLimit() -> Int {
    var limit = rlimit()
    guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
    limit.rlim_cur = limit.rlim_max
    _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    return Int(clamping: limit.rlim_cur)
  }

  /// No core file: it would hold credentials. Where the kernel hands cores to a program whatever the limit says, they
  /// hold no memory (core(5)).
  public static func forbidCoreDumps() {
    var none = rlimit(rlim_cur: 0, rlim_max: 0)
    _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    try? File.append(to: "/proc/self/coredump_filter").writeSequential(Array("0".utf8))
  }

  /// Lets go of all of root's capabilities(7) but for mounting, unmounting and backing files (CAP_SYS_ADMIN), for files
  /// and caches of others (CAP_DAC_*), and for the signals of callers (CAP_SYS_PTRACE); only while there is one thread.
  public static func keepPrivilegesOfMounting() {
    let kept = [CAP_SYS_ADMIN, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE]
    cglibc_keep_capabilities(kept.reduce(0) { $0 | 1 << UInt64($1) })
  }

  /// Keeps memory small however many threads allocate (mallopt(3)).
  public static func boundHeaps() { cglibc_bound_heaps() }

  /// Gives memory that lies free in the heap back to the kernel (malloc_trim(3)).
  public static func trimHeap() { cglibc_trim_heap() }

  /// A crash leaves one line on standard error.
  public static func reportCrashes() { cglibc_report_crashes() }

  /// Standard input, output and error lead to /dev/null, or to `errors`.
  public static func leaveStandardStreams(errors: File?) throws(Errno) {
    let null = File(owning: try checked { unsafe open("/dev/null", O_RDWR | O_CLOEXEC) })
    for stream in Int32(0)...1 { try checked { dup2(null.descriptor, stream) } }
    try checked { dup2(errors?.descriptor ?? null.descriptor, 2) }
  }

  /// Where the caller has closed standard input, output or error, /dev/null takes its place: what is opened later must
  /// not be written to in its stead.
  public static func fillStandardStreams() {
    for stream in Int32(0)...2 where fcntl(stream, F_GETFD) < 0 { _ = unsafe open("/dev/null", O_RDWR) }
  }

  /// Runs this program again with the same arguments in a session of its own. `report` becomes its descriptor 3.
  public static func spawnAgain(report: File) throws(Errno) -> Int32 {
    let child = unsafe cglibc_spawn_session("/proc/self/exe", CommandLine.unsafeArgv, report.descriptor)
    if child < 0 { throw Errno(rawValue: -child) }
    return child
  }

  /// waitpid(2): the exit code of a child, or 128 and its signal.
  public static func waitForChild(_ child: Int32) throws(Errno) -> Int32 {
    var status: Int32 = 0
    try checked { unsafe waitpid(child, &status, 0) }
    return status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + (status & 0x7F)
  }

  /// kill(2).
  public static func send(signal: Int32, to process: Int32) throws(Errno) { try checked { kill(process, signal) } }

  /// isatty(3) of standard output, or standard error.
  public static func isTerminal(errors: Bool = false) -> Bool { isatty(errors ? 2 : 1) == 1 }

  /// What comes in on standard input, to its end.
  public static func readStandardInput() throws(Errno) -> [UInt8] {
    let input = File(owning: try checked { fcntl(0, F_DUPFD_CLOEXEC, 3) })
    var bytes: [UInt8] = []
    while true {
      let part = try input.readSequential(count: 65536)
      if part.isEmpty { return bytes }
      bytes += part
    }
  }

  /// _exit(2): now, whatever other threads do.
  public static func endAtOnce(_ code: Int32) -> Never { _exit(code) }

  /// pipe2(2), closed on exec.
  public static func pipe() throws(Errno) -> (reading: File, writing: File) {
    var ends: [Int32] = [-1, -1]
    try checked { unsafe Glibc.pipe(&ends) }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (File(owning: ends[0]), File(owning: ends[1]))
  }

  /// Takes over an inherited descriptor: closed on exec from now on; nil when it isn't open.
  public static func inherited(descriptor: Int32) -> File? {
    fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 ? File(owning: descriptor) : nil
  }
}

extension File {
  /// Opens a file that exists, to write at its end.
  public static func append(to path: String) throws(Errno) -> File {
    File(owning: try checked { unsafe Glibc.open(path, O_WRONLY | O_APPEND | O_CLOEXEC) })
  }

  /// write(2) of all bytes at the file's own position: for pipes.
  public func writeSequential(_ bytes: [UInt8]) throws(Errno) {
    var rest = bytes[...]
    while !rest.isEmpty {
      rest = rest.dropFirst(
        try checked { unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) } })
    }
  }
}

/// Writes text to standard output or standard error as it is; a closed pipe is nobody's error.
public func emit(_ text: String, toErrors: Bool = false) { emit(Array(text.utf8), toErrors: toErrors) }

public func emit(_ bytes: [UInt8], toErrors: Bool = false) {
  var rest = bytes[...]
  while !rest.isEmpty {
    let written = unsafe rest.withUnsafeBytes { unsafe write(toErrors ? 2 : 1, $0.baseAddress, $0.count) }
    if written < 0 && errno == EINTR { continue }
    if written <= 0 { return }
    rest = rest.dropFirst(written)
  }
}
