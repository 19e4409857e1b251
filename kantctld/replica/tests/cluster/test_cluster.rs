//! A test cluster of replicas over disks in memory, with a network that can be cut. Deterministic.

use common::id::{ClusterId, ControllerId, LogIndex};
use common::rules_level::{RulesLevel, RulesLevels, TooEarly, UnknownLevel};
use replica::{
    Bootstrap, Change, LogError, Machine, Member, PeerMessage, ProposeError, Replica,
    ReplicaConfig, Settled, SnapshotOutcome, SnapshotTask,
};
use replica::{Completion, Status};
use std::collections::{BTreeMap, BTreeSet};
use wal::{MemDisk, Options};

pub type Answer = Result<Completion<u64>, ProposeError>;

/// Numbers from here on need rules level 2.
pub const NEW: u64 = 1_000;
/// Numbers from here on need rules level 3, which is never in force.
pub const TOO_NEW: u64 = 2_000;

/// A machine that adds up numbers and remembers them.
#[derive(Default)]
pub struct Adder {
    pub numbers: Vec<u64>,
    pub leading: bool,
    /// It knows only level 1.
    is_old: bool,
    /// It takes this number for another one.
    misreads: Option<u64>,
}

impl Adder {
    fn check(&self, encoded: &[u8]) -> Result<(), UnknownLevel> {
        let (numbers, _) = encoded.as_chunks::<8>();
        let is_new = numbers.iter().any(|bytes| u64::from_le_bytes(*bytes) >= NEW);
        let newest = if self.is_old { RulesLevel(1) } else { RulesLevel(2) };
        let known = RulesLevels { oldest: RulesLevel(1), newest };
        known.check(if is_new { RulesLevel(2) } else { RulesLevel(1) })
    }
}

impl Machine for Adder {
    type Command = u64;
    type Answer = u64;
    type Frozen = Vec<u64>;

    fn command_bytes(_: &u64) -> usize {
        8
    }

    fn check_command(&self, number: &u64) -> Result<(), TooEarly> {
        match *number >= TOO_NEW {
            true => Err(TooEarly { needs: RulesLevel(3), level: RulesLevel(2) }),
            false => Ok(()),
        }
    }

    fn check_entry_level(&self, entry: &[u8]) -> Result<(), UnknownLevel> {
        self.check(entry)
    }

    fn check_snapshot_level(&self, bytes: &[u8]) -> Result<(), UnknownLevel> {
        self.check(bytes)
    }

    fn pack(&mut self, commands: Vec<u64>) -> Vec<u8> {
        commands.iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    fn apply(&mut self, _: LogIndex, entry: &[u8]) -> Result<Vec<u64>, String> {
        let (numbers, rest) = entry.as_chunks::<8>();
        if !rest.is_empty() {
            return Err("a number has eight bytes".to_owned());
        }
        let numbers = numbers.iter().map(|bytes| u64::from_le_bytes(*bytes));
        Ok(numbers
            .map(|number| {
                self.numbers.push(number + u64::from(self.misreads == Some(number)));
                self.numbers.iter().sum()
            })
            .collect())
    }

    fn freeze(&self) -> Vec<u64> {
        self.numbers.clone()
    }

    fn encode_snapshot(numbers: &Vec<u64>) -> Result<Vec<u8>, String> {
        Ok(numbers.iter().flat_map(|number| number.to_le_bytes()).collect())
    }

    fn checksum(numbers: &Vec<u64>) -> Result<u32, String> {
        Ok(numbers.iter().fold(7, |sum: u32, n| sum.wrapping_mul(31).wrapping_add(*n as u32)))
    }

    fn restore(&mut self, _: LogIndex, bytes: &[u8]) -> Result<(), String> {
        let (numbers, _) = bytes.as_chunks::<8>();
        self.numbers = numbers.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
        Ok(())
    }

    fn set_leading(&mut self, leading: bool) {
        self.leading = leading;
    }
}

pub type Node = Replica<Adder, MemDisk, u32>;

pub struct TestCluster {
    pub nodes: BTreeMap<u64, Node>,
    pub disks: BTreeMap<u64, MemDisk>,
    /// Messages between these two are dropped.
    pub cut: BTreeSet<(u64, u64)>,
    pub answers: BTreeMap<u32, Answer>,
    /// Processes that ended with an error.
    pub ends: BTreeMap<u64, LogError>,
    pub snapshot_every: u64,
    pub snapshot_bytes_min: u64,
    /// Controllers with a release that knows only level 1.
    pub old: BTreeSet<u64>,
    /// A controller that takes a number for another one.
    pub misreads: Option<(u64, u64)>,
    /// Snapshots in progress; `None` writes them at once.
    pub under_way: Option<BTreeMap<u64, SnapshotTask<Adder, MemDisk>>>,
    seed: u64,
    tickets: u32,
}

pub fn member(id: u64) -> Member {
    Member { name: format!("c{id}"), address: format!("c{id}:7600"), becomes_voter: true }
}

impl TestCluster {
    pub fn found() -> Self {
        let mut cluster = Self {
            nodes: BTreeMap::new(),
            disks: BTreeMap::new(),
            cut: BTreeSet::new(),
            answers: BTreeMap::new(),
            ends: BTreeMap::new(),
            snapshot_every: 1 << 20,
            snapshot_bytes_min: 1 << 20,
            old: BTreeSet::new(),
            misreads: None,
            under_way: None,
            seed: 7,
            tickets: 0,
        };
        cluster.open(1, Bootstrap::Found(member(1)));
        cluster.run(2);
        cluster
    }

