//! Tests of random histories with crashes, kills, failing syncs and a full disk: after every start
//! everything acknowledged is there, and nothing that was not written.

use proptest::prelude::*;
use wal::{Entry, EntryId, Error, HardState, Index, MemDisk, Result, Snapshot, Term, Wal};

use crate::model::{Memory, OPTIONS, Payloads, picker, remembered};

/// One operation or event.
#[derive(Debug, Clone)]
enum Step {
    /// Append entries, replacing up to `back` uncommitted ones, and perhaps commit some.
    Append {
        count: u64,
        back: u64,
        size_bytes: usize,
        commit: Option<u64>,
    },
    Sync,
    /// Save a snapshot this far below the last entry.
    Save {
        below: u64,
    },
    /// Install a snapshot this far above the commit index; without room, try `again` or restart.
    Install {
        above: u64,
        again: bool,
    },
    /// Compact to this far below the snapshot.
    Compact {
        below: u64,
    },
    Prepare,
    Kill,
    /// A power failure; the number decides what survives.
    Crash(u64),
    /// A power failure, and another disk failure during the next start.
    CrashTwice {
        seed: u64,
        syncs: Option<u32>,
        writes: Option<u32>,
    },
    /// A clean stop and a start.
    Close,
    /// A sync will fail after this many more.
    BreakSync(u32),
    /// A write will fail after this many more.
    BreakWrite(u32),
    /// Leave this many bytes of space, or remove the limit.
    Fill(Option<u64>),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (0u64..5, 0u64..4, 0usize..300, proptest::option::of(0u64..6))
            .prop_map(|(count, back, size_bytes, commit)| {
                Step::Append { count, back, size_bytes, commit }
            }),
        8 => Just(Step::Sync),
        3 => (0u64..6).prop_map(|below| Step::Save { below }),
        1 => (1u64..12, any::<bool>())
            .prop_map(|(above, again)| Step::Install { above, again }),
        3 => (0u64..4).prop_map(|below| Step::Compact { below }),
        1 => Just(Step::Prepare),
        2 => Just(Step::Kill),
        4 => any::<u64>().prop_map(Step::Crash),
        2 => (any::<u64>(), proptest::option::of(0u32..8), proptest::option::of(0u32..8))
            .prop_map(|(seed, syncs, writes)| Step::CrashTwice { seed, syncs, writes }),
        1 => Just(Step::Close),
        1 => (0u32..6).prop_map(Step::BreakSync),
        1 => (0u32..6).prop_map(Step::BreakWrite),
        1 => proptest::option::of(0u64..2000).prop_map(Step::Fill),
    ]
}

/// A log under test, with the content that it may have at its next start.
struct Trial {
    disk: MemDisk,
    wal: Option<Wal<MemDisk>>,
    /// The content as the running log shows it.
    now: Memory,
    /// The possible content after a crash: what is durable first, then one more append each.
    possible: Vec<Memory>,
    /// A disk failure happened: only a restart helps.
    broken: bool,
    term: u64,
    payloads: Payloads,
}

impl Trial {
    fn new() -> Trial {
        let disk = MemDisk::new();
        let (wal, recovered) = Wal::open(disk.clone(), OPTIONS).expect("a new log opens");
        let now = remembered(&wal, &recovered);
        assert_eq!(now, Memory::default());
        Trial {
            disk,
            wal: Some(wal),
            possible: vec![now.clone()],
            now,
            broken: false,
            term: 1,
            payloads: Payloads::default(),
        }
    }

    fn wal(&mut self) -> &mut Wal<MemDisk> {
        self.wal.as_mut().expect("the log is open between steps")
    }

