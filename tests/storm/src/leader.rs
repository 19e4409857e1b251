//! The work of a simulated controller while it leads: rounds, timers and node sessions. It is the
//! shell around crate `lead`, like that of `kantctld`, and decides nothing itself.

mod applied;
mod enacting;
mod injected_bug;
mod service_bugs;
mod services;
mod trust;

pub use injected_bug::Silences;

use crate::judge::services::ServiceJudge;
use crate::message::{LinkId, Output, Ticket};
use crate::mutants::Mutant;
use crate::requests::{Requests, refuse};
use common::id::JobKey;
use common::time::{Span, Time};
use common::wire::node::{FromNode, Hello, NODE_PROTOCOL, NODE_PROTOCOLS, StepStatus, ToNode};
use lead::session::ORDERS_BYTES;
use lead::{Due, Limits, NodeSession, Rounds, SessionId, SessionTable, Watch};
use services::Services;
use state::{Command, Event, State};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

/// Longest time between two rounds, in milliseconds.
const ROUND_PERIOD_MS: u64 = 2_000;
/// Delay of the round after a failed one, in milliseconds.
const AGAIN_MS: u64 = 100;
/// Delay of a round after an event that wakes the scheduler, in milliseconds.
const WAKE_MS: u64 = 3;

/// The time that nodes without a leader have to end their jobs before they are lost: they look at
/// their fence twice in a second, and end a job within a second.
const FENCE_MARGIN_MS: u64 = 4_000;

/// The state of a leader, which ends with its term.
pub struct Lead {
    rounds: Rounds,
    watch: Watch,
    /// When a node without a leader ends its jobs.
    fence_after: Span,
    table: SessionTable<LinkId>,
    sessions: BTreeMap<LinkId, Session>,
    /// When its term began, in milliseconds. Distinguishes it from other terms of the same
    /// controller.
    since_ms: u64,
    is_round_under_way: bool,
    /// Parts of the current round's decisions that are not proposed yet.
    parts: VecDeque<Command>,
    round_at_ms: u64,
    look_at_ms: u64,
    /// Events since the last round; `None` if some are unknown.
    pending_events: Option<Vec<Event>>,
    services: Services,
    mutant: Option<Mutant>,
    /// Violations that the engine's own judge has found.
    pub violations: Vec<String>,
    /// For a mutant: an old state that rounds use.
    stale: Option<State>,
    /// For a mutant: jobs whose promised start is withheld, and until when.
    broken: BTreeMap<JobKey, Time>,
    /// For a mutant: the silences that it counts.
    silences: Silences,
}

struct Session {
    id: SessionId,
    hello: Box<Hello>,
    live: Option<NodeSession>,
    reports: VecDeque<Vec<StepStatus>>,
    is_reporting: bool,
}

impl Lead {
    /// A leader at the beginning of its term.
    pub fn new(
        now_ms: u64,
        node_lost_after: Span,
        mutant: Option<Mutant>,
        judge: Rc<RefCell<ServiceJudge>>,
    ) -> Self {
        Self {
            rounds: Rounds::default(),
            watch: Watch::new(Limits { node_lost_after }),
            fence_after: Span(node_lost_after.0.saturating_sub(FENCE_MARGIN_MS)),
            table: SessionTable::default(),
            sessions: BTreeMap::new(),
            since_ms: now_ms,
            is_round_under_way: false,
            parts: VecDeque::new(),
            round_at_ms: now_ms,
            look_at_ms: now_ms,
            pending_events: None,
            services: Services::new(now_ms, judge),
            mutant,
            violations: Vec::new(),
            stale: None,
            broken: BTreeMap::new(),
            silences: Silences::new(),
        }
    }

    /// Ends all sessions at the end of the term. The silences are returned for a mutant.
    pub fn end(self, leader: Option<&str>) -> (Vec<Output>, Silences) {
        let mut outputs = Vec::new();
        for link in self.sessions.into_keys() {
            let leader = leader.map(str::to_owned);
            outputs.push(Output::Down(link, Box::new(ToNode::NotLeader { leader })));
            outputs.push(Output::Close(link));
        }
        (outputs, self.silences)
    }

