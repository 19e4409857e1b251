//! A cluster of replicas over disks in memory, with a network that can be cut. Never random: equal
//! calls give equal histories.

use common::id::{ClusterId, ControllerId, LogIndex};
use replica::{
    Beginning, Change, Letter, LogError, Machine, Member, Opening, ProposeError, Replica, Saved,
    Saving, Settled,
};
use replica::{Status, Told};
use std::collections::{BTreeMap, BTreeSet};
use wal::{MemDisk, Options};

pub type Answer = Result<Told<u64>, ProposeError>;

/// Adds up the numbers it is told, and remembers them.
#[derive(Default)]
pub struct Adder {
    pub numbers: Vec<u64>,
    pub leading: bool,
}

impl Machine for Adder {
    type Command = u64;
    type Answer = u64;
    type Frozen = Vec<u64>;

    fn weigh(_: &u64) -> usize {
        8
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
                self.numbers.push(number);
                self.numbers.iter().sum()
            })
            .collect())
    }

    fn freeze(&self) -> Vec<u64> {
        self.numbers.clone()
    }

    fn write_down(numbers: &Vec<u64>) -> Result<Vec<u8>, String> {
        Ok(numbers.iter().flat_map(|number| number.to_le_bytes()).collect())
    }

    fn restore(&mut self, _: LogIndex, bytes: &[u8]) -> Result<(), String> {
        let (numbers, _) = bytes.as_chunks::<8>();
        self.numbers = numbers.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
        Ok(())
    }

    fn lead(&mut self, leading: bool) {
        self.leading = leading;
    }
}

pub type Node = Replica<Adder, MemDisk, u32>;

pub struct House {
    pub nodes: BTreeMap<u64, Node>,
    pub disks: BTreeMap<u64, MemDisk>,
    /// Letters between these two do not arrive.
    pub cut: BTreeSet<(u64, u64)>,
    pub answers: BTreeMap<u32, Answer>,
    /// Processes that ended by themselves, and why.
    pub ends: BTreeMap<u64, LogError>,
    pub snapshot_every: u64,
    pub snapshot_bytes_min: u64,
    /// Snapshots under way; `None`: they are written at once.
    pub under_way: Option<BTreeMap<u64, Saving<Adder, MemDisk>>>,
    seed: u64,
    tickets: u32,
}

pub fn member(id: u64) -> Member {
    Member { name: format!("c{id}"), address: format!("c{id}:7600"), becomes_voter: true }
}

impl House {
    /// A cluster of one.
    pub fn found() -> Self {
        let mut house = Self {
            nodes: BTreeMap::new(),
            disks: BTreeMap::new(),
            cut: BTreeSet::new(),
            answers: BTreeMap::new(),
            ends: BTreeMap::new(),
            snapshot_every: 1 << 20,
            snapshot_bytes_min: 1 << 20,
            under_way: None,
            seed: 7,
            tickets: 0,
        };
        house.open(1, Beginning::Found(member(1)));
        house.run(2);
        house
    }

    /// A cluster of so many voters; the first leads.
    pub fn of(count: u64) -> Self {
        let mut house = Self::found();
        for id in 2..=count {
            house.join(id);
            house.run(20);
        }
        let voters = house.status(1).members.voters;
        assert_eq!(voters, (1..=count).collect::<Vec<_>>(), "all have caught up and vote");
        house
    }

    pub fn opening(&self, id: u64, beginning: Beginning) -> Opening {
        Opening {
            id: ControllerId(id),
            cluster: Some(ClusterId(0xcafe)),
            beginning,
            snapshot_every: self.snapshot_every,
            snapshot_bytes_min: self.snapshot_bytes_min,
            seed: self.seed,
            options: Options { segment_bytes: 4096, salt: id, warm_bytes: 1000 },
        }
    }

    pub fn open(&mut self, id: u64, beginning: Beginning) {
        let disk = self.disks.entry(id).or_default().clone();
        let opening = self.opening(id, beginning);
        self.nodes.insert(id, Replica::open(disk, &opening, Adder::default()).unwrap());
    }

