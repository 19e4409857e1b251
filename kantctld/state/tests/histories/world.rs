//! The player of random histories. It turns abstract moves into commands that fit the current
//! state, so that any list of moves is a history, even a shrunk one. It judges every answer.

mod arrays;
mod judging;
mod nodes;
mod rounds;
mod things;

use crate::moves::Move;
use common::id::{AttemptId, Gid, JobId, JobKey, NodeName, RequestKey, Uid};
use common::job::{JobSize, Owner, Phase};
use common::policy::Access;
use common::reservation::Reservation;
use common::resource::{Allocation, Share};
use common::time::{Span, Time};
use common::unit::{Nodes, Tasks};
use common::wire::node::StepStatus;
use proptest::test_runner::TestCaseError;
use state::command::KeyAction;
use state::invariant::Judge;
use state::invitation::Admits;
use state::snapshot::SnapshotKeeper;
use state::{Actor, Command, Event, Stamped, State, Target};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use things::{actor, ask, invitation, node, pick, reservation_name, settings, step_phase};

pub struct World {
    pub state: State,
    pub log: Vec<Stamped<Command>>,
    /// Every event as text, if requested.
    pub seen: Option<BTreeSet<String>>,
    now: Time,
    judge: Judge,
    decided: Option<Command>,
    /// The engine's snapshot, updated from events, and the events that it has not processed yet.
    keeper: SnapshotKeeper,
    /// The same without jobs.
    outline: SnapshotKeeper,
    pending_events: Vec<Event>,
    /// Acknowledged submissions by request, until the request is forgotten.
    acknowledged: BTreeMap<(Uid, RequestKey), JobId>,
    forgotten: BTreeSet<JobId>,
    submissions: Vec<Command>,
    /// Every attempt that ever started.
    attempts: Vec<AttemptId>,
    /// The shares that were given to running attempts, with their times.
    grown: BTreeMap<(AttemptId, NodeName), (Time, Share)>,
    /// The allocations with which attempts started, with their times.
    given: BTreeMap<AttemptId, (Time, Arc<Allocation>)>,
    cpu_milliseconds: u64,
    gpu_milli_milliseconds: u64,
    /// The maximum number of usage buckets that were added to.
    hours: u64,
}

impl World {
    /// A world with three nodes and one queue.
    pub fn new() -> Self {
        let state = State::default();
        let mut world = Self {
            judge: Judge::new(&state),
            state,
            log: Vec::new(),
            seen: None,
            now: Time(1_000_000),
            decided: None,
            keeper: SnapshotKeeper::default(),
            outline: SnapshotKeeper::default(),
            pending_events: Vec::new(),
            acknowledged: BTreeMap::new(),
            forgotten: BTreeSet::new(),
            submissions: Vec::new(),
            attempts: Vec::new(),
            grown: BTreeMap::new(),
            given: BTreeMap::new(),
            cpu_milliseconds: 0,
            gpu_milli_milliseconds: 0,
            hours: 0,
        };
        world.apply(Command::Configure(settings(true, 0))).unwrap();
        for node in 0..3 {
            world.play(&Move::Register(node, 0)).unwrap();
        }
        world
    }

