//! Judge of the log and the replicas: at each index, all replicas apply the same entry and reach
//! the same state. It also checks the state's own invariants after each command.

use super::Complaint;
use super::services::ServiceJudge;
use super::time::TimeJudge;
use common::id::{ControllerId, LogIndex};
use common::time::Time;
use state::invariant::Judge;
use state::{Command, Event, State};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// States are compared at indexes that are multiples of this.
const COMPARE_EVERY: u64 = 16;

#[derive(Debug)]
pub struct LogJudge {
    pub complaints: Vec<Complaint>,
    /// Events of commands at their first application on any replica, since they were last taken.
    pub fresh: Vec<(Time, Event)>,
    /// The state at the highest index that any replica has applied.
    pub frontier: State,
    pub time: TimeJudge,
    pub services: Rc<RefCell<ServiceJudge>>,
    entries: BTreeMap<u64, (u32, ControllerId)>,
    states: BTreeMap<u64, (u32, ControllerId)>,
    highest: u64,
    history: Judge,
}

impl Default for LogJudge {
    fn default() -> Self {
        Self {
            complaints: Vec::new(),
            fresh: Vec::new(),
            frontier: State::default(),
            time: TimeJudge::default(),
            services: Rc::default(),
            entries: BTreeMap::new(),
            states: BTreeMap::new(),
            highest: 0,
            history: Judge::new(&State::default()),
        }
    }
}

impl LogJudge {
    /// Records an entry that a replica applies. Returns whether the replica is the first to do so.
    pub fn note_entry(&mut self, me: ControllerId, index: LogIndex, entry: &[u8]) -> bool {
        let print = (crc32fast::hash(entry), me);
        let first = *self.entries.entry(index.0).or_insert(print);
        if first.0 != print.0 {
            let text = format!("entry {index} is another on controller {me} than on {}", first.1);
            self.complaints.push(Complaint::new("one-log", text));
        }
        let is_first = index.0 > self.highest;
        self.highest = self.highest.max(index.0);
        is_first
    }

    /// Checks the result of a command, at its first application.
    pub fn look(&mut self, state: &State, command: &Command, events: &[Event]) {
        for wrong in self.history.check_step(state, events) {
            let text = format!("after {}: {wrong}", brief(command));
            self.complaints.push(Complaint::new("invariant", text));
        }
        self.services.borrow_mut().look(state, events);
        let stamped = events.iter().map(|event| (state.now(), event.clone()));
        self.fresh.extend(stamped);
    }

    /// Records the state of a replica after an entry.
    pub fn note_state(&mut self, me: ControllerId, index: LogIndex, state: &State) {
        if index.0 == self.highest {
            self.frontier = state.clone();
        }
        if !index.0.is_multiple_of(COMPARE_EVERY) && !self.states.contains_key(&index.0) {
            return;
        }
        let print = (print(state), me);
        let first = *self.states.entry(index.0).or_insert(print);
        if first.0 != print.0 {
            let text =
                format!("controller {me} is in another state than {} after entry {index}", first.1);
            self.complaints.push(Complaint::new("same-bytes", text));
        }
    }
}

pub fn print(state: &State) -> u32 {
    state::persist::to_bytes(state).map_or(0, |bytes| crc32fast::hash(&bytes))
}

fn brief(command: &Command) -> String {
    let text = format!("{command:?}");
    text.chars().take_while(|message| message.is_alphanumeric()).collect()
}
