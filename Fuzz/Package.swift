// swift-tools-version: 6.2
import PackageDescription

// The layers of the product as they are (links to ../Sources), each with the targets that fuzz it beside them in the
// same module: so they reach what is internal, and the product need not show it. `scripts/fuzz` builds and runs this.
let coverage = ["-sanitize=fuzzer,address", "-enforce-exclusivity=checked", "-gline-tables-only"]

func layer(_ name: String, _ dependencies: [Target.Dependency], flags: [String] = coverage) -> Target {
  .target(
    name: name, dependencies: dependencies + ["CFuzzer"], path: "Modules/\(name)",
    swiftSettings: [
      .unsafeFlags(flags), .enableUpcomingFeature("InternalImportsByDefault"),
      .enableUpcomingFeature("MemberImportVisibility"), .enableUpcomingFeature("ExistentialAny"),
    ])
}

func library(_ name: String, links: [String], flags: [String] = []) -> Target {
  .target(
    name: name, path: "Modules/\(name)",
    cSettings: [
      .unsafeFlags(["-fsanitize=fuzzer-no-link,address,undefined", "-fno-sanitize-recover=undefined"] + flags)
    ],
    linkerSettings: links.map { .linkedLibrary($0) })
}

/// The targets of one layer: linked with no more than it, for libFuzzer looks through all edges after each input.
func program(_ layer: String) -> Target {
  .executableTarget(
    name: "Fuzz\(layer)", dependencies: [.target(name: "Mirror\(layer)"), "MirrorPlatform"], path: "Modules/Fuzz\(layer)",
    swiftSettings: [.unsafeFlags(coverage)],
    linkerSettings: [.unsafeFlags(["-sanitize=fuzzer,address", "-use-ld=lld"])])
}

let package = Package(
  name: "fuzz",
  targets: [
    library("CFuzzer", links: []),
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
    // Nothing of it is fuzzed: it is there for the daemon's sake.
    layer("MirrorFUSE", ["MirrorCore", "MirrorStore", "MirrorPlatform", "CFUSE"], flags: ["-sanitize=address"]),
    layer(
      "MirrorDaemon",
      ["MirrorFUSE", "MirrorAWS", "MirrorHTTP", "MirrorCore", "MirrorCache", "MirrorStore", "MirrorPlatform"]),
    program("Store"),
    program("Cache"),
    program("Core"),
    program("AWS"),
    program("Daemon"),
  ],
  swiftLanguageModes: [.v6]
)
