//! Log entries and backups compared with files in `golden/`: `current/` is what this release
//! writes, `previous/` what it must read. UPDATE_GOLDEN rewrites `current/`; golden/README.md says
//! when `previous/` changes.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use common::id::{
    ClusterId, ControllerId, Gid, JobId, JobKey, LogIndex, NodeName, RequestKey, Uid,
};
use common::job::{Ask, Owner};
use common::time::Time;
use kantctld::backup::{self, Head};
use kantctld::clock::SteadyClock;
use kantctld::raft::Machine;
use kantctld::state_machine::{Outlets, StateMachine};
use state::entry::unpack;
use state::{Actor, Command, Stamped, State, Target};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::{mpsc, watch};

fn golden(set: &str, name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(set).join(name)
}

fn check_written(name: &str, written: &[u8]) {
    let kept = golden("current", name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&kept, written).unwrap();
    }
    let says = "the format has changed: see tests/golden/README.md";
    assert!(std::fs::read(kept).unwrap() == written, "{name}: {says}");
}

fn commands() -> Vec<Command> {
    let actor = Actor::user(Uid(1000));
    let owner = Owner { uid: Uid(1000), gid: Gid(100), name: "ada".to_owned() };
    let name = NodeName::new("g1").unwrap();
    vec![
        Command::SubmitJob {
            request_key: RequestKey("k1".to_owned()),
            owner,
            groups: vec![Gid(100)],
            operator: false,
            via: None,
            ask: Box::new(Ask::default()),
            script: "#!/bin/sh\ntrue\n".to_owned(),
            environment: "HOME=/home/ada\0".to_owned(),
        },
        Command::CancelJob { actor, target: Target { key: JobKey::single(JobId(1)) } },
        Command::NodeSilent { name },
        Command::EnactRound {
            preempts: Vec::new(),
            shrinks: Vec::new(),
            starts: Vec::new(),
            grows: Vec::new(),
        },
    ]
}

/// A clock that stands still.
const fn still_clock() -> Time {
    Time(1_700_000_000_000)
}

fn packed() -> Vec<u8> {
    let outlets = Outlets {
        news: mpsc::unbounded_channel().0,
        applied: watch::channel(LogIndex(0)).0,
        leading: watch::channel(true).0,
        history: kantctld::history::feed_channel().0,
        mail: kantctld::mail::MailQueue::default(),
    };
    let clock = Arc::new(SteadyClock::new(still_clock));
    StateMachine::new(clock, outlets).0.pack(commands())
}

fn check_entry_level(entry: &[u8]) {
    let at = Time(1_700_000_000_000);
    let stamped = commands().into_iter().map(|command| Stamped { at, command });
    assert_eq!(unpack(entry, state::LEVELS).unwrap(), stamped.collect::<Vec<_>>());
}

#[test]
fn a_log_entry_matches_the_golden_file_and_both_are_read() {
    let written = packed();
    check_written("entry", &written);
    check_entry_level(&written);
    check_entry_level(&std::fs::read(golden("previous", "entry")).unwrap());
}

#[test]
fn a_log_entry_of_a_newer_release_is_refused_with_the_remedy() {
    let mut entry = std::fs::read(golden("current", "entry")).unwrap();
    entry[0] = state::LEVELS.newest.0 + 1;
    let reason = unpack(&entry, state::LEVELS).unwrap_err().to_string();
    assert!(reason.contains("needs rules level") && reason.contains("install"), "{reason}");
}

fn head() -> Head {
    Head {
        cluster: ClusterId(0xcafe),
        name: "alpha".to_owned(),
        last_controller: ControllerId(3),
        controllers: vec!["a:7600".to_owned()],
        applied: LogIndex(9),
        at: Time(1_700_000_000_000),
        release: "0.1.0".to_owned(),
    }
}

fn check_backup(bytes: &[u8], head: &Head) {
    let (read, state) = backup::from_bytes(bytes).unwrap();
    let state = state::persist::from_bytes(&state).unwrap();
    assert_eq!((&read, state), (head, State::default()));
}

#[test]
fn a_backup_matches_the_golden_file_and_both_are_read() {
    let written = backup::to_bytes(&head(), &State::default()).unwrap();
    check_written("backup", &written);
    check_backup(&written, &head());
    // Where controllers are was added under the same number.
    let before = Head { controllers: Vec::new(), ..head() };
    check_backup(&std::fs::read(golden("previous", "backup")).unwrap(), &before);
}

#[test]
fn the_previous_formats_are_at_most_one_version_behind() {
    let entry = |set| u32::from(std::fs::read(golden(set, "entry")).unwrap()[0]);
    let backup = |set| {
        let bytes = std::fs::read(golden(set, "backup")).unwrap();
        u32::from_le_bytes(bytes[8..12].try_into().unwrap())
    };
    for (current, previous) in
        [(entry("current"), entry("previous")), (backup("current"), backup("previous"))]
    {
        assert!(previous == current || previous + 1 == current, "{previous}, then {current}");
    }
}
