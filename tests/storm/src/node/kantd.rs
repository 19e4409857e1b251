//! The simulated kantd: desired state, observed state and the session, around the real
//! `node::reconcile`. It keeps nothing that its journals could not restore.

use super::course::Ending;
use super::{Course, Node, Step, Surroundings, ended};
use crate::message::{LinkId, NodeOutput};
use crate::mutants::Mutant;
use crate::rng::Rng;
use common::id::{AttemptId, ControllerId};
use common::job::{ReplicaStatus, StepEnd};
use common::service::load::RouterLoad;
use common::time::Time;
use common::wire::node::{
    FenceTerms, FromNode, Hello, NODE_PROTOCOL, StepPhase, StepStatus, ToNode,
};
use node::{DeclineReason, Desired, NodeAction, Observed, reconcile};
use std::collections::BTreeMap;

/// One run of kantd.
pub struct Kantd {
    /// Chooses the next controller to connect to.
    pub course: Course,
    /// Its connection, if it has one.
    pub link: Option<LinkId>,
    /// Whether the controller has welcomed it on that connection.
    pub is_welcomed: bool,
    desired: Desired,
    observed: Observed,
    reported: Observed,
    /// What probes say of the replicas, and what the controller knows of it.
    replicas: BTreeMap<AttemptId, ReplicaStatus>,
    replicas_reported: BTreeMap<AttemptId, ReplicaStatus>,
    /// When the last Hello was sent, in milliseconds.
    hello_ms: u64,
    /// The terms in its answer.
    terms: Option<FenceTerms>,
    /// When the requests on this connection to confirm the leader were sent, by number.
    asked: BTreeMap<u64, u64>,
}

impl Kantd {
    /// A kantd that found these steps in the journals.
    pub fn new(held: Vec<StepStatus>) -> Self {
        Self {
            course: Course::default(),
            link: None,
            is_welcomed: false,
            desired: Desired::new(),
            observed: held.into_iter().collect(),
            reported: Observed::new(),
            replicas: BTreeMap::new(),
            replicas_reported: BTreeMap::new(),
            hello_ms: 0,
            terms: None,
            asked: BTreeMap::new(),
        }
    }

    /// Takes a new connection, and returns the first message on it.
    pub fn hello(
        &mut self,
        node: &Node,
        now_ms: u64,
        link: LinkId,
        mutant: Option<Mutant>,
    ) -> FromNode {
        (self.link, self.hello_ms) = (Some(link), now_ms);
        self.is_welcomed = false;
        self.reported = self.observed.clone();
        self.replicas_reported.clear();
        let mut steps = self.reported.statuses();
        if mutant == Some(Mutant::HidesEnds) {
            steps.retain(|step| !matches!(step.phase, StepPhase::Ended(_)));
        }
        FromNode::Hello(Box::new(Hello {
            protocol: NODE_PROTOCOL,
            oldest_protocol: None,
            // In place of the certificate, which a connection has besides its messages.
            version: node.enrolment.to_string(),
            name: node.name.clone(),
            address: format!("{}.example", node.name),
            identity: node.identity.clone(),
            inventory: node.inventory.clone(),
            steps,
            starts_tasks: false,
            routes: node.has_router,
            key_generation: node.key_generation,
        }))
    }

    /// Handles a message from the controller.
    pub fn on_message(
        &mut self,
        node: &mut Node,
        message: ToNode,
        rng: &mut Rng,
        around: &mut Surroundings<'_>,
    ) {
        match message {
            ToNode::Welcome { fence, .. } => {
                self.is_welcomed = true;
                node.note_contact(self.hello_ms, fence);
                (self.terms, self.asked) = (fence, BTreeMap::new());
                self.course.welcomed();
                self.send_health(node, around);
                self.report(around);
                self.report_replicas(around);
            }
            ToNode::LeaderConfirmed { number } => {
                if let Some(at_ms) = self.asked.remove(&number) {
                    node.note_contact(at_ms, self.terms);
                }
            }
            ToNode::Routes(table) => node.table = table,
            ToNode::KeyGeneration { generation } if generation > node.key_generation => {
                node.key_generation = generation;
                if let Some(link) = self.link {
                    let renewed = FromNode::CertificateRenewed { generation };
                    around.outputs.push(NodeOutput::Up(link, Box::new(renewed)));
                }
            }
            ToNode::KeyGeneration { .. } => {}
            ToNode::Desired(update) => {
                // Updates before the first complete one are ignored, as in kantd.
                let _ = self.desired.apply(update);
                self.act(node, around);
            }
            ToNode::Refused { .. } => self.hang_up(Ending::Refused, rng, around),
            ToNode::NotLeader { leader } => {
                let hint = leader.as_deref().and_then(controller_at);
                self.hang_up(Ending::NotLeader(hint), rng, around);
            }
            ToNode::ReadOutput(_)
            | ToNode::StartTask(_)
            | ToNode::WatchTask(_)
            | ToNode::FeedTask(_)
            | ToNode::AskSteps(_)
            | ToNode::SignalJob(_)
            | ToNode::SignalTask(_) => {}
        }
    }

    /// Ends the session or the connection, and plans the next connection.
    pub fn hang_up(&mut self, ending: Ending, rng: &mut Rng, around: &mut Surroundings<'_>) {
        if let Some(link) = self.link.take() {
            around.outputs.push(NodeOutput::Close(link));
        }
        self.is_welcomed = false;
        self.desired.invalidate();
        around.outputs.push(NodeOutput::DialIn(self.course.wait_ms(ending, rng)));
    }

