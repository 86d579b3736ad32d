// The life of one mount: create, mount, run until it is unmounted.
public import MirrorCore
public import MirrorPlatform
import Synchronization

/// A tree served to the kernel at a mount point, through libfuse's low-level API.
public final class KernelSession: Sendable {
  private let options: MountOptions
  private let log: Log
  private let service: KernelService
  private let channel: KernelChannel
  private let notifier: Notifier
  private struct Place {
    var path: String?
    var device: String?
  }
  private let place = Mutex(Place())

  /// Makes the session; nothing is mounted yet. From now on libfuse's messages of this process go to `log`. `quietTree`
  /// is the same tree, with the same nodes and handles, for the callers of `options.quietFor`.
  public init(
    tree: any FileTree, quietTree: (any FileTree)? = nil, options: MountOptions, log: Log
  ) throws(MountError) {
    self.options = options
    self.log = log
    do throws(Errno) {
      let pending = PendingRequests(watch: try InterruptWatch())
      service = KernelService(
        tree: tree, quiet: quietTree.flatMap { tree in QuietCallers(options.quietFor).map { (tree, $0) } },
        appearance: NodeAppearance(options), pending: pending,
        files: options.passthroughBeside.map { OpenFiles(beside: $0, log: log) })
      notifier = try Notifier(tree: tree, pending: pending, log: log)
    } catch { throw MountError(.refused, path: "", detail: error.description) }
    LibraryMessages.send(to: log)
    let service = service
    let (channel, said) = LibraryMessages.gathering { KernelChannel(options: options.text, service: service) }
    guard let channel else { throw MountError(.refused, path: "", detail: said) }
    self.channel = channel
    if let files = service.files { channel.offerPassthrough(depth: files.depth) }
  }

  /// What the tree tells the kernel; before the mount is ready notices wait, after its end they go nowhere.
  public var notices: any KernelNotices { notifier }

  /// The requests that wait for the tree right now.
  public var waitingRequests: Int { service.pending.count }

  /// How file content reaches programs, once the mount is ready.
  public var dataPath: DataPath { service.files?.path ?? .cached(because: nil) }

  /// Mounts. Requests are answered only by `run`, so until then the mount point must not be touched.
  public func mount(at path: String) throws(MountError) {
    let resolved = try MountPoint.prepare(path, allowOther: options.allowOther)
    let (mounted, said) = LibraryMessages.gathering { channel.mount(resolved) }
    guard mounted else { throw MountError(.refused, path: path, detail: said) }
    let device = (try? MountTable.top(at: resolved))??.device
    place.withLock { $0 = Place(path: resolved, device: device) }
  }

  /// Serves until the mount is gone, however that came about; blocks. `onReady` is called once, on a thread of
  /// libfuse, when the kernel has taken the answer to INIT: the mount then works. It must not touch the mount.
  public func run(onReady: @escaping @Sendable () -> Void) throws(MountError) {
    guard let path = place.withLock({ $0.path }) else { throw MountError(.notMounted, path: "") }
    let (options, log, notifier, channel, files) = (options, log, notifier, channel, service.files)
    service.onReady {
      files?.decide(channel.passthroughDevice())
      notifier.start(channel)
      ReadAhead.raise(to: options.readAhead, mountPoint: path, log: log)
      onReady()
    }
    service.pending.watch.start()
    let result = channel.run(threads: options.threads)
    end()
    if result < 0 { throw MountError(.refused, path: path, detail: "\(Errno(rawValue: -result))") }
  }

  /// After this nothing touches libfuse's session: late answers of the tree find their requests answered.
  private func end() {
    service.onReady {}
    service.pending.close()
    service.pending.watch.stop()
    service.files?.end()
    notifier.stop()
    // A connection that was aborted, not unmounted, would leave a dead mount behind.
    try? unmount(lazy: true)
    channel.close()
    place.withLock { $0 = Place() }
  }

  /// Ends the mount, and so `run`: at once, or when `lazy` as soon as the last program has let go of it; it is gone
  /// from sight either way. Throws `busy` when programs use it.
  public func unmount(lazy: Bool) throws(MountError) {
    let place = place.withLock { $0 }
    guard let path = place.path else { throw MountError(.notMounted, path: "") }
    // Where the table can't be read, for want of descriptors say, the attempt tells.
    if let records = try? MountTable.records() {
      guard let top = records.last(where: { $0.mountPoint == path }) else { throw MountError(.notMounted, path: path) }
      // Somebody's mount on top of ours is not ours to end.
      guard top.device == place.device else { throw MountError(.busy, path: path, detail: "\(top.type) on top of it") }
    }
    try Unmounting.unmount(path, lazy: lazy)
  }
}
