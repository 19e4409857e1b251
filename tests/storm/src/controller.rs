//! One simulated controller process: the shell around the real replica, like the log thread of
//! `kantctld`. Controllers exchange nothing but messages.

mod asks;
mod forget_vote;

use crate::answer::address;
use crate::disk::StormDisk;
use crate::judge::log::LogJudge;
use crate::judge::services::ServiceJudge;
use crate::leader::{Lead, Silences};
use crate::machine::SimMachine;
use crate::message::{AskId, Input, LinkId, Output, Ticket};
use crate::mutants::Mutant;
use crate::requests::Requests;
use crate::settle::settle;
use crate::steady::Steady;
use common::id::{ClusterId, ControllerId};
use common::rules_level::{RulesLevel, RulesLevels};
use common::time::{Span, Time};
use common::wire::node::{FromNode, ToNode};
use lead::ReportedLevels;
use replica::{
    Bootstrap, LogError, Replica, ReplicaConfig, Role, Settled, SnapshotOutcome, Status, SumOutcome,
};
use state::{Command, Settings};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Time between two reports to the other controllers, in milliseconds, as in the daemon.
const REPORT_PERIOD_MS: u64 = 1_000;
/// States are compared after this number of log entries.
const COMPARE_EVERY: u64 = 16;
/// Size of a log segment, small so that a short history has many.
const SEGMENT_BYTES: u64 = 16 << 10;

/// Configuration common to all controllers of a history.
pub struct ClusterConfig {
    pub cluster: ClusterId,
    /// Settings that the first leader puts in force.
    pub settings: Settings,
    /// A node out of contact for longer than this is lost.
    pub node_lost_after: Span,
    /// A snapshot is taken after this number of entries.
    pub snapshot_every: u64,
    /// One is also taken when new entries exceed both this size and the last snapshot.
    pub snapshot_bytes_min: u64,
    pub seed: u64,
    pub mutant: Option<Mutant>,
    pub judge: Rc<RefCell<LogJudge>>,
    pub services: Rc<RefCell<ServiceJudge>>,
}

/// The process on a controller's machine.
pub struct Process {
    replica: Replica<SimMachine, StormDisk, Ticket>,
    lead: Option<Lead>,
    /// A snapshot on the disk that the log does not know yet. In the daemon, another thread writes
    /// it.
    saved: Option<SnapshotOutcome>,
    /// A checksum that the log does not know yet.
    summed: Option<SumOutcome>,
    /// The rules levels that the other controllers know.
    levels: ReportedLevels,
    /// It waits for room on its disk.
    pub is_stuck: bool,
    outputs: Vec<Output>,
    again: Vec<Input>,
    watch: Option<Silences>,
    /// Users' requests about large arrays, which enter the log part by part.
    parts: BTreeMap<AskId, lead::Parts>,
    /// When it next reports to the others, in milliseconds.
    report_due_ms: u64,
}

/// Readings of its machine's clocks.
#[derive(Debug, Clone, Copy)]
pub struct Clocks {
    /// Virtual time, in milliseconds.
    pub now_ms: u64,
    pub wall: Time,
}

impl Process {
    /// Starts the process from what is on the disk.
    ///
    /// # Errors
    /// [`LogError`] if the log cannot be opened.
    pub fn start(
        id: ControllerId,
        bootstrap: &Bootstrap,
        disk: StormDisk,
        life: u64,
        (levels, at_start): (RulesLevels, Clocks),
        config: &ClusterConfig,
    ) -> Result<Self, LogError> {
        let options = wal::Options {
            segment_bytes: SEGMENT_BYTES,
            salt: config.seed,
            memory_bytes: SEGMENT_BYTES / 8,
        };
        if config.mutant == Some(Mutant::ForgetVote) {
            forget_vote::forget_vote(&disk, options);
        }
        let opening = ReplicaConfig {
            id,
            cluster: config.cluster,
            bootstrap: bootstrap.clone(),
            snapshot_every: config.snapshot_every,
            snapshot_bytes_min: config.snapshot_bytes_min,
            compare_every: COMPARE_EVERY,
            seed: config.seed ^ (life << 8),
            options,
        };
        let clock = Steady::new(at_start.wall, at_start.now_ms, config.mutant);
        let machine = SimMachine::new(id, levels, clock, config.judge.clone(), config.mutant);
        let replica = Replica::open(disk, &opening, machine)?;
        Ok(Self {
            replica,
            lead: None,
            saved: None,
            summed: None,
            levels: ReportedLevels::default(),
            is_stuck: false,
            outputs: Vec::new(),
            again: Vec::new(),
            watch: None,
            parts: BTreeMap::new(),
            report_due_ms: 0,
        })
    }

