// Files that the kernel reads by itself, on real mounts.
import Glibc
import MirrorCore
import MirrorPlatform
import Testing

@testable import MirrorFUSE

/// A directory with the files behind the tree's.
private final class Beside: Sendable {
  let path: String
  init() throws {
    path = try MountFixture.temporaryDirectory()
    try FileSystem.write([], to: path + "/probe", mode: 0o600)
  }
  deinit { try? FileSystem.removeTree(path) }

  func file(_ name: String, _ bytes: [UInt8]) throws -> SyntheticTree.Content {
    try FileSystem.write(bytes, to: "\(path)/\(name)", mode: 0o600)
    return .file(try File.open("\(path)/\(name)", .readWrite), size: bytes.count)
  }
}

extension Mounting {
  /// Whether this kernel lets us register files.
  fileprivate static let hasPassthrough: Bool = {
    guard isPossible, isRoot, let beside = try? Beside(),
      let mount = try? MountFixture(SyntheticTree(), { $0.passthroughBeside = beside.path + "/probe" })
    else { return false }
    defer { mount.close() }
    return mount.session.dataPath == .passthrough
  }()
}

extension Mounted {
  @Suite(.enabled(if: Mounting.hasPassthrough)) struct Passthrough {
    private static let size = 3_000_001
    private static let hash = "f = open(root + '/file', 'rb'); print(hashlib.sha256(f.read()).hexdigest()); f.close()"

    private func expected() -> String { hexadecimal(Digest.value(.sha256, of: pattern(Self.size))) }

    @Test func `a whole file is read, mapped and sent without a READ`() async throws {
      let beside = try Beside()
      let tree = SyntheticTree()
      tree.addFile("file", try beside.file("a", pattern(Self.size)))
      try await withMount(tree, options: { $0.passthroughBeside = beside.path + "/probe" }) { mount in
        let script = """
          import mmap, tempfile
          f = open(root + "/file", "rb")
          data = f.read()
          m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
          out = tempfile.TemporaryFile()
          while os.sendfile(out.fileno(), f.fileno(), out.tell(), 1 << 20): out.seek(0, 2)
          out.seek(0)
          print(data == m[:] == out.read(), os.fstat(f.fileno()).st_size == len(data))
          print(hashlib.sha256(data).hexdigest())
          """
        await Child.run(script, [mount.path], prints: "True True\n\(expected())")
        #expect(mount.tree.counts.reads == 0)
        let opens = mount.tree.counts.opens
        await Child.run(Self.hash, [mount.path], prints: expected())
        #expect(mount.tree.counts.reads == 0)
        // The file stayed ready.
        #expect(mount.tree.counts.opens == opens)
        #expect(mount.tree.heldLeases == 1)
      }
      #expect(await eventually { tree.heldLeases == 0 })
    }

    @Test func `a file that becomes whole is read without us once nobody has it open`() async throws {
      let beside = try Beside()
      let tree = SyntheticTree()
      let node = tree.addFile("file", .bytes(pattern(Self.size)))
      let whole = try beside.file("a", pattern(Self.size))
      try await withMount(tree, options: { $0.passthroughBeside = beside.path + "/probe" }) { mount in
        let flag = beside.path + "/flag"
        let holder = try Child(
          """
          f = open(root + "/file", "rb")
          f.read(1)
          open(sys.argv[2], "w").close()
          while os.path.exists(sys.argv[2]): time.sleep(0.01)
          print(1 + len(f.read()))
          """, [mount.path, flag])
        #expect(await eventually { access(flag, F_OK) == 0 })
        mount.tree.change(node, to: whole)
        // As long as it is open it goes on as it began, also for others.
        await Child.run(Self.hash, [mount.path], prints: expected())
        #expect(mount.tree.heldLeases == 0)
        unlink(flag)
        #expect(await holder.finish().output == "\(Self.size)\n")
        #expect(mount.tree.counts.reads > 0)
        // RELEASE comes some time after close(2).
        for _ in 0..<100 where mount.tree.heldLeases == 0 {
          await Child.run(Self.hash, [mount.path], prints: expected())
        }
        #expect(mount.tree.heldLeases == 1)
        let reads = mount.tree.counts.reads
        let script = "open('/proc/sys/vm/drop_caches', 'w').write('1')\n" + Self.hash
        await Child.run(script, [mount.path], prints: expected())
        #expect(mount.tree.counts.reads == reads)
      }
    }

    @Test func `whatever way and order threads open and close, each reads right`() async throws {
      let beside = try Beside()
      let tree = SyntheticTree()
      let contents = try (0..<4).map { try beside.file("f\($0)", pattern(50_000 + $0)) }
      let nodes = (0..<4).map { tree.addFile("f\($0)", .bytes(pattern(50_000 + $0))) }
      try await withMount(tree, options: { $0.passthroughBeside = beside.path + "/probe" }) { mount in
        let script = """
          import random
          expected = [hashlib.sha256(open(f"{sys.argv[2]}/f{i}", "rb").read()).hexdigest() for i in range(4)]
          seen, end = [], time.monotonic() + 4
          def work(seed):
              choose = random.Random(seed)
              held = []
              while time.monotonic() < end:
                  i = choose.randrange(4)
                  try:
                      f = open(f"{root}/f{i}", "rb")
                      seen.append("right" if hashlib.sha256(f.read()).hexdigest() == expected[i] else "wrong")
                      held.append(f)
                  except OSError as e: seen.append(errno.errorcode[e.errno])
                  while held and (len(held) > 3 or choose.random() < 0.6): held.pop(choose.randrange(len(held))).close()
          threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
          for t in threads: t.start()
          for t in threads: t.join()
          print(set(seen), len(seen) > 200)
          """
        let child = try Child(script, [mount.path, beside.path])
        for round in 0..<200 {
          let index = round % 4
          let isWhole = round / 4 % 2 == 0
          mount.tree.change(nodes[index], to: isWhole ? contents[index] : .bytes(pattern(50_000 + index)))
          try await Task.sleep(for: .milliseconds(15))
        }
        let result = await child.finish()
        #expect(result.output == "{'right'} True\n")
        #expect(mount.tree.heldLeases <= 4)
      }
    }

    @Test func `what the kernel forgets is let go, and not before it is closed`() async throws {
      let beside = try Beside()
      let tree = SyntheticTree(forgetting: true)
      tree.addFile("file", try beside.file("a", pattern(1000)))
      try await withMount(tree, options: { $0.passthroughBeside = beside.path + "/probe" }) { mount in
        let flag = beside.path + "/flag"
        let holder = try Child(
          """
          f = open(root + "/file", "rb")
          open(sys.argv[2], "w").close()
          while os.path.exists(sys.argv[2]): time.sleep(0.01)
          print(len(f.read()))
          """, [mount.path, flag])
        #expect(await eventually { access(flag, F_OK) == 0 })
        // The name leads nowhere now, and the file behind it is unlinked.
        mount.tree.remove("file")
        mount.session.notices.invalidate(Array("file".utf8), in: .root)
        unlink(beside.path + "/a")
        await Child.run("print(os.path.exists(root + '/file'))", [mount.path], prints: "False")
        #expect(mount.tree.heldLeases == 1)
        unlink(flag)
        #expect(await holder.finish().output == "1000\n")
        #expect(await eventually { mount.tree.heldLeases == 0 })
      }
    }

    @Test func `also where an administrator remounted it for writing nobody can write`() async throws {
      let beside = try Beside()
      let tree = SyntheticTree()
      tree.addFile("file", try beside.file("a", pattern(1000)))
      try await withMount(tree, options: { $0.passthroughBeside = beside.path + "/probe" }) { mount in
        let script = """
          assert libc.mount(None, root.encode(), None, 32 | 2 | 4, None) == 0, ctypes.get_errno()
          for flags in os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC, os.O_RDWR | os.O_APPEND:
              try: os.close(os.open(root + "/file", flags)); print("allowed")
              except OSError as e: print(errno.errorcode[e.errno])
          print(len(open(root + "/file", "rb").read()))
          """
        await Child.run(script, [mount.path], prints: "EROFS\nEROFS\nEROFS\nEROFS\n1000")
        let left = try FileSystem.read(beside.path + "/a")
        #expect(left == pattern(1000))
      }
    }

    @Test func `where files can't be registered they are opened by the kernel and read through us`() async throws {
      let tree = SyntheticTree()
      let beside = try Beside()
      tree.addFile("file", try beside.file("a", pattern(Self.size)))
      // Nothing can be registered of a directory, as of a file system that does not allow it.
      try await withMount(tree, options: { $0.passthroughBeside = beside.path }) { mount in
        #expect(mount.session.dataPath != .passthrough)
        for _ in 0..<2 { await Child.run(Self.hash, [mount.path], prints: expected()) }
        #expect(mount.tree.counts.opens == 0)
        #expect(mount.tree.counts.reads > 0)
      }
    }
  }
}

extension Mounted {
  @Suite struct PassthroughRefused {
    @Test(arguments: [(EPERM, "root"), (ELOOP, "--cache-dir"), (EOPNOTSUPP, "does not allow")])
    func `a refusal says what to do`(error: Int32, words: String) {
      #expect(OpenFiles.explanation(Errno(rawValue: error)).contains(words))
    }

    @Test func `without a kernel that knows it nothing is asked of us`() throws {
      let files = OpenFiles(beside: "/", log: .none)
      #expect(!files.isRefused)
      files.decide(nil)
      #expect(files.isRefused)
      guard case .cached(let reason?) = files.path else { return #expect(Bool(false), "\(files.path)") }
      #expect(reason.contains("6.9"))
    }
  }
}
