// Programs that are run for what they write.
import CGlibc
import Glibc

/// Runs a program to its end (posix_spawnp(3)), without a shell: its exit code, or 128 and its signal, and what it wrote
/// to standard output. Its standard input and standard error lead nowhere.
///
/// - Throws: what kept it from starting; ETIMEDOUT when it had to be killed; EFBIG beyond 1 MiB of output.
public func runProgram(
  _ arguments: [String], limit: Duration
) async throws(Errno) -> (status: Int32, output: [UInt8]) {
  let result = await withCheckedContinuation { continuation in
    do throws(Errno) {
      try tryThread("program") {
        let result: Result<(status: Int32, output: [UInt8]), Errno>
        do throws(Errno) { result = .success(try runBlocking(arguments, limit: limit)) } catch {
          result = .failure(error)
        }
        continuation.resume(returning: result)
      }
    } catch { continuation.resume(returning: .failure(error)) }
  }
  return try result.get()
}

private func runBlocking(_ arguments: [String], limit: Duration) throws(Errno) -> (status: Int32, output: [UInt8]) {
  let clock = SystemClock()
  let end = clock.now() + limit
  let reading: File
  var writing: File?
  (reading, writing) = try ThisProcess.pipe()
  var pointers = unsafe arguments.map { unsafe strdup($0) }
  defer { unsafe pointers.forEach { unsafe free($0) } }
  unsafe pointers.append(nil)
  let child = unsafe cglibc_spawn_reading(&pointers, writing?.descriptor ?? -1)
  if child < 0 { throw Errno(rawValue: -child) }
  // The only writing end left is the child's.
  writing = nil
  var failure: Errno?
  var output: [UInt8] = []
  do throws(Errno) { output = try readAll(reading, until: end, clock) } catch {
    failure = error
    _ = kill(-child, SIGKILL)
  }
  var status: Int32 = 0
  while true {
    let done = unsafe waitpid(child, &status, WNOHANG)
    if done == child { break }
    if done < 0, errno != EINTR { throw Errno.last }
    if clock.now() >= end {
      failure = failure ?? .timedOut
      _ = kill(-child, SIGKILL)
    }
    pause(.milliseconds(2))
  }
  if let failure { throw failure }
  return (status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + (status & 0x7F), output)
}

private func readAll(_ file: File, until end: Instant, _ clock: SystemClock) throws(Errno) -> [UInt8] {
  var output: [UInt8] = []
  while true {
    let left = end - clock.now()
    guard left > .zero else { throw Errno.timedOut }
    var wait = pollfd(fd: file.descriptor, events: Int16(POLLIN), revents: 0)
    let ready = unsafe poll(&wait, 1, Int32(min(60_000, left.nanosecondsClamped / 1_000_000 + 1)))
    if ready < 0, errno != EINTR { throw Errno.last }
    guard ready > 0 else { continue }
    let part = try file.readSequential(count: 65536)
    if part.isEmpty { return output }
    output += part
    if output.count > 1 << 20 { throw Errno(rawValue: EFBIG) }
  }
}
