//! Histories as tests: many seeds with all faults, and each seed that once showed a bug. No fault
//! is left out to make a seed pass.
#![allow(clippy::unwrap_used)] // a test fails by panicking

fn content(seeds: std::ops::Range<u64>, faults: &str) {
    let failed = storm::check_seeds(seeds, faults, None).unwrap();
    assert!(failed.is_empty(), "{failed:#?}\nsee `cargo xtask sim --help` for how to replay one");
}

#[test]
fn without_faults_every_judge_is_content() {
    content(0..40, "none");
}

#[test]
fn with_all_faults_every_judge_is_content() {
    content(0..500, "all");
}

/// In this seed, two of three voters once forgot in a power cut that one of them votes. They waited
/// for ever for the third voter, whose disk was damaged.
#[test]
fn a_change_of_members_outlives_a_power_cut() {
    content(5550..5551, "all");
}

#[test]
fn scenarios_written_by_hand_end_well() {
    let failed = storm::check_scenarios();
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn injected_bugs_are_caught() {
    caught("forget-keys", "same-key");
    caught("local-ids", "history");
    caught("ack-unapplied", "history");
    caught("believe-wall", "time");
}

#[test]
fn injected_bugs_of_services_are_caught() {
    caught("skip-drain", "drain");
    caught("count-old-probe", "endpoints");
    caught("list-draining", "endpoints");
    caught("start-all-at-once", "surge");
    caught("replace-early", "enough-ready");
    caught("scale-below-min", "enough-ready");
    caught("forget-reports", "enough-ready");
}

/// This judge complains first in at least one history.
fn caught(bug: &str, judge: &str) {
    let failed = storm::check_seeds(0..60, "all", Some(bug)).unwrap();
    let is_by_judge = |text: &String| text.contains(&format!(": {judge}: "));
    assert!(failed.iter().any(is_by_judge), "{judge} did not catch {bug}: {failed:#?}");
}
