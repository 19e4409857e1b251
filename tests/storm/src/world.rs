//! The simulated world: controllers, nodes, users, the network between them, and one agenda of
//! events. It runs a plan to its end in virtual time, in one thread. No real clock is read, so the
//! same plan always gives the same history.

mod controllers;
mod event;
mod faults;
mod host;
mod operator;
mod quiet;
mod releases;
mod rot;
mod services;
mod sessions;
mod settings;
mod trust;
mod users;

use crate::controller::ClusterConfig;
use crate::judge::Complaint;
use crate::judge::claims::ClaimJudge;
use crate::judge::log::LogJudge;
use crate::judge::nodes::NodeJudge;
use crate::judge::promises::PromiseJudge;
use crate::judge::register::RegisterJudge;
use crate::judge::trust::TrustJudge;
use crate::judge::users::UserJudge;
use crate::judge::votes::VoteJudge;
use crate::message::{Input, LinkId};
use crate::net::{Links, Net};
use crate::node::{Node, Surroundings};
use crate::plan::Plan;
use crate::rng::Rng;
use crate::story::Story;
use common::id::{ClusterId, ControllerId};
use common::time::Span;
use event::{Agenda, Event};
use host::Host;
use operator::Task;
use services::ServicesEnd;
use settings::three_queues;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use users::Progress;

/// The result of a history.
#[derive(Debug, Clone, Default)]
pub struct Verdict {
    /// Complaints of the judges; empty if all is well.
    pub complaints: Vec<Complaint>,
    /// The first and last lines of its story, if the story was recorded.
    pub story: Vec<String>,
    /// Its length, in virtual milliseconds.
    pub lasted_ms: u64,
    /// Number of acknowledged submissions.
    pub acknowledged: usize,
    /// Number of replicas of services.
    pub replicas: usize,
}

/// How often a node looks at its fence, in milliseconds.
const FENCE_LOOK_MS: u64 = 500;

pub struct World {
    now_ms: u64,
    agenda: Agenda,
    plan: Plan,
    config: ClusterConfig,
    hosts: BTreeMap<ControllerId, Host>,
    nodes: Vec<Node>,
    net: Net,
    links: Links,
    last_link: LinkId,
    progress: Vec<Progress>,
    tasks: VecDeque<Task>,
    machines: u64,
    /// When the cluster was up, in milliseconds; `None` if it is not yet.
    ready_ms: Option<u64>,
    /// The controller whose disk was damaged; at most one in a history.
    rotten: Option<ControllerId>,
    is_healed: bool,
    is_over: bool,
    services_end: ServicesEnd,
    log: Rc<RefCell<LogJudge>>,
    node_judge: NodeJudge,
    user_judge: UserJudge,
    claim_judge: ClaimJudge,
    register_judge: RegisterJudge,
    promise_judge: PromiseJudge,
    trust_judge: TrustJudge,
    votes: VoteJudge,
    /// Until then, controllers that grant a vote may be killed.
    voters_die_until_ms: u64,
    complaints: Vec<Complaint>,
    story: Story,
    rng: Rng,
}

impl World {
    /// The world of a plan, before its first event.
    pub fn new(plan: Plan, is_recorded: bool) -> Self {
        let log: Rc<RefCell<LogJudge>> = Rc::default();
        let config = ClusterConfig {
            cluster: ClusterId(plan.seed | 1 << 63),
            settings: three_queues(),
            node_lost_after: Span(plan.node_lost_after_ms),
            snapshot_every: plan.snapshot_every,
            snapshot_bytes_min: plan.snapshot_bytes_min,
            seed: plan.seed,
            mutant: plan.mutant,
            services: log.borrow().services.clone(),
            judge: log.clone(),
        };
        let mut rng = Rng::new(plan.seed, 4);
        let mut nodes: Vec<Node> =
            (0..plan.nodes).map(|place| Node::new(place, &mut rng)).collect();
        if plan.faults.iter().any(|fault| fault.kind.is_of_trust()) {
            // Elsewhere certificates play no part, and nodes have them from the beginning.
            nodes.iter_mut().for_each(|node| node.enrolment = 0);
        }
        let progress = plan.works.iter().map(|_| Progress::default()).collect();
        let mut world = Self {
            now_ms: 0,
            agenda: Agenda::default(),
            config,
            hosts: BTreeMap::new(),
            nodes,
            net: Net::new(Rng::new(plan.seed, 5)),
            links: Links::new(),
            last_link: LinkId(0),
            progress,
            tasks: VecDeque::new(),
            machines: 1,
            ready_ms: None,
            rotten: None,
            is_healed: false,
            is_over: false,
            services_end: ServicesEnd::default(),
            log,
            node_judge: NodeJudge::default(),
            user_judge: UserJudge::default(),
            claim_judge: ClaimJudge::default(),
            register_judge: RegisterJudge::default(),
            promise_judge: PromiseJudge::default(),
            trust_judge: TrustJudge::default(),
            votes: VoteJudge::default(),
            voters_die_until_ms: 0,
            complaints: Vec::new(),
            story: Story::new(is_recorded),
            rng,
            plan,
        };
        world.begin();
        world
    }

