//! Services in the simulated world: the load of the router, and the end of all services once the
//! faults have ended and each has what it wants.

use super::World;
use super::event::Event;
use crate::judge::Complaint;
use crate::message::{Input, Ticket};
use crate::services::{requests, requests_in_flight, service_number};
use crate::work::Action;
use common::id::{ControllerId, Uid};
use common::service::load::{RouterLoad, ServiceLoad};
use common::service::table::EndpointState;
use common::time::Span;
use common::wire::node::RouteOrder;
use state::{Actor, Command, ServiceAction, State};

/// Time between two reports of a router, in milliseconds.
const LOAD_MS: u64 = 2_000;
/// Services are judged from this time after the last fault, in milliseconds.
const CALM_MS: u64 = 10_000;
/// They must have what they want for this time, in milliseconds.
const SETTLED_MS: u64 = 3_000;
/// They must have it within this time after the last fault, in milliseconds.
const SETTLE_MAX_MS: u64 = 600_000;

/// What the end of a history has come to.
#[derive(Debug, Default)]
pub struct ServicesEnd {
    /// Since when all services have had what they want, in milliseconds.
    settled_ms: Option<u64>,
    /// They are stopped.
    pub is_stopping: bool,
}

impl World {
    /// The router on a node reports its load.
    pub(super) fn report_load(&mut self, place: usize) {
        self.agenda.add(self.now_ms + LOAD_MS, Event::Load(place));
        let (seed, now_ms) = (self.plan.seed, self.now_ms);
        let calm_ms = self.ready_ms.map(|ready_ms| ready_ms + self.plan.trouble_ms);
        self.with_node(place, |node, around, _| {
            let load = |route: &RouteOrder| {
                let number = service_number(&route.service);
                let in_flight = requests_in_flight(seed, number, now_ms, calm_ms);
                let mut ready = route.endpoints.iter().map(|one| one.state);
                let has_ready = ready.any(|state| state == EndpointState::Ready);
                ServiceLoad {
                    service: route.service.to_string(),
                    in_flight,
                    held: if has_ready { 0 } else { in_flight },
                    requests: requests(seed, number, now_ms, calm_ms),
                    endpoints: Vec::new(),
                }
            };
            let services = node.table.iter().map(load).collect();
            let load = RouterLoad { table_version: 1, uptime: Span(now_ms), services };
            if let Some(kantd) = &node.kantd {
                kantd.send_load(load, around);
            }
        });
    }

    /// Once all services have what they want, they are stopped.
    pub(super) fn look_at_services(&mut self, calm_ms: u64) {
        if self.services_end.is_stopping || self.now_ms < calm_ms + CALM_MS {
            return;
        }
        let works = self.plan.works.iter().zip(&self.progress);
        let mut on_services = works.filter(|(work, _)| matches!(work.action, Action::Service(_)));
        let are_answered = on_services.all(|(_, progress)| progress.is_over);
        let unsettled = match self.leading_state() {
            Some(state) => self.log.borrow().services.borrow().unsettled(state),
            None => vec!["no controller leads".to_owned()],
        };
        if !are_answered || !unsettled.is_empty() {
            self.services_end.settled_ms = None;
            if self.now_ms > calm_ms + SETTLE_MAX_MS {
                let text =
                    format!("{SETTLE_MAX_MS} ms after the trouble: {}", unsettled.join("; "));
                self.complaints.push(Complaint::new("services", text));
            }
            return;
        }
        let since_ms = *self.services_end.settled_ms.get_or_insert(self.now_ms);
        if self.now_ms >= since_ms + SETTLED_MS {
            self.services_end.is_stopping = true;
            self.story.add(self.now_ms, || "all services are stopped".to_owned());
        }
    }

    fn leading_state(&self) -> Option<&State> {
        let (leader, _) = self.leader()?;
        let process = self.hosts.get(&leader)?.process.as_ref()?;
        Some(&process.replica().machine().state)
    }

    /// At the end, the operator stops every service.
    pub(super) fn stop_services(&mut self, leader: ControllerId) {
        if !self.services_end.is_stopping {
            return;
        }
        let Some(state) = self.leading_state() else { return };
        let living = state.services().filter(|service| !service.is_stopping);
        let stops: Vec<Command> = living
            .map(|service| Command::ActOnService {
                actor: Actor::operator(Uid(0)),
                name: service.name.clone(),
                action: ServiceAction::Stop,
            })
            .collect();
        for command in stops {
            self.input(leader, Input::Propose(Box::new(command), Ticket::Unused));
        }
    }
}