    pub fn note(&mut self, status: StepStatus) {
        self.observed.insert(status.id, status.phase);
    }

    /// Carries out the actions of `reconcile`, and reports changes.
    pub fn act(&mut self, node: &mut Node, around: &mut Surroundings<'_>) {
        for action in reconcile(&self.desired, &self.observed) {
            match action {
                NodeAction::Launch(order) => {
                    let Some(step) = Step::begin(&order, &node.name, around) else { continue };
                    let machine = (&node.name, node.identity.as_str());
                    around.nodes.launched(around.now_ms, machine, order.id, &step.share);
                    around.users.launched(order.id);
                    self.observed.insert(order.id, StepPhase::Preparing);
                    node.steps.insert(order.id, step);
                }
                NodeAction::Go(id) => {
                    if let Some(step) = node.steps.get_mut(&id) {
                        step.go(id, around);
                        self.note(step.status(id));
                    }
                }
                NodeAction::Suspend(id) | NodeAction::Resume(id) => {
                    if let Some(step) = node.steps.get_mut(&id) {
                        step.set_suspended(id, matches!(action, NodeAction::Suspend(_)), around);
                        self.note(step.status(id));
                    }
                }
                NodeAction::Limit(id, limit) => self.observed.record_limit(id, limit),
                NodeAction::Resize(id, resized) => self.observed.record_resize(id, resized.number),
                NodeAction::Stop(id) => {
                    if let Some(step) = node.steps.get_mut(&id)
                        && step.stop(id, around)
                    {
                        around.nodes.stopped(&node.name, id, around.frontier);
                    }
                }
                NodeAction::Forget(id) => {
                    node.steps.remove(&id);
                    self.observed.forget(id);
                }
                NodeAction::Decline(id, reason) => {
                    self.observed.insert(id, declined(reason, around.clock));
                }
            }
        }
        self.report(around);
    }

    /// Asks whether the controller leads, when that is due.
    pub fn ask_leader(&mut self, around: &mut Surroundings<'_>) {
        let (Some(link), Some(terms)) = (self.link.filter(|_| self.is_welcomed), self.terms) else {
            return;
        };
        let last = self.asked.last_key_value().map(|(number, at_ms)| (*number, *at_ms));
        if last.is_some_and(|(_, at_ms)| around.now_ms < at_ms + terms.ask_every.0) {
            return;
        }
        let number = around.now_ms;
        self.asked.insert(number, around.now_ms);
        around.outputs.push(NodeOutput::Up(link, Box::new(FromNode::ConfirmLeader { number })));
    }

    /// Reports all health findings of the machine, and its data.
    pub fn send_health(&self, node: &Node, around: &mut Surroundings<'_>) {
        let Some(link) = self.link.filter(|_| self.is_welcomed) else { return };
        let health = FromNode::Health(node.findings.clone());
        around.outputs.push(NodeOutput::Up(link, Box::new(health)));
        let data = FromNode::Data(vec!["model".parse().expect("a valid name")]);
        around.outputs.push(NodeOutput::Up(link, Box::new(data)));
    }

    /// Takes what a probe says of a replica, and reports it if it is new.
    pub fn note_replica(&mut self, status: ReplicaStatus, around: &mut Surroundings<'_>) {
        self.replicas.insert(status.id, status);
        self.report_replicas(around);
    }

    fn report_replicas(&mut self, around: &mut Surroundings<'_>) {
        let Some(link) = self.link.filter(|_| self.is_welcomed) else { return };
        let runs =
            |id: &AttemptId| matches!(self.observed.phase(*id), Some(StepPhase::Running { .. }));
        self.replicas.retain(|id, _| runs(id));
        let is_news =
            |status: &&ReplicaStatus| self.replicas_reported.get(&status.id) != Some(*status);
        let news: Vec<ReplicaStatus> = self.replicas.values().filter(is_news).cloned().collect();
        self.replicas_reported = self.replicas.clone();
        if !news.is_empty() {
            around.outputs.push(NodeOutput::Up(link, Box::new(FromNode::Replicas(news))));
        }
    }

    /// Sends what the router on the node has measured.
    pub fn send_load(&self, load: RouterLoad, around: &mut Surroundings<'_>) {
        let Some(link) = self.link.filter(|_| self.is_welcomed) else { return };
        around.outputs.push(NodeOutput::Up(link, Box::new(FromNode::RouterLoad(load))));
    }

    fn report(&mut self, around: &mut Surroundings<'_>) {
        let Some(link) = self.link.filter(|_| self.is_welcomed) else { return };
        let news = self.observed.changes_since(&self.reported);
        if !news.is_empty() {
            around.outputs.push(NodeOutput::Up(link, Box::new(FromNode::Report(news))));
        }
        self.reported = self.observed.clone();
    }
}

/// The controller at an address.
fn controller_at(address: &str) -> Option<ControllerId> {
    let number = address.strip_prefix('c')?.strip_suffix(":1")?;
    number.parse().ok().map(ControllerId)
}

fn declined(reason: DeclineReason, at: Time) -> StepPhase {
    let message = Some(reason.to_string());
    StepPhase::Ended(Box::new(StepEnd { message, ..ended(reason.cause(), 0, None, at) }))
}
