// What the kernel may ask of a mounted tree, in words of our own: the seam between FUSE and the core.
public import MirrorPlatform

/// The kernel's name for an inode: one directory for ever, or one revision of one object. The root is 1.
public struct NodeID: RawRepresentable, Hashable, Sendable {
  public let rawValue: UInt64
  public init(rawValue: UInt64) { self.rawValue = rawValue }
  public static let root = NodeID(rawValue: 1)
}

/// What stat(2) shows of a node; none of it changes while the node lives, except times, and what metadata say of a file.
public struct NodeAttributes: Sendable {
  public let node: NodeID
  /// `st_ino`: stable over remounts (a hash of key and ETag).
  public let inode: UInt64
  public let isDirectory: Bool
  public let size: Int64
  /// ctime, and mtime where `told` has none; seconds since 1970.
  public let modified: Int64
  /// A symbolic link.
  public let isLink: Bool
  /// What the object's metadata say of the file, where they are heeded.
  public let told: Told?

  /// As far as the tool that wrote the object says so.
  public struct Told: Sendable {
    public var permissions: UInt32?
    public var owner: UInt32?
    public var group: UInt32?
    /// mtime, seconds since 1970.
    public var modified: Int64?
    public var nanoseconds: Int32 = 0
    public init() {}
  }

  public init(
    node: NodeID, inode: UInt64, isDirectory: Bool, size: Int64, modified: Int64, isLink: Bool = false,
    told: Told? = nil
  ) {
    self.isLink = isLink
    self.told = told
    self.node = node
    self.inode = inode
    self.isDirectory = isDirectory
    self.size = size
    self.modified = modified
  }
}

/// A name that exists, and how long the kernel may use the answer without asking again.
public struct NodeEntry: Sendable {
  public let attributes: NodeAttributes
  /// What remains of the freshness lifetime, capped.
  public let entryTimeout: Duration
  public let attributeTimeout: Duration

  public init(attributes: NodeAttributes, entryTimeout: Duration, attributeTimeout: Duration) {
    self.attributes = attributes
    self.entryTimeout = entryTimeout
    self.attributeTimeout = attributeTimeout
  }
}

public enum LookupAnswer: Sendable {
  case found(NodeEntry)
  /// ENOENT, which the kernel may remember for so long (zero: not at all).
  case absent(timeout: Duration)
  case failed(Errno)
}

public enum ReadAnswer: Sendable {
  /// The bytes lie in this file, `[offset, offset + count)`; a count of 0 is the end of the file.
  case extent(File, offset: Int64, count: Int)
  case bytes([UInt8])
  case failed(Errno)
}

/// A directory opened for reading.
public struct OpenedDirectory: Sendable {
  public let handle: UInt64
  /// Nothing has changed since the last opener was shown it, and the kernel knows each of its files: it may show what
  /// it remembers.
  public let isAsShown: Bool

  public init(handle: UInt64, isAsShown: Bool) {
    self.handle = handle
    self.isAsShown = isAsShown
  }
}

public enum OpenAnswer: Sendable {
  /// Every byte is in this file, and proven; all stays as it is for as long as `lease` is held.
  case whole(File, lease: any AnyObject & Sendable)
  /// Not all is here, or there is none: bytes are had by `read`.
  case byReading
  case failed(Errno)
}

/// What READDIR tells of a name: no attributes.
public struct PlainEntry: Sendable {
  public enum Kind: Sendable { case file, directory, link }
  public let inode: UInt64
  public let kind: Kind
  public init(inode: UInt64, kind: Kind) {
    self.inode = inode
    self.kind = kind
  }
}

/// Collects the names of one READDIR or READDIRPLUS answer. Called with the namespace locked: it must only copy.
public protocol DirectoryCollector: AnyObject, Sendable {
  /// Adds a name; `offset` is where a later read goes on after it. False when the answer is full: not added.
  func add(name: ArraySlice<UInt8>, entry: NodeEntry, offset: UInt64) -> Bool
  /// The same for READDIR.
  func add(name: Span<UInt8>, plain entry: PlainEntry, offset: UInt64) -> Bool
  /// The answer is complete (possibly empty: the end), or the read failed; called once, with nothing locked.
  /// Returns false if the answer did not reach the kernel: then none of its look-ups count.
  func finish(_ error: Errno?) -> Bool
}

