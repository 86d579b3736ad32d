// A configuration file to begin from: every key there is, commented out, made of the table of options.

public enum ConfigurationSample {
  public static var text: String {
    var text = """
      # s3mirror.conf(5): mounts of s3mirror, and what holds for them.
      # 's3mirror config check' finds mistakes, 's3mirror config show NAME' tells what holds,
      # 's3mirror mount NAME' mounts, and 'systemctl enable --now s3mirror@NAME' does at boot.
      # Credentials are those of every AWS tool; they are not kept here.

      # What holds for all mounts. A key in the section of a mount goes before it.
      [general]

      """
    for option in MountOption.all where option.name != "config" && option.name != "foreground" {
      text += "\n" + comment(option.help) + "\n"
      text += (examples[option.name] ?? [option.placeholder ?? "yes"]).map { "#\(option.name) = \($0)\n" }.joined()
    }
    text += """

      # One mount: what, where, and every key from above.
      #[mount "content"]
      #source = my-bucket/some/prefix
      #mountpoint = /srv/content
      #freshness = 15m

      """
    return text
  }

  private static let examples: [String: [String]] = [
    "endpoint-url": ["http://localhost:8333"], "region": ["eu-central-1"], "profile": ["reader"],
    "expected-owner": ["111122223333"], "sse-c-keys": ["/etc/s3mirror.keys"], "ca-bundle": ["/etc/ssl/own-ca.pem"],
    "at": ["2024-01-31"], "client-cert": ["/etc/ssl/client.pem"], "client-key": ["/etc/ssl/client.key"],
    "part-size": ["8MiB"],
    "max-connections": ["16"], "cache-dir": ["/var/cache/s3mirror"], "cache-size": ["10GiB"], "min-free": ["5GiB"],
    "data-path": ["cached"], "freshness": ["*.json=always", "archive/**=forever", "60s"],
    "negative-freshness": ["5s"], "stale-if-error": ["7d"], "stale-while-revalidate": ["30s"],
    "events": ["sqs://eu-central-1/111122223333/content-changes"],
    "price": ["egress=0.09/GB"], "budget": ["5USD/month", "2000req/hour"], "quiet-for": ["updatedb,tracker-miner-f"],
    "uid": ["1000"], "gid": ["1000"], "file-mode": ["0444"], "dir-mode": ["0555"], "log-level": ["notice"],
    "log-file": ["/var/log/s3mirror.log"], "metrics": ["9464"], "seed": ["/usr/share/s3mirror/seed"],
  ]

  /// Wrapped at 90 columns.
  private static func comment(_ text: String) -> String {
    var lines = ["#"]
    for word in text.split(separator: " ") {
      if lines[lines.count - 1].count + word.count > 90 { lines.append("#") }
      lines[lines.count - 1] += " " + word
    }
    return lines.joined(separator: "\n")
  }
}
