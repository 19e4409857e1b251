//! Replay of the saved snapshots in tests/snapshots: each gives the round saved with it, and the
//! judge finds no fault.
//!
//! After an intended change of policy, `KANT_BLESS=1 cargo test -p engine --test replay` writes the
//! new rounds; read the difference before you commit it.

use common::time::Time;
use engine::check::check;
use engine::{Round, Snapshot, schedule};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The content of a file.
#[derive(Serialize, Deserialize)]
struct Saved {
    /// What this is, and what to look for.
    about: String,
    /// The time of the round.
    now: Time,
    snapshot: Snapshot,
    /// The expected round.
    round: Round,
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/snapshots");
    let entries = std::fs::read_dir(&folder).expect("tests/snapshots is part of the repository");
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("tests/snapshots can be listed").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    files.sort();
    files
}

#[test]
fn saved_snapshots_give_the_rounds_saved_with_them() {
    let files = files();
    assert!(files.len() >= 5, "the saved snapshots are missing");
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let mut saved: Saved =
            serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let round = schedule(&saved.snapshot, saved.now);
        assert_eq!(check(&saved.snapshot, saved.now, &round), [], "{}", path.display());
        if std::env::var_os("KANT_BLESS").is_some() {
            saved.round = round;
            std::fs::write(&path, layout(&serde_json::to_value(&saved).unwrap(), 0) + "\n")
                .unwrap();
        } else {
            assert_eq!(round, saved.round, "{}: see the head of this file", path.display());
        }
    }
}

/// JSON with one line for each node, job and decision, so that differences are readable.
fn layout(value: &Value, depth: usize) -> String {
    let indent = "  ".repeat(depth + 1);
    let lines: Vec<String> = match value {
        Value::Object(fields) if depth < 2 || fields.contains_key("queues") => fields
            .iter()
            .map(|(name, value)| format!("{indent}\"{name}\": {}", layout(value, depth + 1)))
            .collect(),
        Value::Array(items) if (2..4).contains(&depth) && !items.is_empty() => {
            items.iter().map(|item| format!("{indent}{item}")).collect()
        }
        _ => return value.to_string(),
    };
    let (open, close) = if value.is_array() { ('[', ']') } else { ('{', '}') };
    format!("{open}\n{}\n{}{close}", lines.join(",\n"), "  ".repeat(depth))
}