    /// Does this connection have a session that the state has registered?
    pub fn has_session(&self, link: LinkId) -> bool {
        self.sessions.get(&link).is_some_and(|session| session.live.is_some())
    }

    /// Handles a message from a node.
    pub fn on_message(
        &mut self,
        link: LinkId,
        message: FromNode,
        state: &State,
        requests: &mut Requests,
    ) {
        match message {
            FromNode::Hello(hello) => self.welcome(link, hello, state, requests),
            FromNode::Report(steps) => {
                if let Some(session) = self.sessions.get_mut(&link) {
                    session.reports.push_back(steps);
                    self.report(link, requests);
                }
            }
            FromNode::Health(findings) => {
                let live = self.sessions.get(&link).and_then(|session| session.live.as_ref());
                let command = live.and_then(|live| live.health_command(state, findings));
                requests.commands.extend(command.map(|command| (command, Ticket::Unused)));
            }
            FromNode::Data(data) => {
                let live = self.sessions.get(&link).and_then(|session| session.live.as_ref());
                let command = live.and_then(|live| live.data_command(state, data));
                requests.commands.extend(command.map(|command| (command, Ticket::Unused)));
            }
            FromNode::ConfirmLeader { number } => {
                requests.reads.push(Ticket::Confirm(link, number));
            }
            FromNode::Replicas(statuses) => self.note_replicas(link, statuses),
            FromNode::RouterLoad(load) => self.note_load(link, load),
            FromNode::CertificateRenewed { generation } => self.renewed(link, generation),
            FromNode::Output(_)
            | FromNode::Task(_)
            | FromNode::Steps(_)
            | FromNode::Signalled(_)
            | FromNode::ReplicaLoads(_)
            | FromNode::IdleGpus(_) => {}
        }
    }

    fn welcome(&mut self, link: LinkId, hello: Box<Hello>, state: &State, requests: &mut Requests) {
        if let Err(reason) = lead::check_hello(state, &hello.name, &hello, NODE_PROTOCOLS) {
            return refuse(link, reason, requests);
        }
        if !self.has_valid_certificate(&hello, state) {
            return refuse(link, "its certificate is not valid".to_owned(), requests);
        }
        let (id, replaced) = self.table.join(&hello.name, link);
        if let Some(replaced) = replaced {
            self.sessions.remove(&replaced);
            requests.outputs.push(Output::Close(replaced));
        }
        requests.commands.push((lead::register_command(&hello), Ticket::Register(link)));
        let reports = VecDeque::new();
        let session = Session { id, hello, live: None, reports, is_reporting: false };
        self.sessions.insert(link, session);
        if self.mutant == Some(Mutant::EarlySession) {
            self.begin_session(link, state, requests);
        }
    }

    /// Handles the result of a registration: begins the session, or closes the connection.
    pub fn registered(
        &mut self,
        link: LinkId,
        events: Option<&[Event]>,
        state: &State,
        requests: &mut Requests,
    ) {
        let refusal = events.into_iter().flatten().find_map(|event| match event {
            Event::CommandRefused(refusal) => Some(refusal.to_string()),
            _ => None,
        });
        match (events, refusal) {
            (Some(_), None) => self.begin_session(link, state, requests),
            (Some(_), Some(reason)) => {
                self.forget(link);
                refuse(link, reason, requests);
            }
            (None, _) if self.mutant == Some(Mutant::KeepLeading) => {
                self.begin_session(link, state, requests);
            }
            (None, _) => {
                self.forget(link);
                let none = ToNode::NotLeader { leader: None };
                requests.outputs.push(Output::Down(link, Box::new(none)));
                requests.outputs.push(Output::Close(link));
            }
        }
    }

