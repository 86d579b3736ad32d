// swift-tools-version: 6.2
import PackageDescription

// Layers point strictly downward (ARCHITECTURE.md); the build refuses an undeclared import.
let strict: [SwiftSetting] = [
  .strictMemorySafety(),
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("ExistentialAny"),
]

func layer(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: strict)
}

func library(_ name: String, links: [String], flags: [String] = []) -> Target {
  .target(
    name: name,
    cSettings: flags.isEmpty ? [] : [.unsafeFlags(flags)],
    linkerSettings: links.map { .linkedLibrary($0) })
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(
    name: name, dependencies: dependencies,
    swiftSettings: [.treatAllWarnings(as: .error), .enableUpcomingFeature("MemberImportVisibility")])
}

let package = Package(
  name: "s3mirror",
  products: [.executable(name: "s3mirror", targets: ["s3mirror"])],
  targets: [
    // C libraries, each touched by one layer.
    library("COpenSSL", links: ["crypto"]),
    library("CXXHash", links: []),
    library("CChecksum", links: []),
    library("CGlibc", links: []),
    library("CSQLite", links: ["sqlite3"]),
    library("CCurl", links: ["curl"]),
    library("CXML", links: ["xml2"], flags: ["-I/usr/include/libxml2"]),
    library("CFUSE", links: ["fuse3"]),

    layer("MirrorPlatform", ["COpenSSL", "CXXHash", "CChecksum", "CGlibc"]),
    layer("MirrorStore", ["MirrorPlatform"]),
    layer("MirrorCache", ["MirrorStore", "MirrorPlatform", "CSQLite"]),
    layer("MirrorCore", ["MirrorCache", "MirrorStore", "MirrorPlatform"]),
    layer("MirrorHTTP", ["MirrorStore", "MirrorPlatform", "CCurl"]),
    layer("MirrorAWS", ["MirrorHTTP", "MirrorStore", "MirrorPlatform", "CXML"]),
    layer("MirrorFUSE", ["MirrorCore", "MirrorStore", "MirrorPlatform", "CFUSE"]),
    layer(
      "MirrorDaemon",
      ["MirrorFUSE", "MirrorAWS", "MirrorHTTP", "MirrorCore", "MirrorCache", "MirrorStore", "MirrorPlatform"]),
    .executableTarget(
      name: "s3mirror", dependencies: ["MirrorDaemon", "MirrorCore", "MirrorCache", "MirrorStore", "MirrorPlatform"],
      swiftSettings: strict),

    .target(
      name: "TestSupport", dependencies: ["MirrorStore", "MirrorPlatform"], path: "Tests/TestSupport",
      swiftSettings: [.treatAllWarnings(as: .error)]),
    tests("MirrorPlatformTests", ["MirrorPlatform"]),
    tests("MirrorStoreTests", ["MirrorStore", "MirrorPlatform", "TestSupport"]),
    tests("MirrorCacheTests", ["MirrorCache", "MirrorStore", "MirrorPlatform", "TestSupport"]),
    tests("MirrorCoreTests", ["MirrorCore", "MirrorCache", "MirrorStore", "MirrorPlatform", "TestSupport"]),
    tests("MirrorAWSTests", ["MirrorAWS", "MirrorHTTP", "MirrorStore", "MirrorPlatform", "TestSupport"]),
    tests("MirrorFUSETests", ["MirrorFUSE", "MirrorCore", "MirrorPlatform", "TestSupport"]),
    tests(
      "MirrorDaemonTests", ["MirrorDaemon", "MirrorCore", "MirrorStore", "MirrorPlatform", "TestSupport"]),
    tests("MountTests", ["MirrorStore", "MirrorPlatform", "TestSupport"]),
  ],
  swiftLanguageModes: [.v6]
)
