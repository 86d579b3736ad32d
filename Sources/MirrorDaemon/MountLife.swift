// The life of one mount, in order: check, open, ask, mount, serve, unmount, flush.
import MirrorCache
import MirrorCore
import MirrorFUSE
import MirrorPlatform
import MirrorStore
import Synchronization

/// One mount, from its settings to its end.
public final class MountLife: Sendable {
  /// Why it ends.
  private enum Ending: Sendable {
    case signal(Int32)
    case asked(String)
    case nobodyWaits
    /// Gone from the mount table: `unmount`, umount(8), fusermount3(1).
    case unmounted
    case failed(MountError)

    var text: String {
      switch self {
      case .signal(let signal): TerminationSignals.name(signal)
      case .asked(let reason): reason
      case .nobodyWaits: "the command that started it has gone"
      case .unmounted: "unmounted"
      case .failed(let error): "failed: \(error)"
      }
    }
  }

  private let settings: MountSettings
  /// Nil once it is given.
  private let report: Mutex<ReadinessReport?>
  private let ending = Promise<Ending>()
  /// What SIGHUP does while the mount lives; nil: it ends it.
  private let reload = Mutex<Reload?>(nil)
  /// As long as it is there, no signal may end the process.
  private let isMounted = Mutex(false)

  public init(_ settings: MountSettings, report: ReadinessReport) {
    self.settings = settings
    self.report = Mutex(report)
  }

  /// Returns when the mount is gone and its cache flushed. Call on the main thread, before any other thread exists.
  public func run() throws(CommandFailure) {
    // Programs that this one runs, and processes of the background, are none of the service manager's business.
    let expected = ServiceManager.expecting()
    let manager = settings.foreground ? expected : nil
    prepareProcess()
    do throws(CommandFailure) {
      try provideDescriptors()
      let place = try MountPlace(settings)
      let logPath = MountLog.path(settings, place)
      let log = try MountLog.open(logPath, settings, place)
      for warning in settings.warnings + place.warnings { log.warning(warning) }
      do throws(CommandFailure) {
        let metrics: MetricsServer? = if let address = settings.metrics { try MetricsServer(address) } else { nil }
        let assembly = try Assembly(settings, place, log: log)
        try begin(assembly, place, log)
        if hearsHangups { reload.withLock { $0 = Reload(settings, place, assembly, log) } }
        // Before it is ready: the next command may be `unmount`.
        let desk = ControlDesk(settings, place, assembly, log, metrics: metrics?.url) { [ending] in
          ending.set(.asked($0))
        }
        let control = listen(desk, place, log)
        if let metrics {
          metrics.start { await desk.metrics() }
          log.notice("metrics are served at \(metrics.url)")
        }
        try settle(logPath, log)
        assembly.keeper.start()
        assembly.events?.start()
        let service = manager.map { ServiceWatch($0, settings.source.written, place, assembly) }
        service?.start()
        serve(assembly, place, control, service, log)
      } catch {
        if logPath != nil { log.error("\(place.mountPoint): \(error.message)") }
        throw error
      }
    } catch {
      report.withLock { $0 }?.sayFailed(error)
      throw error
    }
  }

  /// With fewer it would not even hear that it is to end.
  private static let fewestDescriptors = 32

  private func provideDescriptors() throws(CommandFailure) {
    let limit = ThisProcess.raiseOpenFileLimit()
    guard limit < Self.fewestDescriptors else { return }
    throw CommandFailure(
      .failure,
      "only \(limit) files may be open at a time, a mount needs \(Self.fewestDescriptors) at least: raise the hard limit"
        + " ('ulimit -Hn', LimitNOFILE= of a service)")
  }

  private func prepareProcess() {
    TerminationSignals.block()
    ThisProcess.keepPrivilegesOfMounting()
    ThisProcess.boundHeaps()
    ThisProcess.forbidCoreDumps()
    ThisProcess.reportCrashes()
    startThread("signals") { [self] in
      while true {
        let signal = TerminationSignals.wait()
        if signal == TerminationSignals.hangUp, let reload = reload.withLock({ $0 }) {
          reload.run()
          continue
        }
        // The terminal may go away after its Ctrl-C.
        if signal == TerminationSignals.hangUp, ending.isSet { continue }
        if isMounted.withLock({ $0 }) {
          ending.set(.signal(signal))
        } else {
          report.withLock { $0 }?.sayFailed(
            CommandFailure(.failure, "interrupted by \(TerminationSignals.name(signal))"))
          ThisProcess.endAtOnce(ExitCode.failure.rawValue)
        }
      }
    }
  }

