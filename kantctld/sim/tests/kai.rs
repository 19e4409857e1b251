//! Every case of tests/kai has the outcome in the list next to it. The test fails when a case that
//! passed fails, and when a case passes that is listed as failing.
#![allow(clippy::unwrap_used)] // a test fails by panicking

use sim::cases::{Verdict, run};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/kai")
}

/// One line per case that does not pass, and the number of those that do, by file.
fn listed() -> String {
    let mut files: Vec<_> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    files.sort();
    let mut text = String::new();
    let (mut pass, mut all) = (0, 0);
    for file in files {
        for judged in run(&std::fs::read_to_string(&file).unwrap()).unwrap() {
            all += 1;
            match judged.verdict {
                Verdict::Pass => pass += 1,
                Verdict::Fail(why) => writeln!(text, "fail {}: {why}", judged.id).unwrap(),
                Verdict::Unsupported(why) => {
                    writeln!(text, "unsupported {}: {why}", judged.id).unwrap();
                }
            }
        }
    }
    writeln!(text, "{pass} of {all} pass").unwrap();
    text
}

#[test]
fn every_case_comes_out_as_it_is_listed() {
    let golden = folder().join("outcomes.txt");
    let listed = listed();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&golden, &listed).unwrap();
    }
    let expected = std::fs::read_to_string(&golden).unwrap_or_default();
    assert_eq!(listed, expected, "UPDATE_GOLDEN=1 writes the list again");
}