    /// A cluster with this many voters; the first one leads.
    pub fn of(count: u64) -> Self {
        let mut cluster = Self::found();
        for id in 2..=count {
            cluster.join(id);
            cluster.run(20);
        }
        let voters = cluster.status(1).members.voters;
        assert_eq!(voters, (1..=count).collect::<Vec<_>>(), "all have caught up and vote");
        cluster
    }

    pub fn replica_config(&self, id: u64, bootstrap: Bootstrap) -> ReplicaConfig {
        ReplicaConfig {
            id: ControllerId(id),
            cluster: ClusterId(0xcafe),
            bootstrap,
            snapshot_every: self.snapshot_every,
            snapshot_bytes_min: self.snapshot_bytes_min,
            compare_every: 8,
            seed: self.seed,
            options: Options { segment_bytes: 4096, salt: id, memory_bytes: 1000 },
        }
    }

    pub fn open(&mut self, id: u64, bootstrap: Bootstrap) {
        let replica = self.try_open(id, bootstrap).unwrap();
        self.nodes.insert(id, replica);
    }

    pub fn try_open(&mut self, id: u64, bootstrap: Bootstrap) -> Result<Node, LogError> {
        let disk = self.disks.entry(id).or_default().clone();
        let replica_config = self.replica_config(id, bootstrap);
        let misreads = self.misreads.filter(|(who, _)| *who == id).map(|(_, number)| number);
        let is_old = self.old.contains(&id);
        Replica::open(disk, &replica_config, Adder { is_old, misreads, ..Adder::default() })
    }

    pub fn join(&mut self, id: u64) {
        let answer = self.change(&[Change::Add(member(id))]);
        assert_eq!(answer, Ok(Completion::Changed(Some(ControllerId(id)))));
        self.open(id, Bootstrap::Join);
    }

    /// Writes the pending snapshot, without reporting it to the replica.
    pub fn write_aside(&mut self, id: u64) -> SnapshotOutcome {
        self.under_way.as_mut().unwrap().remove(&id).unwrap().run()
    }

    /// kill -9.
    pub fn kill(&mut self, id: u64) {
        self.nodes.remove(&id);
        self.under_way.iter_mut().for_each(|under_way| drop(under_way.remove(&id)));
        self.disks[&id].restart();
    }

    /// A power failure: unsynced data is lost.
    pub fn cut_power(&mut self, id: u64) {
        self.nodes.remove(&id);
        self.disks[&id].crash(&mut |_| 0);
    }

    pub fn start(&mut self, id: u64) {
        self.open(id, Bootstrap::None);
    }

    /// Cuts a controller off from all others.
    pub fn isolate(&mut self, id: u64) {
        for other in self.disks.keys().copied().filter(|other| *other != id) {
            self.cut.extend([(id, other), (other, id)]);
        }
    }

    pub fn heal(&mut self) {
        self.cut.clear();
    }

