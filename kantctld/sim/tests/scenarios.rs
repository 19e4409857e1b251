//! Plays every scenario of tests/scenarios and tests/scenarios/explain, and compares the output
//! with the file. `UPDATE_GOLDEN=1 cargo test -p sim` rewrites the files.
#![allow(clippy::unwrap_used)] // a test fails by panicking

use std::path::{Path, PathBuf};

fn scenarios() -> Vec<PathBuf> {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/scenarios");
    let folders = [all.join("explain"), all];
    let entries = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let files = entries.map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|e| e == "txt")).collect();
    files.sort();
    files
}

#[test]
fn every_scenario_goes_as_written() {
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    let mut failures = Vec::new();
    for path in scenarios() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let written = std::fs::read_to_string(&path).unwrap();
        let played = match sim::play(&written) {
            Ok(played) => played,
            Err(error) => {
                failures.push(format!("{name}: {error}"));
                continue;
            }
        };
        assert_eq!(sim::play(&written).as_ref(), Ok(&played), "{name} differs from itself");
        if update {
            std::fs::write(&path, &played).unwrap();
        } else if let Some(difference) = first_difference(&written, &played) {
            failures.push(format!("{name}, {difference}"));
        }
    }
    assert!(failures.is_empty(), "{}\nUPDATE_GOLDEN=1 writes them anew", failures.join("\n"));
}

#[test]
fn there_are_scenarios() {
    assert!(scenarios().len() >= 6);
}

fn first_difference(written: &str, played: &str) -> Option<String> {
    let (mut a, mut b) = (written.lines(), played.lines());
    for number in 1.. {
        match (a.next(), b.next()) {
            (None, None) => return None,
            (a, b) if a == b => {}
            (a, b) => {
                let show = |line: Option<&str>| line.unwrap_or("(nothing)").to_owned();
                return Some(format!("line {number}:\n  - {}\n  + {}", show(a), show(b)));
            }
        }
    }
    None
}

#[test]
fn a_line_that_makes_no_sense_is_refused_with_its_number() {
    for (text, message) in [
        ("\nfly g1", "line 2: `fly` is nothing a scenario can do"),
        ("node g1 cpus=x", "line 1: cpus: invalid digit"),
        ("node g1 legs=4", "line 1: `legs=4` means nothing here"),
        ("cancel a", "line 1: no job was submitted as `a`"),
        ("wait 10s\nat 5s", "line 2: it is 00:10 already"),
    ] {
        let error = sim::play(text).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}");
    }
}