    pub fn replica(&self) -> &Replica<SimMachine, StormDisk, Ticket> {
        &self.replica
    }

    /// Does it lead, and has it applied all entries of earlier terms?
    pub fn leads(&self) -> bool {
        self.lead.is_some() && self.replica.leads()
    }

    /// Does this connection have a session that the state has registered?
    pub fn has_session(&self, link: LinkId) -> bool {
        self.lead.as_ref().is_some_and(|lead| lead.has_session(link))
    }

    /// The last snapshot and result of its rounds; `None` if it does not lead.
    pub fn last_round(&self) -> Option<(&engine::Snapshot, &engine::Round)> {
        let (snapshot, round, _) = self.lead.as_ref()?.last_round();
        Some((snapshot, round))
    }

    /// Takes the violations that the engine's own judge has found.
    pub fn take_violations(&mut self) -> Vec<String> {
        self.lead.as_mut().map(|lead| std::mem::take(&mut lead.violations)).unwrap_or_default()
    }

    /// Handles inputs and everything that follows from them. Returns the outputs, and the inputs
    /// that the process gives itself for its next run.
    ///
    /// # Errors
    /// [`LogError`] if the process ends. Its earlier outputs are returned nevertheless.
    pub fn run(
        &mut self,
        clocks: Clocks,
        inputs: Vec<Input>,
        config: &ClusterConfig,
    ) -> (Vec<Output>, Vec<Input>, Result<(), LogError>) {
        self.replica.machine_mut().clock.set(clocks.wall, clocks.now_ms);
        let (mut requests, mut reads) = (Requests::default(), Vec::new());
        let (mut is_ticked, mut received) = (false, Ok(()));
        for input in inputs {
            match input {
                Input::Wake => {}
                Input::Tick => is_ticked = true,
                Input::PeerMessage(bytes) => {
                    received = received.and_then(|()| self.replica.step(&bytes))
                }
                Input::Unreachable(id) => self.replica.note_unreachable(id),
                Input::SnapshotCarried(id, arrived) => {
                    self.replica.note_snapshot_carried(id, arrived);
                }
                Input::Report(from, report) => {
                    let leads = self.replica.leader() == Some(from);
                    self.replica.machine_mut().clock.on_report(from, report, leads);
                    self.levels.note(from, report.levels, Span(clocks.now_ms));
                    if let Some(sum) = report.sum {
                        self.replica.note_sum(from, sum);
                    }
                }
                Input::Ask(id, body) => self.ask(id, body, config, &mut requests, &mut reads),
                Input::Propose(command, ticket) => requests.commands.push((*command, ticket)),
                Input::Change(changes) => self.replica.change(&changes, Ticket::Operator),
                Input::Transfer => drop(self.replica.transfer(None)),
                Input::Up(link, message) => self.on_message(link, *message, config, &mut requests),
                Input::Closed(link) => {
                    if let Some(lead) = &mut self.lead {
                        lead.closed(link, &mut requests);
                    }
                }
            }
        }
        if is_ticked {
            received = received.and_then(|()| self.tick(clocks.now_ms, config, &mut requests));
        }
        if received.is_err() {
            return (Vec::new(), Vec::new(), received);
        }
        self.act(clocks.now_ms, config, &mut requests);
        reads.append(&mut requests.reads);
        if !reads.is_empty() {
            self.replica.read(reads);
        }
        if !requests.commands.is_empty() {
            self.replica.propose(std::mem::take(&mut requests.commands));
        }
        self.outputs.append(&mut requests.outputs);
        let result = self.settle(clocks.now_ms, config);
        if let Some(lead) = &self.lead {
            self.outputs.push(Output::Wake(lead.next_at_ms()));
        }
        (std::mem::take(&mut self.outputs), std::mem::take(&mut self.again), result)
    }

    fn tick(
        &mut self,
        now_ms: u64,
        config: &ClusterConfig,
        requests: &mut Requests,
    ) -> Result<(), LogError> {
        self.replica.tick()?;
        if let Some(saved) = self.saved.take() {
            self.replica.finish_snapshot(saved);
        }
        if let Some(summed) = self.summed.take() {
            self.replica.record_checksum(summed);
        }
        if now_ms >= self.report_due_ms {
            self.report_due_ms = now_ms + REPORT_PERIOD_MS;
            let status = self.replica.status();
            let report = self.replica.machine_mut().report(status.leads, status.sum);
            self.outputs.push(Output::Report(report));
            let next = self.next_rules(&status, now_ms, config).filter(|_| status.leads);
            if let Some(to) = next {
                self.outputs.push(Output::RaisesRules(to));
                requests.commands.push((Command::RaiseRules { to }, Ticket::Unused));
            }
        }
        Ok(())
    }

