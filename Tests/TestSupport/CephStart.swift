// Ceph's gateway over one store in memory: a monitor, a manager, an OSD and radosgw, all in one directory.
import MirrorPlatform

extension ServerStart {
  mutating func startCeph() throws {
    for name in ["run", "mon.a", "osd.0", "mgr.x", "rgw"] { try FileSystem.makeDirectory(directory.file(name)) }
    let (cluster, store) = (Self.identifier(), Self.identifier())
    let (first, second) = (innerPorts[0], innerPorts[1])
    try FileSystem.write(
      Array(configuration(cluster, first, second).utf8), to: directory.file("ceph.conf"), mode: 0o600)
    let settings = ["CEPH_CONF": directory.file("ceph.conf")]
    let keys = directory.file("keyring")

    try step(
      ["ceph-authtool", "--create-keyring", keys, "--gen-key", "-n", "mon.", "--cap", "mon", "allow *"], settings)
    for name in ["client.admin", "client.rgw", "osd.0", "mgr.x"] {
      try step(
        ["ceph-authtool", keys, "--gen-key", "-n", name, "--cap", "mon", "allow *", "--cap", "osd", "allow *"]
          + ["--cap", "mgr", "allow *"], settings)
    }
    let addresses = "[v2:127.0.0.1:\(first),v1:127.0.0.1:\(second)]"
    let map = directory.file("monmap")
    try step(["monmaptool", "--create", "--addv", "a", addresses, "--fsid", cluster, map], settings)
    try step(["ceph-mon", "-i", "a", "--mkfs", "--monmap", map, "--keyring", keys], settings)
    try launch(["ceph-mon", "-i", "a", "-f"], settings)
    try launch(["ceph-mgr", "-i", "x", "-f"], settings)
    try step(["ceph", "osd", "new", store], settings)
    try step(["ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", store], settings)
    try launch(["ceph-osd", "-i", "0", "-f"], settings)
    try launch([program, "-n", "client.rgw", "-f"], settings)
    try step(
      ["radosgw-admin", "-n", "client.rgw", "user", "create", "--uid=test", "--display-name=test"]
        + ["--access-key=\(RealServer.accessKey)", "--secret-key=\(RealServer.secretKey)"], settings)
  }

  private static func identifier() -> String {
    let digits = hexadecimal((0..<16).map { _ in UInt8.random(in: 0...255) })
    var text = ""
    for (index, digit) in digits.enumerated() {
      if [8, 12, 16, 20].contains(index) { text += "-" }
      text.append(digit)
    }
    return text
  }

  private func configuration(_ cluster: String, _ first: UInt16, _ second: UInt16) -> String {
    """
    [global]
    fsid = \(cluster)
    mon host = v2:127.0.0.1:\(first),v1:127.0.0.1:\(second)
    mon initial members = a
    public addr = 127.0.0.1
    auth cluster required = cephx
    auth service required = cephx
    auth client required = cephx
    auth allow insecure global id reclaim = false
    osd pool default size = 1
    osd pool default min size = 1
    osd pool default pg num = 8
    osd crush chooseleaf type = 0
    mon allow pool size one = true
    mon warn on pool no redundancy = false
    mon data avail crit = 1
    mon data avail warn = 2
    osd objectstore = memstore
    memstore device bytes = 4294967296
    keyring = \(directory.file("keyring"))
    run dir = \(directory.file("run"))
    log file = \(directory.path)/$name.log
    admin socket = \(directory.file("run"))/$name.$pid.asok
    pid file = \(directory.file("run"))/$name.pid
    osd data = \(directory.path)/osd.$id
    mon data = \(directory.path)/mon.$id
    mgr data = \(directory.path)/mgr.$id
    rgw data = \(directory.file("rgw"))
    rgw frontends = beast endpoint=127.0.0.1:\(port)

    """
  }
}
