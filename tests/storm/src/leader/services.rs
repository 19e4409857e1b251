//! Services of a simulated leader: the loop of `kantctld` around `lead::services`, which decides.

use super::Lead;
use super::service_bugs::{self, OldReports};
use crate::judge::services::ServiceJudge;
use crate::message::{LinkId, Output, Ticket};
use crate::mutants::Mutant;
use crate::requests::Requests;
use common::autoscale::LocalTime;
use common::id::NodeName;
use common::job::ReplicaStatus;
use common::service::load::RouterLoad;
use common::time::Time;
use common::wire::node::{RouteOrder, ToNode};
use lead::services::{Autoscaler, DECIDE_EVERY, LOOK_PERIOD, Readiness};
use state::service::Service;
use state::{Command, Event, State};
use std::cell::RefCell;
use std::rc::Rc;

/// The shortest time between two looks, in milliseconds, as in the daemon.
const PAUSE_MS: u64 = 50;
/// The pause after commands that the log did not accept, in milliseconds, as in the daemon.
const FAILED_MS: u64 = 500;
/// The shortest time between two decisions of policies, in milliseconds, as in the daemon.
const DECIDE_PAUSE_MS: u64 = 400;

/// What a leader keeps for services.
pub(super) struct Services {
    judge: Rc<RefCell<ServiceJudge>>,
    pub(super) readiness: Readiness,
    autoscaler: Autoscaler,
    /// Messages of nodes that are not taken in yet.
    reports: Vec<(NodeName, Report)>,
    /// The last table for routers; `None` until replicas have been reported.
    table: Option<Vec<RouteOrder>>,
    has_begun: bool,
    decided_ms: Option<u64>,
    /// Commands without a result.
    open: usize,
    has_failed: bool,
    /// No look before this time.
    paused_until_ms: u64,
    /// A look at this time at the latest.
    look_at_ms: u64,
    is_notified: bool,
    /// For a mutant.
    pub(super) old: OldReports,
}

/// What a node sends about replicas or its router.
enum Report {
    Replicas(Vec<ReplicaStatus>),
    Load(RouterLoad),
}

impl Services {
    pub(super) fn new(now_ms: u64, judge: Rc<RefCell<ServiceJudge>>) -> Self {
        Self {
            judge,
            readiness: Readiness::default(),
            autoscaler: Autoscaler::default(),
            reports: Vec::new(),
            table: None,
            has_begun: false,
            decided_ms: None,
            open: 0,
            has_failed: false,
            paused_until_ms: 0,
            look_at_ms: now_ms,
            is_notified: false,
            old: OldReports::default(),
        }
    }

    /// When it acts next, in milliseconds.
    pub(super) fn next_at_ms(&self) -> u64 {
        let due_ms = if self.is_notified { 0 } else { self.look_at_ms };
        if self.open > 0 { u64::MAX } else { due_ms.max(self.paused_until_ms) }
    }

    pub(super) fn notify(&mut self) {
        self.is_notified = true;
    }

    pub(super) fn table(&self) -> Option<&Vec<RouteOrder>> {
        self.table.as_ref()
    }
}

impl Lead {
    /// Takes a report on replicas from a node.
    pub(super) fn note_replicas(&mut self, link: LinkId, statuses: Vec<ReplicaStatus>) {
        if let Some(node) = self.reporter(link) {
            self.services.reports.push((node, Report::Replicas(statuses)));
        }
    }

    /// Takes a report of the router on a node.
    pub(super) fn note_load(&mut self, link: LinkId, load: RouterLoad) {
        if let Some(node) = self.reporter(link) {
            self.services.reports.push((node, Report::Load(load)));
        }
    }

    fn reporter(&self, link: LinkId) -> Option<NodeName> {
        let session = self.sessions.get(&link).filter(|session| session.live.is_some())?;
        let node = &session.hello.name;
        self.table.is_current(node, session.id).then(|| node.clone())
    }

