// `unmount`.
import MirrorDaemon
import MirrorPlatform

enum UnmountCommand {
  static let run: @Sendable ([[UInt8]]) throws(CommandFailure) -> ExitCode = { (arguments) throws(CommandFailure) in
    let words = try Words(arguments, of: "unmount", flags: ["lazy"])
    let path = try words.one("MOUNTPOINT", of: "unmount")
    if let remark = try Unmount.end(String(decoding: path, as: UTF8.self), lazy: words.flags.contains("lazy")) {
      emit(remark + "\n")
    }
    return .done
  }
}
