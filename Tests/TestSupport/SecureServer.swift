// A TLS server on loopback with an authority of its own, in front of a scripted server.
import MirrorPlatform
import Synchronization

/// Ends TLS (Python's ssl module) and passes the bytes on; it ends with its last reference.
public final class SecureServer: Sendable {
  public static var isAvailable: Bool { findProgram("openssl") != nil && findProgram("python3") != nil }

  public let port: UInt16
  /// PEM files: the authority, and a client's certificate and key that it signed.
  public let authority: String
  public let clientCertificate: String
  public let clientKey: String
  private let process: ServerProcess
  private let directory: TemporaryDirectory

  /// In front of a loopback port. With `asksForCertificate` only clients of the authority get in.
  public init(to server: UInt16, asksForCertificate: Bool = false) throws {
    directory = try TemporaryDirectory("tls")
    authority = directory.file("ca.pem")
    clientCertificate = directory.file("client.pem")
    clientKey = directory.file("client.key")
    try Self.makeCertificates(directory)
    let script = """
      import socket, ssl, sys, threading
      folder, port, asks = sys.argv[1], int(sys.argv[2]), sys.argv[3] == 'yes'
      context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
      context.load_cert_chain(folder + '/server.pem', folder + '/server.key')
      if asks:
          context.load_verify_locations(folder + '/ca.pem')
          context.verify_mode = ssl.CERT_REQUIRED
      def copy(a, b):
          try:
              while data := a.recv(65536): b.sendall(data)
          except OSError: pass
          finally:
              for s in (a, b):
                  try: s.shutdown(socket.SHUT_RDWR)
                  except OSError: pass
      def serve(raw):
          try:
              with context.wrap_socket(raw, server_side=True) as a, socket.create_connection(('127.0.0.1', port)) as b:
                  with open(folder + '/handshakes', 'a') as out: out.write('resumed ' if a.session_reused else 'new ')
                  thread = threading.Thread(target=copy, args=(b, a), daemon=True)
                  thread.start()
                  copy(a, b)
                  thread.join()
          except OSError: pass
      listener = socket.create_server(('127.0.0.1', 0))
      with open(folder + '/port.new', 'w') as out: out.write(str(listener.getsockname()[1]))
      import os
      os.rename(folder + '/port.new', folder + '/port')
      while True: threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
      """
    process = try ServerProcess(
      ["python3", "-c", script, directory.path, "\(server)", asksForCertificate ? "yes" : "no"], environment: [:],
      log: directory.file("log"))
    var port: UInt16?
    let end = ContinuousClock.now + .seconds(20)
    while port == nil, ContinuousClock.now < end, process.isRunning {
      port = (try? FileSystem.read(directory.file("port"))).flatMap { UInt16(String(decoding: $0, as: UTF8.self)) }
      pause(.milliseconds(5))
    }
    guard let port else { throw SystemFailure(message: "the TLS server does not start") }
    self.port = port
  }
  deinit { process.stop() }

  /// Handshakes so far that took up an earlier session, and those that began one.
  public var handshakes: (resumed: Int, new: Int) {
    let words = (try? FileSystem.read(directory.file("handshakes"))).map { String(decoding: $0, as: UTF8.self) } ?? ""
    let each = words.split(separator: " ")
    return (each.count { $0 == "resumed" }, each.count { $0 == "new" })
  }

  public var endpoint: String { "https://localhost:\(port)" }

  private static func makeCertificates(_ directory: TemporaryDirectory) throws {
    let script = """
      set -e
      cd "$0"
      new="openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -batch"
      $new -x509 -days 2 -subj /CN=authority -keyout ca.key -out ca.pem
      for name in server client; do
        $new -subj /CN=$name -keyout $name.key -out $name.csr
        printf 'subjectAltName=DNS:localhost,IP:127.0.0.1' > ext
        openssl x509 -req -in $name.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile ext -out $name.pem
      done
      """
    let result = try runBlocking(["bash", "-c", script, directory.path])
    guard result.succeeded else { throw SystemFailure(message: "certificates: \(result)") }
  }
}
