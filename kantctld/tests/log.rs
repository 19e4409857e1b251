//! Tests of the log under a small machine: answered requests are there after a restart, from the
//! log and from snapshots.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod words;

use common::id::{ClusterId, ControllerId};
use kantctld::raft::{Bootstrap, Hooks, LogHandle, Member, ReplicaConfig, start};
use std::sync::Arc;
use std::time::{Duration, Instant};
use wal::{Options, RealDisk};
use words::Words;

struct Running {
    words: Words,
    log: LogHandle<Words>,
    thread: std::thread::JoinHandle<Result<(), kantctld::raft::LogError>>,
}

fn run(dir: &std::path::Path, snapshot_every: u64) -> Running {
    let words = Words::default();
    let replica_config = ReplicaConfig {
        id: ControllerId(1),
        cluster: ClusterId(7),
        bootstrap: Bootstrap::Found(Member::default()),
        snapshot_every,
        snapshot_bytes_min: replica::SNAPSHOT_BYTES_MIN,
        compare_every: replica::COMPARE_EVERY,
        seed: 7,
        options: Options { segment_bytes: 1 << 16, salt: 7, memory_bytes: 200 },
    };
    let disk = RealDisk::open(dir).unwrap();
    let (log, thread) =
        start(disk, &replica_config, words.clone(), Hooks::for_single_controller()).unwrap();
    let deadline = Instant::now() + Duration::from_secs(10);
    while !*words.leading.lock().unwrap() {
        assert!(Instant::now() < deadline, "a single voter must become leader");
        std::thread::yield_now();
    }
    Running { words, log, thread }
}

impl Running {
    fn stop(self) -> Vec<String> {
        self.log.stop();
        self.thread.join().unwrap().unwrap();
        Arc::try_unwrap(self.words.words)
            .map_or_else(|w| w.lock().unwrap().clone(), |w| w.into_inner().unwrap())
    }
}

#[tokio::test]
async fn answered_requests_are_there_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let running = run(dir.path(), 1_000_000);
    for n in 0..100_usize {
        assert_eq!(running.log.propose(format!("w{n}")).await, Ok(n + 1));
    }
    let before = running.stop();
    let again = run(dir.path(), 1_000_000);
    assert_eq!(*again.words.restored_at.lock().unwrap(), None, "no snapshot was due");
    assert_eq!(again.log.propose("next".to_owned()).await, Ok(101));
    let after = again.stop();
    assert_eq!(after[..100], before[..]);
}

#[tokio::test]
async fn snapshots_truncate_the_log_and_carry_the_state() {
    let dir = tempfile::tempdir().unwrap();
    let running = run(dir.path(), 10);
    for n in 0..100_usize {
        running.log.propose(format!("w{n}")).await.unwrap();
    }
    // Snapshots are written by another thread, while a fast disk takes many more words.
    let mut status = running.log.status();
    let saved = status.wait_for(|status| status.snapshot.0 > 80);
    let saved = tokio::time::timeout(Duration::from_secs(10), saved).await;
    saved.expect("a late snapshot in time").unwrap();
    let before = running.stop();
    let again = run(dir.path(), 10);
    let restored = again.words.restored_at.lock().unwrap().expect("from a snapshot");
    assert!(restored > 80, "not from a late snapshot: {restored}");
    assert_eq!(again.stop(), before);
}

#[tokio::test]
async fn concurrent_requests_share_entries_and_each_gets_its_own_answer() {
    let dir = tempfile::tempdir().unwrap();
    let running = run(dir.path(), 1_000_000);
    let asks = (0..500).map(|n| {
        let log = running.log.clone();
        tokio::spawn(async move { (n, log.propose(format!("w{n}")).await.unwrap()) })
    });
    let mut places = Vec::new();
    for ask in asks.collect::<Vec<_>>() {
        places.push(ask.await.unwrap());
    }
    let words = running.stop();
    for (n, place) in places {
        assert_eq!(words[place - 1], format!("w{n}"));
    }
}

#[tokio::test]
async fn requests_after_a_stop_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let running = run(dir.path(), 1_000_000);
    let log = running.log.clone();
    running.stop();
    assert!(log.propose("late".to_owned()).await.is_err());
}
