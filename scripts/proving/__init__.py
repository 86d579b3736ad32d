"""What the long proofs share: a bucket whose every version is known, a server for it, mounts, and readers that check."""
