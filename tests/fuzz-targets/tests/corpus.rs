//! Replays the inputs in fuzz/corpus, among them all that were findings, and the seeds.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use fuzz_targets::{TARGETS, Target, find};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files in a directory; none if there is no directory.
fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.is_file()).collect();
    files.sort();
    files
}

fn replay(target: &Target) {
    let own = root().join("fuzz/corpus").join(target.name);
    let seeds = target.seeds.iter().map(|seed| root().join(seed));
    let inputs: Vec<PathBuf> = seeds.chain([own]).flat_map(|dir| files(&dir)).collect();
    assert!(!inputs.is_empty(), "{} has no input: add one to fuzz/corpus", target.name);
    for input in inputs {
        // The last line before a panic names the input.
        println!("{}: {}", target.name, input.display());
        (target.run)(&fs::read(&input).unwrap());
    }
}

#[test]
fn every_kept_input_is_still_read_or_refused() {
    TARGETS.iter().for_each(replay);
}

#[test]
fn every_directory_of_the_corpus_is_of_a_target() {
    for entry in fs::read_dir(root().join("fuzz/corpus")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(find(&name).is_some(), "fuzz/corpus/{name} is of no target");
    }
}