    fn begin_session(&mut self, link: LinkId, state: &State, requests: &mut Requests) {
        let Some(session) = self.sessions.get_mut(&link).filter(|s| s.live.is_none()) else {
            return;
        };
        self.table.note_registered(&session.hello.name, session.id);
        let (name, generation) = (&session.hello.name, session.hello.key_generation);
        self.table.note_key_generation(name, session.id, generation);
        let mut live = NodeSession::new(&session.hello, ORDERS_BYTES);
        let mut send = |message| requests.outputs.push(Output::Down(link, Box::new(message)));
        send(NodeSession::welcome(state, NODE_PROTOCOL, self.fence_after));
        if self.mutant != Some(Mutant::NoResend) || session.hello.steps.is_empty() {
            live.compare_at_once(state, true).into_iter().for_each(&mut send);
        }
        if let Some(table) = self.services.table().filter(|_| session.hello.routes) {
            send(ToNode::Routes(table.clone()));
        }
        session.live = Some(live);
        self.send_key(link, state, requests);
        self.report(link, requests);
    }

    /// Proposes the reports of a session one at a time, in order.
    fn report(&mut self, link: LinkId, requests: &mut Requests) {
        let Some(session) = self.sessions.get_mut(&link) else { return };
        let Some(live) = session.live.as_ref().filter(|_| !session.is_reporting) else { return };
        if !self.table.is_current(live.node(), session.id) {
            return;
        }
        if let Some(steps) = session.reports.pop_front() {
            session.is_reporting = true;
            requests.commands.push((live.report_command(steps), Ticket::Report(link)));
        }
    }

    /// Handles the result of a report. If it failed, the session ends, so that the node reports
    /// everything again.
    pub fn reported(&mut self, link: LinkId, is_taken: bool, requests: &mut Requests) {
        if let Some(session) = self.sessions.get_mut(&link) {
            session.is_reporting = false;
        }
        if is_taken || self.mutant == Some(Mutant::KeepLeading) {
            return self.report(link, requests);
        }
        self.closed(link, requests);
        requests.outputs.push(Output::Close(link));
    }

    pub fn closed(&mut self, link: LinkId, requests: &mut Requests) {
        let Some(session) = self.sessions.remove(&link) else { return };
        if self.table.leave(&session.hello.name, session.id) {
            let silent = NodeSession::new(&session.hello, ORDERS_BYTES).silence_command();
            requests.commands.push((silent, Ticket::Unused));
        }
    }

    fn forget(&mut self, link: LinkId) {
        if let Some(session) = self.sessions.remove(&link) {
            self.table.leave(&session.hello.name, session.id);
        }
    }

    /// Does everything that is due.
    pub fn act(
        &mut self,
        now_ms: u64,
        now: Time,
        state: &State,
        settings: &state::Settings,
        requests: &mut Requests,
    ) {
        if now_ms >= self.look_at_ms {
            self.look_at_ms = now_ms + lead::timers::LOOK_PERIOD.0;
            if state.settings().is_none() {
                requests.commands.push((Command::Configure(settings.clone()), Ticket::Unused));
            }
            self.advance_key(state, requests);
            self.add_up_silences(state, requests);
            let table = &self.table;
            let uptime = Span(now_ms);
            for due in self.watch.due_actions(state, |node| table.presence(node), now, uptime) {
                match due {
                    Due::Propose(command) => requests.commands.push((command, Ticket::Unused)),
                    Due::EndSession(node) => {
                        if let Some(link) = self.table.channel(&node).copied() {
                            self.closed(link, requests);
                            requests.outputs.push(Output::Close(link));
                        }
                    }
                }
            }
        }
        self.act_on_services(now_ms, now, state, requests);
        if now_ms >= self.round_at_ms && !self.is_round_under_way {
            self.round(now_ms, now, state, requests);
        }
    }

    /// When the next action is due, in milliseconds.
    pub fn next_at_ms(&self) -> u64 {
        let round = if self.is_round_under_way { u64::MAX } else { self.round_at_ms };
        self.look_at_ms.min(round).min(self.services.next_at_ms())
    }

    /// Handles the replacement of the state by a snapshot.
    pub fn restored(&mut self) {
        self.pending_events = None;
        self.services.notify();
    }
}
