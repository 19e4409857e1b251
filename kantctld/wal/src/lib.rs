//! the write-ahead log: segments, hard state and snapshots on disk, checksummed and fsynced