/// A tree that a kernel session serves. No call blocks: each answers in place when memory or one `pread` suffices,
/// else later, once, from another thread.
public protocol FileTree: AnyObject, Sendable {
  /// LOOKUP. `reply` returns false if the answer did not reach the kernel: then the look-up does not count.
  func lookUp(_ name: [UInt8], in parent: NodeID, reply: @escaping @Sendable (LookupAnswer) -> Bool)
  /// GETATTR, from memory. Nil for a node that the tree does not know: ESTALE.
  func attributes(of node: NodeID) -> (NodeAttributes, timeout: Duration)?
  /// The directory that holds a directory, for the inode number of `..`, from memory. Nil: unknown, or the root.
  func parent(of directory: NodeID) -> NodeID?
  /// Whether a name is a file's, from memory: kernels before 6.2 cannot expire names, and there a file's is invalidated
  /// instead. A directory's never is.
  func isFile(_ name: [UInt8], in parent: NodeID) -> Bool
  /// FORGET: the kernel gives back `count` look-ups.
  func forget(_ node: NodeID, count: UInt64)

  /// OPENDIR: a handle, or the errno; brings the listing up to date where it is stale.
  func openDirectory(_ node: NodeID, reply: @escaping @Sendable (Result<OpenedDirectory, Errno>) -> Void)
  /// READDIR (`plus` false: look-ups are not counted) and READDIRPLUS, from `offset` (0: the beginning).
  func readDirectory(
    _ node: NodeID, handle: UInt64, offset: UInt64, plus: Bool, into collector: any DirectoryCollector)
  /// RELEASEDIR.
  func closeDirectory(_ node: NodeID, handle: UInt64)

  /// OPEN, for kernels that can read files by themselves: the whole content where it is here, or small enough to be
  /// fetched first. Nobody need ask before `read`.
  func open(_ node: NodeID, reply: @escaping @Sendable (OpenAnswer) -> Void)
  /// READ of `[offset, offset + count)`, cut at the end of the file.
  func read(_ node: NodeID, offset: Int64, count: Int, reply: @escaping @Sendable (ReadAnswer) -> Void)

  /// READLINK: EINVAL for what is no symbolic link.
  func readLink(_ node: NodeID, reply: @escaping @Sendable (Result<[UInt8], Errno>) -> Void)
  /// GETXATTR: EOPNOTSUPP for every name outside `user.s3`, ENODATA for one of ours that has no value here.
  func extendedAttribute(_ name: String, of node: NodeID) -> Result<[UInt8], Errno>
  /// LISTXATTR.
  func extendedAttributeNames(of node: NodeID) -> [String]
}

extension FileTree {
  public func parent(of directory: NodeID) -> NodeID? { nil }
  public func isFile(_ name: [UInt8], in parent: NodeID) -> Bool { false }
  public func open(_ node: NodeID, reply: @escaping @Sendable (OpenAnswer) -> Void) { reply(.byReading) }
  public func readLink(_ node: NodeID, reply: @escaping @Sendable (Result<[UInt8], Errno>) -> Void) {
    reply(.failure(.invalid))
  }
}

/// What the tree may tell the kernel. Calls return at once; they are carried out in order by a thread of their own.
public protocol KernelNotices: Sendable {
  /// The name must be asked for again at its next use; inode, pages and mounts on top stay
  /// (FUSE_NOTIFY_INVAL_ENTRY with FUSE_EXPIRE_ONLY).
  func expire(_ name: [UInt8], in parent: NodeID)
  /// The name is gone or no longer absent, or its unused inode should be forgotten. Never for a directory.
  func invalidate(_ name: [UInt8], in parent: NodeID)
  /// Bytes that were shown of this file turned out damaged: none of its pages may be used again
  /// (FUSE_NOTIFY_INVAL_INODE).
  func forgetContent(of node: NodeID)
}
