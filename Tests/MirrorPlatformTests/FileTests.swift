// Open files: positions, ends, exclusivity, links.
import Glibc
import MirrorPlatform
import Testing

@Suite(.timeLimit(.minutes(1)))
struct `An open file` {
  let scratch: Scratch
  init() throws { scratch = try Scratch() }

  @Test func `reads and writes at positions, and less at its end`() throws {
    let file = try File.open(scratch("f"), .readWrite, create: 0o600)
    try file.write(Array("hello".utf8), at: 3)
    #expect(try file.read(at: 0, count: 100) == [0, 0, 0] + Array("hello".utf8))
    #expect(try file.read(at: 6, count: 1) == Array("l".utf8))
    #expect(try file.read(at: 8, count: 4) == [])
    #expect(try file.read(at: 800, count: 4) == [])
    #expect(try file.attributes().size == 8)
  }

  @Test func `is read past the page cache where that has nothing of it`() throws {
    let bytes = (0..<300_001).map { UInt8(truncatingIfNeeded: $0 * 7 + $0 >> 8) }
    // Not on tmpfs, which is the page cache.
    let path = "/var/tmp/s3mirror-\(getpid())"
    defer { unlink(path) }
    try FileSystem.write(bytes, to: path, mode: 0o600)
    let file = try File.open(path, .read)
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 19, alignment: 4096)
    defer { unsafe buffer.deallocate() }
    func read(at offset: Int, _ count: Int) -> [UInt8]? {
      let part = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
      return unsafe file.readPastCache(into: part, at: Int64(offset)) ? Array(part) : nil
    }
    #expect(read(at: 0, 200_000) == nil, "it has just been written")
    try file.synchronize()
    file.forgetPages(offset: 0, length: 0)
    #expect(read(at: 0, 200_000) == Array(bytes[..<200_000]))
    #expect(read(at: 8192, 300_001 - 8192) == Array(bytes[8192...]), "to an end in the middle of a page")
    #expect(read(at: 100, 4096) == nil, "no such place on a disk")
    #expect(read(at: 8192, 300_001) == nil, "there are not so many")
    #expect(try file.read(at: 8192, count: 1) == [bytes[8192]])
    #expect(read(at: 0, 200_000) == nil, "a page of it is in memory now")
  }

  @Test func `a hole is counted in its size and not in its allocation`() throws {
    let file = try File.open(scratch("f"), .readWrite, create: 0o600)
    try file.resize(to: 100 << 20)
    let attributes = try file.attributes()
    #expect(attributes.size == 100 << 20)
    #expect(attributes.allocated < 1 << 20)
    #expect(try file.read(at: 50 << 20, count: 3) == [0, 0, 0])
  }

  @Test func `is made only where nothing is`() throws {
    _ = try File.open(scratch("f"), .write, create: 0o640)
    #expect(throws: Errno.exists) { try File.open(scratch("f"), .write, create: 0o600) }
    #expect(throws: Errno.noEntry) { try File.open(scratch("g"), .read) }
    let again = try File.openOrCreate(scratch("f"), mode: 0o600)
    #expect(try again.attributes().permissions == 0o640)
  }

  @Test func `is not reached through a link`() throws {
    try FileSystem.write([1], to: scratch("f"), mode: 0o600)
    #expect(symlink("f", scratch("l")) == 0)
    #expect(throws: Errno(rawValue: ELOOP)) { try File.open(scratch("l"), .read) }
    #expect(throws: Errno(rawValue: ELOOP)) { try File.openOrCreate(scratch("l"), mode: 0o600) }
  }

  @Test func `is locked by one opener at a time, until it is released`() throws {
    let first = try File.openOrCreate(scratch("lock"), mode: 0o600)
    let second = try File.openOrCreate(scratch("lock"), mode: 0o600)
    #expect(try first.lock())
    #expect(try !second.lock())
    do {
      let third = try File.openOrCreate(scratch("other"), mode: 0o600)
      #expect(try third.lock())
    }
    #expect(try File.openOrCreate(scratch("other"), mode: 0o600).lock())
  }

  @Test func `is closed with its owner, and not inherited`() throws {
    var descriptor: Int32 = -1
    do {
      let file = try File.open("/dev/null", .read)
      descriptor = file.descriptor
      #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
      withExtendedLifetime(file) {}
    }
    // Another test may have got the number since; it is then another file.
    #expect(fcntl(descriptor, F_GETFD) == -1 || (try? FileSystem.resolve("/proc/self/fd/\(descriptor)")) != "/dev/null")
  }
}

@Suite(.timeLimit(.minutes(1)))
struct `A failed call` {
  @Test func `is told in words`() {
    #expect(Errno.noEntry.description == "No such file or directory")
    #expect(Errno.readOnly.description == "Read-only file system")
    #expect(Errno(rawValue: 9999).description.contains("9999"))
  }

  @Test func `is made again when a signal interrupted it`() throws {
    var calls = 0
    let value = try checked { () -> Int32 in
      calls += 1
      errno = EINTR
      return calls < 3 ? -1 : 7
    }
    #expect(value == 7)
    #expect(calls == 3)
    #expect(throws: Errno.busy) {
      try checked { () -> Int32 in
        errno = EBUSY
        return -1
      }
    }
  }
}
