//! The state machine under a simulated controller's log: that of `kantctld` without its threads,
//! and with the injected bugs of this layer. `state::apply` decides.

use crate::judge::log::LogJudge;
use crate::mutants::Mutant;
use crate::node::ended;
use crate::steady::Steady;
use common::id::{ControllerId, LogIndex, RequestKey};
use common::job::EndCause;
use common::rules_level::{RulesLevel, RulesLevels, TooEarly, UnknownLevel};
use common::wire::node::{StepPhase, StepStatus};
use common::wire::peer::{PeerReport, StateSum};
use replica::Machine;
use state::{Command, Event, LEVELS, Stamped, State, entry};
use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;

/// The rules levels of the release that all controllers run at first.
pub const OLD_RELEASE: RulesLevels = LEVELS;

/// Those of the release after it, which a fault installs. At its newest level, jobs have a comment.
pub const NEW_RELEASE: RulesLevels =
    RulesLevels { oldest: LEVELS.oldest, newest: RulesLevel(LEVELS.newest.0 + 1) };

/// The state machine of one run of a controller's process.
pub struct SimMachine {
    /// The state after the last applied entry.
    pub state: State,
    pub clock: Steady,
    /// Events of applied entries since they were last taken.
    pub applied: Vec<Vec<Event>>,
    /// A snapshot has replaced the state.
    pub is_restored: bool,
    /// It leads, and has applied all entries of earlier terms.
    pub leading: bool,
    me: ControllerId,
    /// The rules levels of its release.
    levels: RulesLevels,
    judge: Rc<RefCell<LogJudge>>,
    mutant: Option<Mutant>,
    before: State,
    counted: u32,
}

impl SimMachine {
    /// A machine with an empty state.
    pub fn new(
        me: ControllerId,
        levels: RulesLevels,
        clock: Steady,
        judge: Rc<RefCell<LogJudge>>,
        mutant: Option<Mutant>,
    ) -> Self {
        Self {
            state: State::default(),
            clock,
            applied: Vec::new(),
            is_restored: false,
            leading: false,
            me,
            levels,
            judge,
            mutant,
            before: State::default(),
            counted: 0,
        }
    }

    fn has(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    fn apply_one(&mut self, stamped: &Stamped<Command>) -> Vec<Event> {
        if self.has(Mutant::LocalTime) {
            let at = self.clock.now();
            let local = Stamped { at, command: stamped.command.clone() };
            return state::apply(&mut self.state, &local);
        }
        if self.has(Mutant::SkipLedgerCheck) {
            self.make_room(stamped);
        }
        let stamped = self.by_rules(stamped);
        state::apply(&mut self.state, &stamped)
    }

    /// The command with the effect that the newest level of the new release adds.
    fn by_rules<'a>(&self, stamped: &'a Stamped<Command>) -> Cow<'a, Stamped<Command>> {
        let level = match self.has(Mutant::EarlyRules) {
            true => self.levels.newest,
            false => self.state.rules_level(),
        };
        let mut changed = Cow::Borrowed(stamped);
        let is_known = self.levels.newest == NEW_RELEASE.newest;
        if is_known
            && level == NEW_RELEASE.newest
            && let Command::SubmitJob { .. } = stamped.command
            && let Command::SubmitJob { ask, .. } = &mut changed.to_mut().command
        {
            ask.comment = Some("by the new rules".to_owned());
        }
        changed
    }

    /// For a mutant: lets a start take resources that are held, by recording their holder as
    /// ended.
    fn make_room(&mut self, stamped: &Stamped<Command>) {
        let Command::EnactRound { starts, .. } = &stamped.command else { return };
        for share in starts.iter().flat_map(|start| start.allocation.shares()) {
            let Some(held) = self.state.ledger().holdings_on(&share.node) else { continue };
            let meets = |(_, held): &(_, &state::ledger::Held)| {
                held.cpus.intersects(&share.cpus)
                    || share.gpus.iter().any(|gpu| held.gpus.contains(gpu))
            };
            let overwritten = ended(EndCause::Exited, 0, Some(stamped.at), stamped.at);
            let phase = StepPhase::Ended(Box::new(overwritten));
            let others: Vec<StepStatus> = held
                .holders()
                .filter(meets)
                .map(|(id, _)| StepStatus { id, phase: phase.clone() })
                .collect();
            let command = Command::ReportSteps { node: share.node.clone(), steps: others };
            state::apply(&mut self.state, &Stamped { at: stamped.at, command });
        }
    }
}

impl Machine for SimMachine {
    type Command = Command;
    type Answer = Vec<Event>;
    type Frozen = State;