    fn begin(&mut self) {
        self.found();
        for _ in 1..self.plan.controllers {
            let task = self.new_member();
            self.tasks.push_back(task);
        }
        for node in 0..self.nodes.len() {
            let at_ms = self.rng.below(2_000);
            self.begin_trust(node, at_ms);
            self.agenda.add(at_ms, Event::Kantd(node));
            self.agenda.add(at_ms, Event::Fence(node));
        }
        self.agenda.add(10, Event::Operator);
        let routers = (0..self.nodes.len()).filter(|place| self.nodes[*place].has_router);
        routers.for_each(|place| self.agenda.add(20, Event::Load(place)));
        self.agenda.add(500, Event::Sample);
    }

    /// Runs until the history ends or a judge complains.
    pub fn run(&mut self) {
        while let Some((at_ms, event)) = self.agenda.pop() {
            self.now_ms = at_ms;
            self.happen(event);
            self.collect();
            if self.is_over || !self.complaints.is_empty() {
                break;
            }
        }
    }

    pub fn into_verdict(self) -> Verdict {
        Verdict {
            complaints: self.complaints,
            story: self.story.into_lines(),
            lasted_ms: self.now_ms,
            acknowledged: self.user_judge.acknowledged().count(),
            replicas: self.log.borrow().services.borrow().started,
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Run(id, at_ms) => self.run_controller(id, at_ms),
            Event::Tick(id, life) => self.tick(id, life),
            Event::Start(id) => self.start_controller(id),
            Event::PeerMessage { from, to, has_snapshot, bytes } => {
                self.peer_message_arrives(from, to, has_snapshot, bytes);
            }
            Event::Report(from, to, report) => {
                self.input(to, Input::Report(from, report));
            }
            Event::Work(work) => self.begin_work(work),
            Event::Ask(to, id, body) => self.ask_arrives(to, id, body),
            Event::AskAgain(id) => self.ask_again(id),
            Event::Reply(id, reply) => self.reply_arrives(id, reply),
            Event::Dial(node, life) => self.dial(node, life),
            Event::WelcomeLimit(link) => self.welcome_limit(link),
            Event::Up(link, message) => self.up_arrives(link, message),
            Event::Down(link, message) => self.down_arrives(link, message),
            Event::UpClosed(link) => self.up_closed(link),
            Event::DownClosed(link) => self.down_closed(link),
            Event::Step(node, id, change) => {
                self.with_node(node, |node, around, _| node.step_changes(id, change, around));
            }
            Event::Kantd(node) => self.start_kantd(node),
            Event::VoterDies(id) => self.voter_dies(id),
            Event::FaultBegins(place) => self.fault_begins(place),
            Event::FaultEnds(place) => self.fault_ends(place),
            Event::Operator => self.operate(),
            Event::Sample => self.sample(),
            Event::Fence(place) => {
                self.agenda.add(self.now_ms + FENCE_LOOK_MS, Event::Fence(place));
                self.with_node(place, |node, around, _| node.look_at_fence(around));
            }
            Event::Load(place) => self.report_load(place),
        }
    }

    /// Passes new events of the log to the judges, and collects all complaints.
    fn collect(&mut self) {
        let mut log = self.log.borrow_mut();
        let fresh = std::mem::take(&mut log.fresh);
        for (_, event) in &fresh {
            self.story.add(self.now_ms, || format!("log: {event:?}"));
            self.node_judge.read(self.now_ms, event, self.plan.node_lost_after_ms);
            self.promise_judge.read(event);
            log.services.borrow_mut().read(self.now_ms, event);
        }

        self.complaints.append(&mut log.complaints);
        self.complaints.append(&mut log.services.borrow_mut().complaints);
        self.complaints.append(&mut log.time.complaints);
        self.complaints.append(&mut self.node_judge.complaints);
        self.complaints.append(&mut self.user_judge.complaints);
        self.complaints.append(&mut self.promise_judge.complaints);
        drop(log);
        self.note_trust(&fresh);
    }

    /// Runs `act` on a node, then carries out the node's outputs.
    fn with_node(
        &mut self,
        place: usize,
        act: impl FnOnce(&mut Node, &mut Surroundings<'_>, &mut Rng),
    ) {
        let log = self.log.borrow();
        let mut services = log.services.borrow_mut();
        let mut around = Surroundings {
            now_ms: self.now_ms,
            clock: crate::steady::true_time(self.now_ms),
            seed: self.plan.seed,
            nodes: &mut self.node_judge,
            users: &mut self.user_judge,
            services: &mut services,
            is_calm: self.is_healed,
            mutant: self.plan.mutant,
            frontier: &log.frontier,
            outputs: Vec::new(),
        };
        act(&mut self.nodes[place], &mut around, &mut self.rng);
        let outputs = around.outputs;
        drop(services);
        drop(log);
        self.carry_out(place, outputs);
    }
}
