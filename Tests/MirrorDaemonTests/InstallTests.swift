import MirrorPlatform
import TestSupport
import Testing

/// What scripts/install puts where, and what it puts there.
@Suite(.timeLimit(.minutes(2)), .enabled(if: MountFixture.program != nil && findProgram("install") != nil))
struct InstallTests {
  private let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")

  private func install(_ arguments: String...) async throws -> (files: [String], destination: TemporaryDirectory) {
    let destination = try TemporaryDirectory("install")
    let program = try #require(MountFixture.program)
    let result = try await run(
      [root + "/scripts/install"] + arguments,
      environment: ["DESTDIR": destination.path, "S3MIRROR_BINARY": program], limit: .seconds(60))
    #expect(result.succeeded, "\(result)")
    let found = try await run([
      "find", destination.path, "(", "-type", "f", "-o", "-type", "l", ")", "-printf", "/%P\\n",
    ])
    return (found.output.split(separator: "\n").map(String.init).sorted(), destination)
  }

  @Test func `program, manuals, completions, units, helper and examples are where they are looked for`() async throws {
    let (files, destination) = try await install("--prefix", "/usr", "--mount-helper")
    #expect(
      files == [
        "/sbin/mount.s3mirror", "/usr/bin/s3mirror", "/usr/lib/systemd/system/s3mirror@.service",
        "/usr/lib/systemd/user/s3mirror@.service", "/usr/share/bash-completion/completions/s3mirror",
        "/usr/share/doc/s3mirror/examples/Dockerfile", "/usr/share/doc/s3mirror/examples/grafana.json",
        "/usr/share/doc/s3mirror/examples/kubernetes.yaml",
        "/usr/share/doc/s3mirror/examples/s3mirror.conf", "/usr/share/fish/vendor_completions.d/s3mirror.fish",
        "/usr/share/man/man1/s3mirror.1", "/usr/share/man/man5/s3mirror.conf.5", "/usr/share/man/man7/s3mirror.7",
        "/usr/share/man/man8/mount.s3mirror.8", "/usr/share/zsh/vendor-completions/_s3mirror",
      ])
    let link = try FileSystem.target(of: destination.path + "/sbin/mount.s3mirror")
    #expect(link == "/usr/bin/s3mirror")
  }

  @Test func `units run the program from where it was installed`() async throws {
    let (files, destination) = try await install("--prefix", "/opt/s3")
    for path in ["/opt/s3/lib/systemd/system/s3mirror@.service", "/opt/s3/lib/systemd/user/s3mirror@.service"] {
      #expect(files.contains(path))
      let text = String(decoding: try FileSystem.read(destination.path + path), as: UTF8.self)
      #expect(text.contains("\nExecStart=/opt/s3/bin/s3mirror mount --foreground -- %I\n"))
    }
    #expect(!files.contains { $0.contains("/sbin/") })
  }

  /// Each of them gives a service mounts of its own (systemd.exec(5)), in which nobody else would see ours.
  @Test func `no directive of the units hides the mount from others`() throws {
    let hiding = [
      "PrivateTmp", "PrivateDevices", "PrivateMounts", "ProtectSystem", "ProtectHome", "ProtectKernelTunables",
      "ProtectKernelModules", "ProtectKernelLogs", "ProtectControlGroups", "ProtectProc", "ProcSubset",
      "ReadOnlyPaths", "ReadWritePaths", "InaccessiblePaths", "BindPaths", "TemporaryFileSystem", "RootDirectory",
      "DynamicUser", "MountAPIVFS",
    ]
    for unit in ["s3mirror@.service", "user/s3mirror@.service"] {
      let text = String(decoding: try FileSystem.read("\(root)/share/systemd/\(unit)"), as: UTF8.self)
      let keys = text.split(separator: "\n").compactMap { $0.split(separator: "=").first.map(String.init) }
      #expect(keys.contains("Type") && keys.contains("WatchdogSec"))
      #expect(!keys.contains { hiding.contains($0) }, "\(unit)")
      // fusermount3(1) is set-user-ID; only root does without.
      if unit.hasPrefix("user/") { #expect(!keys.contains("NoNewPrivileges") && !keys.contains("RestrictSUIDSGID")) }
    }
  }
}