    fn command_bytes(_: &Command) -> usize {
        1 << 10
    }

    fn check_command(&self, command: &Command) -> Result<(), TooEarly> {
        entry::check_level(&self.state, command)
    }

    fn check_entry_level(&self, entry: &[u8]) -> Result<(), UnknownLevel> {
        self.levels.check(entry::level_of(entry))
    }

    fn check_snapshot_level(&self, bytes: &[u8]) -> Result<(), UnknownLevel> {
        state::persist::level_of(bytes).map_or(Ok(()), |level| self.levels.check(level))
    }

    fn pack(&mut self, commands: Vec<Command>) -> Vec<u8> {
        self.clock.not_before(self.state.now());
        let at = self.clock.now();
        self.judge.borrow_mut().time.note_given(self.clock.uptime_ms(), self.me, at);
        let mut batch: Vec<Stamped<Command>> =
            commands.into_iter().map(|command| Stamped { at, command }).collect();
        if self.has(Mutant::ForgetKeys) {
            for stamped in &mut batch {
                if let Command::SubmitJob { request_key, .. } = &mut stamped.command {
                    self.counted += 1;
                    *request_key = RequestKey(format!("{}-{}-{at}", self.me, self.counted));
                }
            }
        }
        entry::pack(&self.state, &batch)
            .expect("commands are plain data, and writing to memory does not fail")
    }

    fn apply(&mut self, index: LogIndex, entry: &[u8]) -> Result<Vec<Vec<Event>>, String> {
        let batch = entry::unpack(entry, self.levels).map_err(|error| error.to_string())?;
        if self.has(Mutant::SnapshotMisses) {
            self.before = self.state.clone();
        }
        let judge = self.judge.clone();
        let mut judge = judge.borrow_mut();
        let is_first = judge.note_entry(self.me, index, entry);
        let mut order: Vec<usize> = (0..batch.len()).collect();
        if self.has(Mutant::RandomOrder) && self.me.0.is_multiple_of(2) {
            order.reverse();
        }
        let mut answers = vec![Vec::new(); batch.len()];
        if is_first {
            batch.iter().for_each(|stamped| judge.time.note_logged(stamped.at));
        }
        for place in order {
            let events = self.apply_one(&batch[place]);
            if is_first {
                judge.look(&self.state, &batch[place].command, &events);
            }
            answers[place] = events;
        }
        judge.note_state(self.me, index, &self.state);
        if self.has(Mutant::LocalIds) {
            self.count_ids(&mut answers);
        }
        self.applied.extend(answers.iter().cloned());
        Ok(answers)
    }

    fn freeze(&self) -> State {
        let misses = self.has(Mutant::SnapshotMisses) && self.before.settings().is_some();
        if misses { self.before.clone() } else { self.state.clone() }
    }

    fn encode_snapshot(frozen: &State) -> Result<Vec<u8>, String> {
        state::persist::to_bytes(frozen).map_err(|error| error.to_string())
    }

    fn checksum(frozen: &State) -> Result<u32, String> {
        state::persist::checksum(frozen).map_err(|error| error.to_string())
    }

    fn restore(&mut self, index: LogIndex, bytes: &[u8]) -> Result<(), String> {
        let restored = state::persist::from_bytes_with_levels(bytes, self.levels);
        self.state = restored.map_err(|error| error.to_string())?;
        self.is_restored = true;
        self.applied.clear();
        self.judge.borrow_mut().note_state(self.me, index, &self.state);
        Ok(())
    }

    fn set_leading(&mut self, leading: bool) {
        self.leading = leading;
    }
}

impl SimMachine {
    /// The report that other controllers receive. Followers take the leader's time over.
    pub fn report(&mut self, leads: bool, sum: Option<StateSum>) -> PeerReport {
        let (wall, cluster) = self.clock.shown(leads);
        if let Some(cluster) = cluster {
            let now_ms = self.clock.uptime_ms();
            self.judge.borrow_mut().time.note_given(now_ms, self.me, cluster);
        }
        PeerReport { wall, cluster, levels: self.levels, sum }
    }

    pub const fn levels(&self) -> RulesLevels {
        self.levels
    }

    /// For a mutant: replaces job ids in answers by numbers that this controller counts from
    /// its start.
    fn count_ids(&mut self, answers: &mut [Vec<Event>]) {
        for event in answers.iter_mut().flatten() {
            if let Event::JobSubmitted { job, repeated: false, .. } = event {
                self.counted += 1;
                job.0 = self.counted;
            }
        }
    }
}
