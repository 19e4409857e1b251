//! What goes over the wire against files kept in `tests/golden/`: `current/` is what this release
//! sends, byte for byte; `previous/` is what it must still read. Never rewrites `previous/`:
//! golden/README.md says when that changes. UPDATE_GOLDEN writes `current/` anew.
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

/// How a kind of message is put into bytes.
struct Form<T> {
    write: fn(&T) -> Vec<u8>,
    read: fn(&[u8]) -> T,
}

impl<T: Serialize + DeserializeOwned> Form<T> {
    const PACKED: Self = Self {
        write: |value| rmp_serde::to_vec_named(value).unwrap(),
        read: |bytes| rmp_serde::from_slice(bytes).unwrap(),
    };
    /// For clients; spread over lines here, for who reads the file.
    const JSON: Self = Self {
        write: |value| serde_json::to_vec_pretty(value).unwrap(),
        read: |bytes| serde_json::from_slice(bytes).unwrap(),
    };
}

/// This is sent as the current file says, and both files are read as this.
fn check<T: PartialEq + Debug>(form: &Form<T>, name: &str, value: &T) {
    let current = path("current", name);
    let written = (form.write)(value);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&current, &written).unwrap();
    }
    let says = "what is sent has changed: see tests/golden/README.md";
    assert!(fs::read(&current).unwrap() == written, "{name}: {says}");
    assert_eq!((form.read)(&written), *value, "{name}");
    assert_eq!((form.read)(&fs::read(path("previous", name)).unwrap()), *value, "{name}, before");
}