    fn take(&mut self, step: &Step) {
        match *step {
            Step::Append { count, back, size_bytes, commit } => {
                self.append(count, back, size_bytes, commit);
            }
            Step::Sync => {
                let done = self.wal().sync();
                let after = self.now.clone();
                self.settle(done, after);
            }
            Step::Save { below } => self.save(below),
            Step::Install { above, again } => self.install(above, again),
            Step::Compact { below } => self.compact(below),
            Step::Prepare => {
                let done = self.wal().prepare_spare();
                self.judge(&done);
            }
            Step::Kill => self.start_after_kill(),
            Step::Crash(seed) => {
                self.disk.crash(&mut picker(seed));
                self.start(false);
            }
            Step::CrashTwice { seed, syncs, writes } => {
                let mut pick = picker(seed);
                self.disk.crash(&mut pick);
                self.wal = None;
                syncs.into_iter().for_each(|after| self.disk.fail_sync_after(after));
                writes.into_iter().for_each(|after| self.disk.fail_write_after(after));
                // Whether or not this start succeeds, it must do no harm.
                match Wal::open(self.disk.clone(), OPTIONS) {
                    Ok(_) | Err(Error::Io { .. }) => {}
                    Err(other) => panic!("the start failed: {other}"),
                }
                self.disk.crash(&mut pick);
                self.start(false);
            }
            Step::Close => {
                let done = self.wal.take().expect("the log is open between steps").close();
                let after = self.now.clone();
                self.settle(done, after);
                self.start_after_kill();
            }
            Step::BreakSync(after) => self.disk.fail_sync_after(after),
            Step::BreakWrite(after) => self.disk.fail_write_after(after),
            Step::Fill(room) => {
                let used = self.disk.used_bytes();
                self.disk.set_capacity_bytes(room.map(|room| used + room));
            }
        }
    }

    fn append(&mut self, count: u64, back: u64, size_bytes: usize, commit: Option<u64>) {
        let back = if count == 0 { 0 } else { back.min(self.now.last() - self.now.commit()) };
        self.term += u64::from(back > 0);
        let first = self.now.last() + 1 - back;
        let entries: Vec<Entry> = (first..first + count)
            .map(|index| Entry {
                index: Index(index),
                term: Term(self.term),
                payload: self.payloads.draw(size_bytes),
            })
            .collect();
        let last = first + count - 1;
        let hard_state = commit.map(|ahead| HardState {
            commit: Index((self.now.commit() + ahead).min(last)),
            payload: self.payloads.draw(9),
        });
        let mut after = self.now.clone();
        after.append(&entries, hard_state.as_ref());
        let done = self.wal().append(entries, hard_state);
        match self.judge(&done) {
            Verdict::Done => {
                self.possible.push(after.clone());
                self.now = after;
            }
            Verdict::Broken => self.possible.push(after),
            Verdict::Unchanged => {}
        }
    }

    fn save(&mut self, below: u64) {
        let index = self.now.last().saturating_sub(below);
        let Some(term) = self.now.term(index) else { return };
        if index <= self.now.snapshot_index() {
            return;
        }
        let payload = self.payloads.draw(40);
        let snapshot = Snapshot { index: Index(index), term, payload };
        let done = self.wal().save_snapshot(&snapshot);
        match self.judge(&done) {
            Verdict::Done => self.saved(&snapshot),
            Verdict::Broken => self.perhaps_saved(&snapshot),
            Verdict::Unchanged => {}
        }
    }

    /// The snapshot is durable, even if the log before it is not yet.
    fn saved(&mut self, snapshot: &Snapshot) {
        for memory in self.possible.iter_mut().chain([&mut self.now]) {
            memory.snapshot = Some(snapshot.clone());
        }
    }

    fn perhaps_saved(&mut self, snapshot: &Snapshot) {
        let with: Vec<Memory> = self
            .possible
            .iter()
            .map(|memory| Memory { snapshot: Some(snapshot.clone()), ..memory.clone() })
            .collect();
        self.possible.extend(with);
    }

