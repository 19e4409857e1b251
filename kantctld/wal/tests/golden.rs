//! The log's files compared with files in `golden/`: `current/` is what this release writes, byte
//! for byte; `previous/` is what it must read. UPDATE_GOLDEN rewrites `current/`; golden/README.md
//! says when `previous/` changes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use wal::{Entry, Error, HardState, Index, Options, RealDisk, Recovered, Snapshot, Term, Wal};

const OPTIONS: Options = Options { segment_bytes: 4096, salt: 0x5a17, memory_bytes: 200 };

fn golden(set: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(set)
}

fn open(path: &Path) -> wal::Result<(Wal<RealDisk>, Recovered)> {
    Wal::open(RealDisk::open(path).expect("the directory opens"), OPTIONS)
}

fn entry(index: u64, term: u64, payload: &[u8]) -> Entry {
    Entry { index: Index(index), term: Term(term), payload: payload.to_vec() }
}

fn hard(commit: u64) -> HardState {
    HardState { commit: Index(commit), payload: b"term 2, vote 3".to_vec() }
}

fn snapshot() -> Snapshot {
    Snapshot { index: Index(3), term: Term(1), payload: b"the state at entry 3".to_vec() }
}

/// Every kind of item: entries, an entry that replaces another, a hard state, a snapshot, a
/// compaction, the mark of a clean stop.
fn write(path: &Path) -> wal::Result<()> {
    let (mut wal, _) = open(path)?;
    let first = Snapshot { index: Index(1), term: Term(1), payload: b"nothing yet".to_vec() };
    wal.install_snapshot(&first)?;
    wal.append(vec![entry(2, 1, b"two"), entry(3, 1, b"three"), entry(4, 1, b"lost")], None)?;
    wal.sync()?;
    wal.append(vec![entry(4, 2, b"four"), entry(5, 2, b"")], Some(hard(4)))?;
    wal.sync()?;
    wal.save_snapshot(&snapshot())?;
    wal.compact(Index(3))?;
    wal.close()
}

/// The files of a directory that have content.
fn files(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let all = fs::read_dir(path).expect("the directory lists");
    let named = all.map(|file| file.expect("it lists").file_name().into_string().expect("ascii"));
    let kept = named.filter(|name| name.starts_with("log-") || name.starts_with("snapshot-"));
    kept.map(|name| (name.clone(), fs::read(path.join(name)).expect("it reads"))).collect()
}

/// Opens a copy, because opening writes.
fn check_reads(set: &str) {
    let home = tempfile::tempdir().expect("a temporary directory");
    let found = files(&golden(set));
    assert!(found.len() >= 2, "a segment and a snapshot");
    for (name, bytes) in &found {
        fs::write(home.path().join(name), bytes).expect("it is copied");
    }
    let (wal, recovered) = open(home.path()).expect("the log opens");
    assert_eq!(recovered.snapshot, Some(snapshot()));
    assert_eq!(recovered.hard_state, Some(hard(4)));
    assert_eq!((recovered.torn, recovered.damaged_snapshot), (None, None));
    assert_eq!((recovered.first_index, recovered.last_index), (Index(4), Index(5)));
    let entries = wal.entries(Index(4), Index(6), u64::MAX).expect("they are there");
    let entries: Vec<Entry> = entries.into_iter().map(Cow::into_owned).collect();
    assert_eq!(entries, [entry(4, 2, b"four"), entry(5, 2, b"")]);
}

#[test]
fn the_written_files_match_the_golden_ones() {
    let home = tempfile::tempdir().expect("a temporary directory");
    write(home.path()).expect("the log is written");
    let (written, kept) = (files(home.path()), golden("current"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        for (name, bytes) in &written {
            fs::write(kept.join(name), bytes).expect("it is written");
        }
    }
    let says = "the format of the log changed: it needs a new number, see golden/README.md";
    assert!(written == files(&kept), "{says}");
}

#[test]
fn the_files_of_this_format_are_read() {
    check_reads("current");
}

#[test]
fn the_files_of_the_previous_format_are_read() {
    check_reads("previous");
}

/// Segments and snapshots have it at byte 8, and the checksum of the head at 12.
fn with_format(name: &str, format: u32) -> tempfile::TempDir {
    let home = tempfile::tempdir().expect("a temporary directory");
    for (known, mut bytes) in files(&golden("current")) {
        if known.starts_with(name) {
            bytes[8..12].copy_from_slice(&format.to_le_bytes());
            let crc = crc32fast::hash(&[&bytes[..12], &bytes[16..48]].concat());
            bytes[12..16].copy_from_slice(&crc.to_le_bytes());
        }
        fs::write(home.path().join(known), bytes).expect("it is copied");
    }
    home
}

#[test]
fn a_file_of_an_unknown_format_is_refused_with_its_name_and_not_changed() {
    for name in ["log-", "snapshot-"] {
        let home = with_format(name, 9);
        let before = files(home.path());
        let error = open(home.path()).err().expect("it is refused");
        assert!(matches!(error, Error::UnknownVersion { found: 9, .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains(name) && text.contains('9'), "{text}");
        assert_eq!(files(home.path()), before);
    }
}

#[test]
fn the_previous_format_is_at_most_one_version_behind() {
    let format = |set| {
        let first = files(&golden(set)).into_values().next().expect("a file");
        u32::from_le_bytes(first[8..12].try_into().expect("four bytes"))
    };
    let (current, previous) = (format("current"), format("previous"));
    assert!(previous == current || previous + 1 == current, "{previous}, then {current}");
}
