// The real S3 servers that tests run on: how each is called, where its program is, and which are asked for.
import MirrorPlatform

public enum ServerKind: String, CaseIterable, Sendable, CustomStringConvertible {
  case weed, ceph, rclone, moto, juicefs

  /// Its name for people.
  public var description: String {
    switch self {
    case .weed: "SeaweedFS"
    case .ceph: "Ceph RGW"
    case .rclone: "rclone serve s3"
    case .moto: "moto"
    case .juicefs: "juicefs gateway"
    }
  }

  /// Those named in $S3MIRROR_TEST_SERVERS, else of the two that start fastest those that are here.
  public static let chosen: [ServerKind] = {
    guard let names = startEnvironment["S3MIRROR_TEST_SERVERS"] else {
      return [weed, rclone].filter { $0.program != nil }
    }
    return names.split(separator: " ").compactMap { ServerKind(rawValue: String($0)) }
  }()

  private var programName: String {
    switch self {
    case .weed: "weed"
    case .ceph: "radosgw"
    case .rclone: "rclone"
    case .moto: "moto_server"
    case .juicefs: "juicefs"
    }
  }

  /// $S3MIRROR_TEST_WEED, say, else in the repository's virtual environment, else on PATH.
  public var program: String? {
    if let path = startEnvironment["S3MIRROR_TEST_\(rawValue.uppercased())"] { return findProgram(path) }
    let repository = #filePath.split(separator: "/").dropLast(3).map { "/\($0)" }.joined()
    return findProgram("\(repository)/.venv/bin/\(programName)") ?? findProgram(programName)
  }

  /// `4.48`; nil where the program does not say.
  public func version() async throws -> String? {
    guard let program else { return nil }
    var command = [program]
    switch self {
    case .weed, .rclone: command.append("version")
    case .ceph, .juicefs: command.append("--version")
    case .moto:
      let python = "\(FileSystem.parent(of: program) ?? "")/python"
      command = [python, "-c", "import importlib.metadata as m; print(m.version('moto'))"]
    }
    let result = try await run(command, limit: .seconds(60))
    return result.output.split(whereSeparator: { " \n+".contains($0) }).lazy.map { word in
      word.first == "v" ? word.dropFirst() : word
    }.first { word in
      word.contains(".") && word.allSatisfy { $0.isNumber || $0 == "." }
    }.map { String($0) }
  }
}
