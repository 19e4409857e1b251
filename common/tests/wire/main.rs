//! Tests of the wire formats against golden files in `tests/golden/`: `current/` is what this
//! release sends, byte for byte; `previous/` is what it must still read. UPDATE_GOLDEN rewrites
//! `current/` only: golden/README.md says when `previous/` changes.
#![allow(clippy::unwrap_used)] // a test fails by panicking

mod api;
mod nodes;
mod peers;
mod signals;

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};

fn path(set: &str, name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(set).join(name)
}

/// The encoding of a kind of message.
struct Form<T> {
    write: fn(&T) -> Vec<u8>,
    read: fn(&[u8]) -> T,
}

impl<T: Serialize + DeserializeOwned> Form<T> {
    const PACKED: Self = Self {
        write: |value| rmp_serde::to_vec_named(value).unwrap(),
        read: |bytes| rmp_serde::from_slice(bytes).unwrap(),
    };
    /// For clients; with line breaks here, for readers of the file.
    const JSON: Self = Self {
        write: |value| serde_json::to_vec_pretty(value).unwrap(),
        read: |bytes| serde_json::from_slice(bytes).unwrap(),
    };
}

/// The value is encoded as in the current file, and both files decode to it.
fn check<T: PartialEq + Debug>(form: &Form<T>, name: &str, value: &T) {
    let current = path("current", name);
    let written = (form.write)(value);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&current, &written).unwrap();
    }
    let says = "the encoding has changed: see tests/golden/README.md";
    assert!(fs::read(&current).unwrap() == written, "{name}: {says}");
    assert_eq!((form.read)(&written), *value, "{name}");
    assert_eq!((form.read)(&fs::read(path("previous", name)).unwrap()), *value, "{name}, before");
}
