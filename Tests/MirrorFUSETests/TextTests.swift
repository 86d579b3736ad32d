// The texts we read and write: option strings, mount tables, signal masks, fuse.conf.
import MirrorPlatform
import Testing

@testable import MirrorFUSE

@Suite(.timeLimit(.minutes(1)))
struct MountTexts {
  @Test func `a source's commas and backslashes cannot become options`() {
    var options = MountOptions(source: "b,allow_other\\,dev")
    #expect(options.text == "ro,nosuid,nodev,default_permissions,subtype=s3mirror,fsname=b\\,allow_other\\\\\\,dev")
    options.allowOther = true
    #expect(options.text.contains(",allow_other,fsname="))
  }

  @Test func `a line of mountinfo is read, optional fields and escapes too`() throws {
    let line = "36 35 0:51 / /mnt/a\\040b\\134c rw,noatime shared:1 master:2 - fuse.s3mirror s3://x\\043y rw,user_id=0"
    let record = try #require(MountRecord(line: Array(line.utf8)[...]))
    #expect(record.device == "0:51" && record.mountPoint == "/mnt/a b\\c" && record.source == "s3://x#y")
    #expect(record.isMirror)
    #expect(MountRecord(line: Array("36 35 0:51 / /mnt rw".utf8)[...]) == nil)
    #expect(MountRecord(line: Array("36 35 0:51 / /\\377 rw - ext4 /dev/x rw".utf8)[...]) == nil)
  }

  @Test func `this machine's mount table has a root`() throws {
    #expect(try MountTable.top(at: "/") != nil)
    #expect(!DeadMount.isMounted("/") && !DeadMount.isMounted("/no/such/path"))
  }

  @Test func `a thread is dying by SIGKILL, or by a signal that nothing holds or catches`() {
    let cases: [(pending: Int, shared: Int, masks: (Int, Int, Int), tracer: Int, deadly: Bool)] = [
      (9, 0, (0, 0, 0), 0, true), (0, 9, (0, 0, 0), 0, true), (0, 9, (0, 0, 0), 4711, true),
      (14, 0, (0, 0, 14), 0, false), (14, 10, (0, 10, 14), 0, false), (0, 15, (15, 0, 0), 0, false),
      (0, 15, (0, 0, 14), 0, true), (0, 15, (0, 0, 14), 4711, false), (0, 17, (0, 0, 0), 0, false),
      (0, 20, (0, 0, 0), 0, false), (0, 0, (0, 0, 0), 0, false),
    ]
    func mask(_ signal: Int) -> String { String(signal == 0 ? 0 : UInt64(1) << (signal - 1), radix: 16) }
    for test in cases {
      let status = """
        Name:\tx
        TracerPid:\t\(test.tracer)
        SigPnd:\t\(mask(test.pending))
        ShdPnd:\t\(mask(test.shared))
        SigBlk:\t\(mask(test.masks.0))
        SigIgn:\t\(mask(test.masks.1))
        SigCgt:\t\(mask(test.masks.2))

        """
      #expect(SignalState(status: Array(status.utf8)).isDeadly == test.deadly, "\(test)")
    }
    #expect(!SignalState(status: []).isDeadly)
  }

  @Test func `fuse.conf permits only by a line of its own`() {
    for (text, permits) in [
      ("user_allow_other", true), ("# x\n user_allow_other \nmount_max = 9", true), ("#user_allow_other", false),
      ("user_allow_other_users", false), ("user_allow_other # why", true), ("", false),
    ] {
      #expect(MountPoint.configurationAllowsOther(Array(text.utf8)) == permits, "\(text)")
    }
  }

  @Test func `errors say what to do`() {
    let error = MountError(.allowOtherRefused, path: "/mnt", detail: "x")
    #expect(error.description.contains("/etc/fuse.conf") && error.description.hasSuffix("(x)"))
  }
}