    pub fn play(&mut self, step: &Move) -> Result<(), TestCaseError> {
        match step {
            Move::Submit(shape, user) => {
                let command = self.submission(*shape, *user);
                self.submissions.push(command.clone());
                self.apply(command)
            }
            Move::SubmitSet(shape, other, user) => {
                let command = self.set_submission(*shape, *other, *user);
                self.submissions.push(command.clone());
                self.apply(command)
            }
            Move::SubmitAgain(which) => match pick(&self.submissions, *which) {
                Some(command) => self.apply(command),
                None => Ok(()),
            },
            Move::Cancel(job, user) => {
                self.target(*job, |target| Command::CancelJob { actor: actor(*user), target })
            }
            Move::Hold(job, user) => {
                self.target(*job, |target| Command::HoldJob { actor: actor(*user), target })
            }
            Move::Release(job, user) => {
                self.target(*job, |target| Command::ReleaseJob { actor: actor(*user), target })
            }
            Move::Requeue(job, user) => {
                self.target(*job, |target| Command::RequeueJob { actor: actor(*user), target })
            }
            Move::ActOnTasks(which, user, part) => self.act_on_tasks(*which, *user, *part),
            Move::Suspend(job, user) => {
                let command = |actor, target| Command::SuspendJob { actor, target };
                self.act_on_job(Phase::Running, *job, *user, command)
            }
            Move::ResumeJob(job, user) => {
                let command = |actor, target| Command::ResumeJob { actor, target };
                self.act_on_job(Phase::Suspended, *job, *user, command)
            }
            Move::Checkpoint(job, user) => {
                let command = |actor, target| Command::CheckpointJob { actor, target };
                self.act_on_job(Phase::Running, *job, *user, command)
            }
            Move::Resize(job, user, size) => {
                let size = match size % 4 {
                    0 => JobSize::Tasks(Tasks(u32::from(size / 64))),
                    _ => JobSize::Nodes(Nodes(1 + u32::from(size / 128))),
                };
                let command = |actor, target| Command::ResizeJob { actor, target, size };
                self.act_on_job(Phase::Running, *job, *user, command)
            }
            Move::Round => {
                self.decide()?;
                self.enact()
            }
            Move::Decide => self.decide(),
            Move::EnactDecided => self.enact(),
            Move::Nonsense(a, b, c, d) => self.nonsense(*a, *b, *c, *d),
            Move::Place(a, b, c) => self.place(*a, *b, *c),
            Move::PlaceSet(at, how) => self.place_set(*at, *how),
            Move::Preempt(a, b, c) => self.preempt(*a, *b, *c),
            Move::Press(a, b, c) => self.press(*a, *b, *c),
            Move::Swell(a, b, c) => self.swell(*a, *b, *c),
            Move::Book(a, b, c) => self.book(*a, *b, *c),
            Move::Unbook(which) => self.apply(Command::DeleteReservation {
                actor: actor(which / 64),
                name: reservation_name(*which),
            }),
            Move::Deadlines(which) => self.deadlines(*which),
            Move::Progress(share, how) => self.progress(*share, *how),
            Move::Report(node_number, id, phase) => {
                let Some(id) = pick(&self.attempts, *id) else { return Ok(()) };
                let steps = vec![StepStatus { id, phase: step_phase(*phase) }];
                self.apply(Command::ReportSteps { node: node(*node_number), steps })
            }
            Move::Register(node, how) => self.register(*node, *how),
            Move::Silent(which) => self.apply(Command::NodeSilent { name: node(*which) }),
            Move::Lost(which) => self.apply(Command::NodeLost { name: node(*which) }),
            Move::Overdue => {
                let overdue = state::overdue(&self.state, self.now);
                overdue.into_iter().try_for_each(|id| self.apply(Command::StartOverdue { id }))
            }
            Move::Drain(which) => {
                let (actor, name) = (actor(*which / 64), node(*which));
                self.apply(Command::DrainNode { actor, name, reason: "dust".to_owned() })
            }
            Move::Resume(which) => {
                let (actor, name) = (actor(*which / 64), node(*which));
                self.apply(Command::ResumeNode { actor, name })
            }
            Move::Forget => self.apply(Command::ForgetDone),
            Move::Configure(which) => {
                self.apply(Command::Configure(settings(which % 2 == 0, which / 2)))
            }
            Move::Invite(which) => {
                let lasts = Span::from_minutes(60 * u64::from(which % 8));
                let (actor, hash) = (actor(which / 128), invitation(*which));
                let admits = match which % 16 {
                    even if even % 2 == 0 => Admits::Controller,
                    15 => Admits::AnyNode,
                    _ => Admits::Nodes((0..8).map(node).collect()),
                };
                self.apply(Command::Invite { actor, hash, lasts, admits })
            }
            Move::Join(which) => self.apply(join(*which)),
            Move::Wait(seconds) => {
                self.now = self.now + Span::from_seconds(u64::from(*seconds));
                Ok(())
            }
            Move::Crash => self.crash(),
        }
    }

    fn submission(&self, shape: u8, user: u8) -> Command {
        let uid = Uid(1000 + u32::from(user % 2));
        let number = self.submissions.len();
        Command::SubmitJob {
            request_key: RequestKey(format!("request-{number}")),
            owner: Owner { uid, gid: Gid(uid.0), name: format!("user{uid}") },
            groups: if user > 200 { vec![Gid(7)] } else { vec![] },
            operator: false,
            via: None,
            ask: Box::new(ask(shape, self.now)),
            script: format!("#!/bin/sh\nexit {}\n", shape % 4),
            environment: format!("USER={uid}\0"),
        }
    }