    /// The rules level that all members know, if it is higher than the one in force.
    fn next_rules(
        &self,
        status: &Status,
        now_ms: u64,
        config: &ClusterConfig,
    ) -> Option<RulesLevel> {
        let machine = self.replica.machine();
        let (in_force, own) = (machine.state.rules_level(), machine.levels());
        let is_hasty = config.mutant == Some(Mutant::HastyRules);
        let others = status.members.known.keys().filter(|id| **id != status.id && !is_hasty);
        self.levels.next(in_force, own, others.copied(), None, Span(now_ms))
    }

    fn on_message(
        &mut self,
        link: LinkId,
        message: FromNode,
        config: &ClusterConfig,
        requests: &mut Requests,
    ) {
        let early = config.mutant == Some(Mutant::EarlySession)
            && self.replica.status().role == Role::Leader;
        if early && self.lead.is_none() {
            let judge = config.services.clone();
            let lead = Lead::new(u64::MAX / 2, config.node_lost_after, config.mutant, judge);
            self.lead = Some(lead);
        }
        match &mut self.lead {
            Some(lead) => lead.on_message(link, message, &self.replica.machine().state, requests),
            None => {
                let not_leader = ToNode::NotLeader { leader: self.replica.leader().map(address) };
                self.outputs.push(Output::Down(link, Box::new(not_leader)));
                self.outputs.push(Output::Close(link));
            }
        }
    }

    fn act(&mut self, now_ms: u64, config: &ClusterConfig, requests: &mut Requests) {
        let Some(lead) = &mut self.lead else { return };
        let machine = self.replica.machine_mut();
        machine.clock.not_before(machine.state.now());
        let now = machine.clock.now();
        lead.act(now_ms, now, &self.replica.machine().state, &config.settings, requests);
    }

    fn settle(&mut self, now_ms: u64, config: &ClusterConfig) -> Result<(), LogError> {
        let (answers, settled) = settle(&mut self.replica, &mut self.outputs);
        let settled = settled?;
        self.is_stuck = matches!(settled, Settled::DiskFull(_));
        if let Some(saving) = self.replica.take_snapshot_task() {
            self.saved = Some(saving.run());
        }
        if let Some(summing) = self.replica.take_sum_task() {
            self.summed = Some(summing.run());
        }
        let mut requests = Requests::default();
        let machine = self.replica.machine_mut();
        let applied = std::mem::take(&mut machine.applied);
        let is_restored = std::mem::take(&mut machine.is_restored);
        self.note_lead(now_ms, config);
        if let Some(lead) = &mut self.lead {
            if is_restored {
                lead.restored();
            }
            lead.applied(now_ms, &applied, &self.replica.machine().state, &mut requests);
        }
        for (ticket, result) in answers {
            self.answer(now_ms, ticket, result, &mut requests);
        }
        self.outputs.append(&mut requests.outputs);
        let again = requests.commands.into_iter();
        self.again.extend(again.map(|(command, ticket)| Input::Propose(Box::new(command), ticket)));
        Ok(())
    }

    fn note_lead(&mut self, now_ms: u64, config: &ClusterConfig) {
        let leading = self.replica.machine().leading;
        match (leading, self.lead.is_some()) {
            (true, false) => {
                let judge = config.services.clone();
                let mut lead = Lead::new(now_ms, config.node_lost_after, config.mutant, judge);
                if config.mutant == Some(Mutant::StaleWatch)
                    && let Some(watch) = self.watch.take()
                {
                    lead.keep_watch_of(watch);
                }
                self.lead = Some(lead);
            }
            (true, true) if config.mutant == Some(Mutant::EarlySession) => {
                self.lead.iter_mut().for_each(|lead| lead.begin(now_ms));
            }
            (false, true) if config.mutant != Some(Mutant::KeepLeading) => {
                let is_early = config.mutant == Some(Mutant::EarlySession)
                    && self.replica.status().role == Role::Leader;
                if is_early {
                    return;
                }
                let leader = self.replica.leader().map(address);
                let (outputs, watch) =
                    self.lead.take().map(|lead| lead.end(leader.as_deref())).unzip();
                self.outputs.extend(outputs.into_iter().flatten());
                self.watch = watch;
            }
            _ => {}
        }
    }
}