    fn install(&mut self, above: u64, again: bool) {
        let index = self.now.commit().max(self.now.snapshot_index()) + above;
        if index <= self.now.snapshot_index() {
            return;
        }
        self.term += 1;
        let term = Term(self.term);
        let snapshot = Snapshot { index: Index(index), term, payload: self.payloads.draw(60) };
        let mut after = self.now.clone();
        after.snapshot = Some(snapshot.clone());
        let entry_id = EntryId { index: Index(index), term };
        after.reset(entry_id);
        let done = self.wal().install_snapshot(&snapshot);
        match self.judge(&done) {
            Verdict::Done => self.remains(after),
            Verdict::Broken => {
                self.perhaps_saved(&snapshot);
                self.possible.push(after);
            }
            // Without space for the restart of the log, the snapshot itself may have been written.
            // Raft must complete it then, now or after a restart.
            Verdict::Unchanged => {
                let newest = self.wal().snapshot_entry_id();
                if newest == Some(entry_id) {
                    self.saved(&snapshot);
                    if !again {
                        return self.start_after_kill();
                    }
                    self.disk.set_capacity_bytes(None);
                    let done = self.wal().install_snapshot(&snapshot);
                    self.settle(done, after.clone());
                    self.now = after;
                }
            }
        }
    }

    fn compact(&mut self, below: u64) {
        let to = self.now.snapshot_index().saturating_sub(below);
        if to <= self.now.base.index.0 || self.now.term(to).is_none() {
            return;
        }
        let mut after = self.now.clone();
        after.compact(to);
        let done = self.wal().compact(Index(to));
        self.settle(done, after);
    }

    /// Notes a step that leaves exactly `after`, durably, if it succeeds.
    fn settle(&mut self, done: Result<()>, after: Memory) {
        match self.judge(&done) {
            Verdict::Done => self.remains(after),
            Verdict::Broken => self.possible.push(after),
            Verdict::Unchanged => {}
        }
    }

    /// Notes that this is the durable content of the log, and nothing else.
    fn remains(&mut self, memory: Memory) {
        self.possible = vec![memory.clone()];
        self.now = memory;
    }

    fn judge(&mut self, done: &Result<()>) -> Verdict {
        match done {
            Ok(()) => {
                assert!(!self.broken, "a closed log accepted a call");
                Verdict::Done
            }
            Err(Error::NoSpace { .. }) => Verdict::Unchanged,
            Err(Error::Io { .. }) if !self.broken => {
                self.broken = true;
                Verdict::Broken
            }
            Err(Error::Poisoned { .. }) if self.broken => Verdict::Unchanged,
            Err(other) => panic!("unexpected: {other}"),
        }
    }

    fn start_after_kill(&mut self) {
        self.disk.restart();
        self.start(true);
    }

    /// Starts again after a kill or a crash and compares.
    fn start(&mut self, is_nothing_lost: bool) {
        self.wal = None;
        self.disk.set_capacity_bytes(None);
        let found = self.reopen();
        let now = self.now.clone().after_start();
        if is_nothing_lost && !self.broken {
            assert_eq!(found, now, "after a kill everything written must be there");
        }
        let is_possible = |memory: &Memory| memory.clone().after_start() == found;
        assert!(
            self.possible.iter().any(is_possible),
            "found {found:#?}, which is none of {:#?}",
            self.possible
        );
        // What a start has accepted must survive the next crash.
        self.wal = None;
        self.disk.crash(&mut |_| 0);
        assert_eq!(self.reopen(), found);
        self.remains(found);
        self.broken = false;
        self.term += 1;
    }

    fn reopen(&mut self) -> Memory {
        let opened = Wal::open(self.disk.clone(), OPTIONS);
        let (wal, recovered) = opened.unwrap_or_else(|error| panic!("the start failed: {error}"));
        assert_eq!(recovered.damaged_snapshot, None);
        let found = remembered(&wal, &recovered);
        self.wal = Some(wal);
        found
    }
}

enum Verdict {
    Done,
    /// The disk failed during it: it may or may not have happened.
    Broken,
    /// It did not happen.
    Unchanged,
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: std::env::var("KANT_WAL_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(400),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_start_finds_everything_acknowledged_and_nothing_else(
        steps in proptest::collection::vec(step(), 1..120),
        last_crash in any::<u64>(),
    ) {
        let mut trial = Trial::new();
        for step in &steps {
            trial.take(step);
        }
        trial.take(&Step::Crash(last_crash));
    }
}