    fn settle(&mut self) {
        for _ in 0..10_000 {
            let mut messages: Vec<(u64, PeerMessage)> = Vec::new();
            for (id, node) in &mut self.nodes {
                while node.process_ready().unwrap() == Settled::Sending {}
                match (node.take_snapshot_task(), &mut self.under_way) {
                    (None, _) => {}
                    (Some(saving), Some(under_way)) => {
                        assert!(under_way.insert(*id, saving).is_none(), "one at a time");
                    }
                    (Some(saving), None) => {
                        node.finish_snapshot(saving.run());
                        while node.process_ready().unwrap() == Settled::Sending {}
                    }
                }
                let outbox = node.take_outbox();
                messages.extend(outbox.messages.into_iter().map(|message| (*id, message)));
                for (ticket, answer) in outbox.answers {
                    let before = self.answers.insert(ticket, answer);
                    assert!(before.is_none(), "ticket {ticket} was answered twice");
                }
            }
            if messages.is_empty() {
                return;
            }
            for (from, message) in messages {
                let to = message.to;
                let arrives = !self.cut.contains(&(from, to.0)) && self.nodes.contains_key(&to.0);
                if arrives
                    && let Some(node) = self.nodes.get_mut(&to.0)
                    && let Err(error) = node.step(&message.bytes)
                {
                    self.ends.insert(to.0, error);
                    self.kill(to.0);
                }
                if message.has_snapshot
                    && let Some(node) = self.nodes.get_mut(&from)
                {
                    node.note_snapshot_carried(to, arrives);
                }
            }
        }
        panic!("the replicas do not settle");
    }

    /// Ticks all replicas this many times.
    pub fn run(&mut self, ticks: u32) {
        self.settle();
        for _ in 0..ticks {
            self.tick();
            self.settle();
        }
    }

    /// Ticks all replicas and lets them compare their states.
    fn tick(&mut self) {
        let (mut sums, mut ends) = (Vec::new(), Vec::new());
        for (id, node) in &mut self.nodes {
            if let Some(task) = node.take_sum_task() {
                node.record_checksum(task.run());
            }
            sums.extend(node.status().sum.map(|sum| (*id, sum)));
            ends.extend(node.tick().err().map(|error| (*id, error)));
        }
        for (from, sum) in sums {
            let arrives = |id: &u64| *id != from && !self.cut.contains(&(from, *id));
            for (_, node) in self.nodes.iter_mut().filter(|(id, _)| arrives(id)) {
                node.note_sum(ControllerId(from), sum);
            }
        }
        for (id, error) in ends {
            self.ends.insert(id, error);
            self.kill(id);
        }
    }

    pub fn ticket(&mut self) -> u32 {
        self.tickets += 1;
        self.tickets
    }

    /// Proposes at one controller and settles all. `None` if there is no answer yet.
    pub fn propose_at(&mut self, id: u64, number: u64) -> Option<Answer> {
        let ticket = self.ticket();
        self.nodes.get_mut(&id).unwrap().propose(vec![(number, ticket)]);
        self.settle();
        self.answers.get(&ticket).cloned()
    }

    pub fn read_at(&mut self, id: u64) -> Option<Answer> {
        let ticket = self.ticket();
        self.nodes.get_mut(&id).unwrap().read(vec![ticket]);
        self.settle();
        self.answers.get(&ticket).cloned()
    }

    pub fn change(&mut self, changes: &[Change]) -> Answer {
        let (leader, ticket) = (self.leader(), self.ticket());
        self.nodes.get_mut(&leader).unwrap().change(changes, ticket);
        self.run(3);
        self.answers[&ticket].clone()
    }

    /// The leader of the highest term.
    pub fn leader(&self) -> u64 {
        let leads = self.nodes.iter().filter(|(_, node)| node.leads());
        let newest = leads.max_by_key(|(_, node)| node.status().term);
        *newest.expect("no leader").0
    }

    pub fn status(&self, id: u64) -> Status {
        self.nodes[&id].status()
    }

    pub fn numbers(&self, id: u64) -> &[u64] {
        &self.nodes[&id].machine().numbers
    }

    /// Checks that all replicas know exactly these numbers.
    pub fn assert_all_know(&self, numbers: &[u64]) {
        for id in self.nodes.keys() {
            assert_eq!(self.numbers(*id), numbers, "controller {id}");
        }
    }
}
