//! Tests of the files that a controller writes by itself.
#![allow(clippy::unwrap_used)] // a test fails by panicking

use super::*;
use common::id::{ClusterId, ControllerId, LogIndex};
use state::{Command, Stamped};

const NOW: Time = Time(1_800_000_000_000);
const DAY: Span = Span::from_seconds(86_400);

fn plan(dir: &Path) -> BackupPlan {
    let (dir, prefix) = (dir.join("backups"), "backup-00000000000cafe0-1-".to_owned());
    let plan = BackupPlan { dir, prefix, every: DAY, kept: 3, reserve_bytes: 0 };
    plan.check_dir().unwrap();
    plan
}

fn head() -> Head {
    Head {
        cluster: ClusterId(0xcafe),
        name: "alpha".to_owned(),
        last_controller: ControllerId(3),
        controllers: Vec::new(),
        applied: LogIndex(99),
        at: NOW,
        release: "0.1.0".to_owned(),
    }
}

/// A state that changed last at this time.
fn state(at: Time) -> State {
    let mut state = State::default();
    let node = "g1".parse().unwrap();
    state::apply(&mut state, &Stamped { at, command: Command::NodeSilent { name: node } });
    assert_eq!(state.now(), at);
    state
}

fn names(plan: &BackupPlan) -> Vec<String> {
    let entries = fs::read_dir(&plan.dir).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn the_oldest_own_backups_are_removed_and_other_files_are_not() {
    let dir = tempfile::tempdir().unwrap();
    let plan = plan(dir.path());
    let other = BackupPlan { prefix: "backup-00000000000cafe0-2-".to_owned(), ..plan.clone() };
    other.write(&head(), &state(NOW), NOW).unwrap();
    fs::write(plan.dir.join("before-the-upgrade"), "by an operator").unwrap();
    for day in 0..5 {
        let at = NOW + Span(DAY.0 * day);
        plan.write(&head(), &state(at), at).unwrap();
    }
    let expected = [
        "backup-00000000000cafe0-1-2027-01-17T080000Z",
        "backup-00000000000cafe0-1-2027-01-18T080000Z",
        "backup-00000000000cafe0-1-2027-01-19T080000Z",
        "backup-00000000000cafe0-2-2027-01-15T080000Z",
        "before-the-upgrade",
    ];
    assert_eq!(names(&plan), expected);
    let bytes = fs::read(plan.dir.join(expected[2])).unwrap();
    assert_eq!(backup::from_bytes(&bytes).unwrap().0, head());
}

#[test]
fn backups_from_the_future_are_removed_first() {
    let dir = tempfile::tempdir().unwrap();
    let plan = plan(dir.path());
    let year = Span(DAY.0 * 365);
    for at in [NOW + year, NOW + year + DAY, NOW, NOW + DAY] {
        plan.write(&head(), &state(at), at).unwrap();
    }
    let now = NOW + Span(DAY.0 * 2);
    plan.write(&head(), &state(now), now).unwrap();
    let days = ["2027-01-15", "2027-01-16", "2027-01-17"];
    let expected = days.map(|day| format!("{}{day}T080000Z", plan.prefix));
    assert_eq!(names(&plan), expected);
}

#[test]
fn a_backup_is_due_when_the_newest_one_is_old_enough_and_something_has_changed() {
    let dir = tempfile::tempdir().unwrap();
    let plan = plan(dir.path());
    let is_due = |changed, now| plan.is_due(&plan.list().unwrap(), changed, now);
    assert!(is_due(NOW, NOW), "there is none");
    plan.write(&head(), &state(NOW), NOW).unwrap();
    assert!(!is_due(NOW + DAY, NOW + Span(DAY.0 - 1)));
    assert!(is_due(NOW + DAY, NOW + DAY));
    assert!(!is_due(NOW, NOW + DAY), "the state is in the backup");
    let before = NOW - Span(1000);
    assert!(is_due(before, before), "one from the future does not count");
}

#[test]
fn a_backup_of_a_controller_that_lags_behind_is_named_by_its_state() {
    let dir = tempfile::tempdir().unwrap();
    let plan = plan(dir.path());
    let path = plan.write(&head(), &state(NOW), NOW + Span(DAY.0 * 3)).unwrap();
    assert!(path.display().to_string().ends_with("2027-01-15T080000Z"), "{path:?}");
}

#[test]
fn a_directory_that_cannot_be_used_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let plan = plan(dir.path());
    fs::remove_dir(&plan.dir).unwrap();
    fs::write(&plan.dir, "a file").unwrap();
    for error in [plan.check_dir(), plan.write(&head(), &state(NOW), NOW).map(drop)] {
        let error = error.unwrap_err();
        assert!(error.to_string().contains("/backups"), "{error}");
    }
}

#[test]
fn a_backup_leaves_room_for_the_log_and_no_unfinished_file() {
    let dir = tempfile::tempdir().unwrap();
    let plan = BackupPlan { reserve_bytes: u64::MAX, ..plan(dir.path()) };
    fs::write(plan.unfinished_path(), "of a power cut").unwrap();
    let error = plan.write(&head(), &state(NOW), NOW).unwrap_err();
    assert!(error.to_string().contains("set `backup_dir`"), "{error}");
    assert_eq!(names(&plan), Vec::<String>::new());
}