  /// A terminal that goes away takes a mount in its foreground with it.
  private var hearsHangups: Bool { !settings.foreground || !ThisProcess.isTerminal(errors: true) }

  /// Asks the origin, then mounts; returns when the kernel has taken our first answer.
  private func begin(_ assembly: Assembly, _ place: MountPlace, _ log: Log) throws(CommandFailure) {
    let mirror = assembly.mirror
    let source = settings.source.written
    let started = waitFor { () async -> Result<Bool, StoreError> in
      do throws(StoreError) { return .success(try await mirror.start()) } catch { return .failure(error) }
    }
    let online: Bool
    do throws(StoreError) { online = try started.get() } catch {
      assembly.close()
      throw CommandFailure(error, source: source)
    }
    isMounted.withLock { $0 = true }
    let ready = Promise<MountError?>()
    do throws(MountError) { try assembly.session.mount(at: place.mountPoint) } catch {
      assembly.close()
      throw CommandFailure(error)
    }
    startThread("fuse") { [ending] in
      var end = Ending.unmounted
      do throws(MountError) { try assembly.session.run { ready.set(nil) } } catch { end = .failed(error) }
      if case .failed(let error) = end { ready.set(error) }
      ready.set(MountError(.notMounted, path: place.mountPoint))
      ending.set(end)
    }
    if let failure = ready.wait() {
      assembly.close()
      throw CommandFailure(failure)
    }
    log.notice("mounted \(source) on \(place.mountPoint)\(online ? "" : ", offline")")
  }

  /// Lets go of what was the caller's: directory, terminal, and its patience.
  private func settle(_ logPath: String?, _ log: Log) throws(CommandFailure) {
    if settings.foreground { return }
    do throws(Errno) {
      try ThisProcess.enter("/")
      let errors: File? = if let logPath { try File.append(to: logPath) } else { nil }
      try ThisProcess.leaveStandardStreams(errors: errors)
    } catch { log.warning("can't leave the terminal: \(error)") }
    let report = report.withLock { report in
      defer { report = nil }
      return report
    }
    if report?.sayReady() == false { ending.set(.nobodyWaits) }
  }

  private func serve(
    _ assembly: Assembly, _ place: MountPlace, _ control: ControlServer?, _ service: ServiceWatch?, _ log: Log
  ) {
    let end = ending.wait()
    service?.stop()
    reload.withLock { $0 = nil }
    if case .failed = end {
      log.error("\(place.mountPoint): \(end.text)")
    } else {
      log.notice("\(place.mountPoint): the mount ends (\(end.text))")
    }
    // Readers may be waiting for an origin that does not answer; the end of the process frees them.
    startThread("deadline") {
      pause(.seconds(4))
      log.warning("\(place.mountPoint): not everything could be written in time")
      ThisProcess.endAtOnce(ExitCode.done.rawValue)
    }
    control?.stop()
    assembly.keeper.stop()
    assembly.events?.stop()
    do throws(MountError) { try assembly.session.unmount(lazy: true) } catch {
      if error.code != .notMounted { log.error("\(error)") }
    }
    isMounted.withLock { $0 = false }
    let mirror = assembly.mirror
    waitFor { await mirror.stop() }
    assembly.close()
  }

  /// A mount works without its socket, so a failure is no end.
  private func listen(_ desk: ControlDesk, _ place: MountPlace, _ log: Log) -> ControlServer? {
    do throws(CommandFailure) {
      let path = try RuntimeDirectory.socketPath(forMountAt: place.mountPoint)
      do throws(Errno) {
        try ControlServer.setAside(path)
        let server = try ControlServer(path: path, slow: { await desk.answer($0, tell: $1) })
        server.start()
        return server
      } catch { throw CommandFailure(.failure, "\(path): \(error)") }
    } catch {
      log.warning("no control socket, so status and refresh can't reach \(place.mountPoint): \(error.message)")
      return nil
    }
  }
}