    /// Takes in what nodes have reported, and looks at the services if that is due.
    pub(super) fn act_on_services(
        &mut self,
        now_ms: u64,
        now: Time,
        state: &State,
        requests: &mut Requests,
    ) {
        let services = &mut self.services;
        if !std::mem::replace(&mut services.has_begun, true) {
            services.readiness.start_term(now);
            services.judge.borrow_mut().leads(self.since_ms);
        }
        for (node, report) in std::mem::take(&mut services.reports) {
            let is_news = match report {
                Report::Replicas(statuses) => {
                    services.judge.borrow_mut().shown(&statuses);
                    services.old.note(&node, &statuses);
                    services.readiness.note_report(&node, statuses, now)
                }
                Report::Load(load) => services.autoscaler.note_router_load(&node, load, now),
            };
            services.is_notified |= is_news;
        }
        if now_ms >= services.next_at_ms() {
            self.look_at_services(now_ms, now, state, requests);
        }
    }

    fn look_at_services(&mut self, now_ms: u64, now: Time, state: &State, requests: &mut Requests) {
        self.services.is_notified = false;
        let scaled = self.decide_policies(now_ms, now, state);
        let services = &mut self.services;
        services.readiness.prune(state, now);
        match self.mutant {
            Some(Mutant::CountOldProbe) => {
                services.old.count(state, &mut services.readiness, now);
            }
            Some(Mutant::ForgetReports) => {
                service_bugs::report_unready(state, &mut services.readiness, now);
            }
            _ => {}
        }
        let mut plan = lead::services::plan_services(state, &services.readiness, now);
        if let Some(orders) = lead::services::routes(state, &services.readiness, now) {
            self.publish(state, orders, requests);
        }
        self.spoil(state, &mut plan.commands);
        plan.commands.extend(scaled);
        let services = &mut self.services;
        services.judge.borrow_mut().decided(self.since_ms, state, &plan.commands);
        services.open = plan.commands.len();
        services.has_failed = false;
        services.paused_until_ms = now_ms + PAUSE_MS;
        let period = if has_policies(state) { DECIDE_EVERY } else { LOOK_PERIOD };
        let wait = plan.look_at.map_or(period, |at| at.since(now).min(period));
        services.look_at_ms = now_ms + wait.0;
        let ticket = Ticket::Service(self.since_ms);
        requests.commands.extend(plan.commands.into_iter().map(|command| (command, ticket)));
    }

    /// The decisions of autoscaling policies, if they are due.
    fn decide_policies(&mut self, now_ms: u64, now: Time, state: &State) -> Vec<Command> {
        let services = &mut self.services;
        let is_due = services.decided_ms.is_none_or(|at_ms| now_ms >= at_ms + DECIDE_PAUSE_MS);
        if !is_due || !has_policies(state) {
            return Vec::new();
        }
        services.decided_ms = Some(now_ms);
        services.autoscaler.decide(state, &services.readiness, now, LocalTime::utc(now))
    }

    /// Sends a table to the routers, if it is new.
    fn publish(&mut self, state: &State, mut orders: Vec<RouteOrder>, requests: &mut Requests) {
        if self.mutant == Some(Mutant::ListDraining) {
            service_bugs::list_draining(&mut orders);
        }
        if self.services.table.as_ref() == Some(&orders) {
            return;
        }
        self.services.judge.borrow_mut().published(state, &orders);
        for (link, session) in &self.sessions {
            if session.hello.routes && session.live.is_some() {
                let message = Box::new(ToNode::Routes(orders.clone()));
                requests.outputs.push(Output::Down(*link, message));
            }
        }
        self.services.table = Some(orders);
    }

    /// Handles the result of a command for a service.
    pub fn service_answered(&mut self, now_ms: u64, since_ms: u64, events: Option<&[Event]>) {
        if since_ms != self.since_ms {
            // It was proposed in an earlier term of this controller.
            return;
        }
        let services = &mut self.services;
        let is_refused =
            |events: &[Event]| events.iter().any(|event| matches!(event, Event::CommandRefused(_)));
        services.has_failed |= events.is_none_or(is_refused);
        services.open = services.open.saturating_sub(1);
        if services.open == 0 {
            let pause_ms = if services.has_failed { FAILED_MS } else { PAUSE_MS };
            services.paused_until_ms = now_ms + pause_ms;
        }
    }
}

/// Whether any role has an autoscaling policy.
fn has_policies(state: &State) -> bool {
    let mut specs = state.services().filter_map(Service::spec);
    specs.any(|spec| spec.roles.iter().any(|role| role.autoscale.is_some()))
}