    /// Adds a controller, and starts it.
    pub fn join(&mut self, id: u64) {
        let answer = self.change(&[Change::Add(member(id))]);
        assert_eq!(answer, Ok(Told::Changed(Some(ControllerId(id)))));
        self.open(id, Beginning::Join);
    }

    /// The thread beside the log has written what it was to write, and nobody has heard of it yet.
    pub fn write_aside(&mut self, id: u64) -> Saved {
        self.under_way.as_mut().unwrap().remove(&id).unwrap().run()
    }

    /// kill -9.
    pub fn kill(&mut self, id: u64) {
        self.nodes.remove(&id);
        self.under_way.iter_mut().for_each(|under_way| drop(under_way.remove(&id)));
        self.disks[&id].restart();
    }

    /// The power goes: what was not synced is lost.
    pub fn cut_power(&mut self, id: u64) {
        self.nodes.remove(&id);
        self.disks[&id].crash(&mut |_| 0);
    }

    pub fn start(&mut self, id: u64) {
        self.open(id, Beginning::None);
    }

    /// Cuts one off from all the others.
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
            let mut letters: Vec<(u64, Letter)> = Vec::new();
            for (id, node) in &mut self.nodes {
                while node.settle().unwrap() == Settled::Sending {}
                match (node.take_saving(), &mut self.under_way) {
                    (None, _) => {}
                    (Some(saving), Some(under_way)) => {
                        assert!(under_way.insert(*id, saving).is_none(), "one at a time");
                    }
                    (Some(saving), None) => {
                        node.note_saved(saving.run());
                        while node.settle().unwrap() == Settled::Sending {}
                    }
                }
                let outbox = node.take_outbox();
                letters.extend(outbox.letters.into_iter().map(|letter| (*id, letter)));
                for (ticket, answer) in outbox.answers {
                    let before = self.answers.insert(ticket, answer);
                    assert!(before.is_none(), "ticket {ticket} was answered twice");
                }
            }
            if letters.is_empty() {
                return;
            }
            for (from, letter) in letters {
                let to = letter.to;
                let arrives = !self.cut.contains(&(from, to.0)) && self.nodes.contains_key(&to.0);
                if arrives
                    && let Some(node) = self.nodes.get_mut(&to.0)
                    && let Err(error) = node.step(&letter.bytes)
                {
                    self.ends.insert(to.0, error);
                    self.kill(to.0);
                }
                if letter.has_snapshot
                    && let Some(node) = self.nodes.get_mut(&from)
                {
                    node.note_snapshot_carried(to, arrives);
                }
            }
        }
        panic!("the replicas never come to rest");
    }

    /// So many ticks for everybody.
    pub fn run(&mut self, ticks: u32) {
        self.settle();
        for _ in 0..ticks {
            self.nodes.values_mut().for_each(Replica::tick);
            self.settle();
        }
    }

    pub fn ticket(&mut self) -> u32 {
        self.tickets += 1;
        self.tickets
    }

    /// Proposes at one controller, and lets everything come to rest. `None`: no answer yet.
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

    /// Changes members at the leader.
    pub fn change(&mut self, changes: &[Change]) -> Answer {
        let (leader, ticket) = (self.leader(), self.ticket());
        self.nodes.get_mut(&leader).unwrap().change(changes, ticket);
        self.run(3);
        self.answers[&ticket].clone()
    }

    /// The one who leads and is followed by a majority: in the highest term.
    pub fn leader(&self) -> u64 {
        let leads = self.nodes.iter().filter(|(_, node)| node.leads());
        let newest = leads.max_by_key(|(_, node)| node.status().term);
        *newest.expect("somebody leads").0
    }

    pub fn status(&self, id: u64) -> Status {
        self.nodes[&id].status()
    }

    pub fn numbers(&self, id: u64) -> &[u64] {
        &self.nodes[&id].machine().numbers
    }

    /// Everybody knows the same, and this.
    pub fn assert_all_know(&self, numbers: &[u64]) {
        for id in self.nodes.keys() {
            assert_eq!(self.numbers(*id), numbers, "controller {id}");
        }
    }
}