    fn set_submission(&self, shape: u8, other: u8, user: u8) -> Command {
        let uid = Uid(1000 + u32::from(user % 2));
        let number = self.submissions.len();
        // Arrays in sets are refused, so most sets have none.
        let of = |shape: u8| match shape % 16 {
            4 | 5 | 15 if !user.is_multiple_of(8) => ask(shape.wrapping_add(3) & 0xf0, self.now),
            _ => ask(shape, self.now),
        };
        let mut asks = vec![of(shape), of(other)];
        asks.extend((user % 4 == 3).then(|| of(shape ^ other)));
        // Options of the whole set belong to its first component; sometimes another one has them
        // too.
        if !user.is_multiple_of(16) {
            let first = asks[0].clone();
            for ask in &mut asks[1..] {
                (ask.hold, ask.requeue, ask.begin_at) = (first.hold, first.requeue, first.begin_at);
                (ask.deadline, ask.dependency) = (first.deadline, first.dependency.clone());
                ask.mail.clone_from(&first.mail);
            }
        }
        Command::SubmitSet {
            request_key: RequestKey(format!("request-{number}")),
            owner: Owner { uid, gid: Gid(uid.0), name: format!("user{uid}") },
            groups: if user > 200 { vec![Gid(7)] } else { vec![] },
            operator: false,
            via: None,
            asks,
            script: format!("#!/bin/sh\nexit {}\n", shape % 4),
            environment: format!("USER={uid}\0"),
        }
    }

    fn target(
        &mut self,
        which: u8,
        command: impl Fn(Target) -> Command,
    ) -> Result<(), TestCaseError> {
        // Sometimes a whole array, or a job that does not exist.
        let mut keys: Vec<JobKey> = self.state.jobs().map(|r| JobKey::single(r.id)).collect();
        for record in self.state.jobs() {
            keys.extend(record.set.map(|set| set.name()));
            keys.extend(record.elements.keys().map(|index| record.key(*index)));
        }
        keys.push(JobKey::single(JobId(self.state.last_job_id().0 + 1)));
        match pick(&keys, which) {
            Some(key) => self.apply(command(Target { key })),
            None => Ok(()),
        }
    }

    /// Usually by an operator, and usually for a job in this phase.
    fn act_on_job(
        &mut self,
        phase: Phase,
        which: u8,
        user: u8,
        command: impl Fn(Actor, Target) -> Command,
    ) -> Result<(), TestCaseError> {
        let actor = actor(if user < 224 { 0 } else { user });
        let is_there =
            |key: &JobKey| self.state.element(*key).is_some_and(|(_, e)| e.phase == phase);
        let keys: Vec<JobKey> = self.state.live().filter(is_there).collect();
        match pick(&keys, which).filter(|_| !user.is_multiple_of(8)) {
            Some(key) => self.apply(command(actor, Target { key })),
            None => self.target(which, |target| command(actor.clone(), target)),
        }
    }

    fn book(&mut self, which: u8, nodes: u8, when: u8) -> Result<(), TestCaseError> {
        let from = self.now + Span::from_minutes(u64::from(when / 8));
        let users = if when.is_multiple_of(2) { [Uid(1000)].into() } else { BTreeSet::new() };
        let reservation = Box::new(Reservation {
            name: reservation_name(which),
            nodes: (0..nodes % 3).map(|more| node(nodes.wrapping_add(more))).collect(),
            from,
            to: from + Span::from_minutes(u64::from(nodes / 4)),
            access: Access { users, ..Access::default() },
            maintenance: which > 220,
            by: Uid(5),
            comment: "a word".to_owned(),
        });
        let actor = actor(if which < 200 { 0 } else { 1 });
        let is_there = self.state.reservation(&reservation.name).is_some();
        self.apply(match is_there && nodes.is_multiple_of(2) {
            true => Command::UpdateReservation { actor, reservation },
            false => Command::CreateReservation { actor, reservation },
        })
    }

    fn deadlines(&mut self, which: u8) -> Result<(), TestCaseError> {
        let mut due = state::jobs_past_deadline(&self.state, self.now);
        let live: Vec<JobKey> = self.state.live().collect();
        due.extend(pick(&live, which).filter(|_| which.is_multiple_of(4)));
        due.into_iter().try_for_each(|key| self.apply(Command::DeadlineOver { key }))
    }
}

/// A controller or a node uses an invitation, or an operator revokes a node.
fn join(which: u8) -> Command {
    let (hash, name) = (invitation(which), node(which / 4));
    match which % 2 {
        _ if which > 240 => rotate(which),
        _ if which > 220 => Command::RevokeNode { actor: actor(which / 4), name },
        0 => Command::UseInvitation { hash, address: format!("c{which}:6820") },
        _ => Command::EnrolNode { hash, name, key: format!("key {}", which % 3) },
    }
}

/// A step of the replacement of the cluster key.
fn rotate(which: u8) -> Command {
    let actor = actor(which / 8);
    Command::RotateKey(match which % 8 {
        0..3 => KeyAction::Begin { actor, new: format!("authority {which}"), followed: 0 },
        3 => KeyAction::Cancel { actor },
        number => KeyAction::Advance { generation: u32::from(number) - 3, actor: None },
    })
}
