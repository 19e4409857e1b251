//! The whole controller without its log and sockets: every submission, round and node report goes
//! through `state::apply`, and the engine sees the snapshot that the state's keeper maintains, as
//! in production. Use is charged, so fair share works, and what the policy refuses is refused.
//!
//! Users of a trace do not exist on this host, so queues, QoS and accounts with restricted access
//! are open to all here. A command that the state refuses is an error.

use super::stage::{Entry, Stage};
use super::{Cluster, ReplayError};
use common::id::{AttemptId, Gid, JobKey, RequestKey};
use common::job::{Ask, EndCause, ExitStatus, Owner, Phase, StepEnd, Usage};
use common::policy::{Access, Order, Policy};
use common::reason::Refusal;
use common::time::{Span, Time};
use common::wire::node::{StepPhase, StepStatus};
use engine::{Decision, Round, WaitingJob};
use state::snapshot::{SnapshotKeeper, UsedSoFar, enact_command, never_fits};
use state::usage::Hour;
use state::{Command, Event, Settings, Stamped, State};

/// How often use is updated, as by the leader.
const USAGE_EVERY: Span = Span::from_minutes(1);

/// A state, and the engine's view of it.
pub(super) struct WholeController {
    state: State,
    keeper: SnapshotKeeper,
    /// Whether the order depends on past use.
    weighs_use: bool,
    /// When the engine last got the use. `None`: never.
    usage_at: Option<Time>,
    /// When the state last removed ended jobs.
    forgot: Hour,
}

impl WholeController {
    /// A cluster with these nodes, connected and idle.
    pub fn new(cluster: &Cluster, policy: Policy) -> Result<Self, ReplayError> {
        let by_use = policy.queues.iter().any(|queue| queue.order == Order::Multifactor);
        let mut stage = Self {
            state: State::default(),
            keeper: SnapshotKeeper::default(),
            weighs_use: by_use && policy.factors.fair_share > 0,
            usage_at: None,
            forgot: Hour(0),
        };
        let mut events = stage.apply(Command::Configure(settings(policy)), Time(0))?;
        for node in cluster.snapshots() {
            let hello = Command::RegisterNode {
                name: node.name.clone(),
                identity: node.name.to_string(),
                address: node.name.to_string(),
                version: "replay".to_owned(),
                inventory: Box::new((*node.inventory).clone()),
                steps: Vec::new(),
            };
            events.extend(stage.apply(hello, Time(0))?);
        }
        stage.keeper.update(&stage.state, &events);
        stage.keeper.snapshot_mut().set_skip_reasons(true);
        stage.keeper.snapshot_mut().prepare_for_round(Time(0));
        Ok(stage)
    }

    /// Applies a command that nothing should refuse. The keeper is not updated yet.
    fn apply(&mut self, command: Command, now: Time) -> Result<Vec<Event>, ReplayError> {
        let events = state::apply(&mut self.state, &Stamped { at: now, command });
        none_refused(&events)?;
        Ok(events)
    }

    /// Every node of a job's attempt reports this of its step. Adds the events to earlier ones.
    fn report(
        &mut self,
        events: &mut Vec<Event>,
        key: JobKey,
        phase: StepPhase,
        now: Time,
    ) -> Result<(), ReplayError> {
        let expected = "running";
        let wrong = || ReplayError::WrongState { job: u64::from(key.job.0), expected };
        let (_, element) = self.state.element(key).ok_or_else(wrong)?;
        let id = AttemptId { key, attempt: element.attempt };
        let allocation = element.run.as_ref().ok_or_else(wrong)?.allocation.clone();
        // One event for each share, and a few of the job.
        events.reserve(allocation.shares().len() + 2);
        let first = events.len();
        let mut steps = vec![StepStatus { id, phase }];
        for share in allocation.shares() {
            let command = Command::ReportSteps { node: share.node.clone(), steps };
            let report = Stamped { at: now, command };
            state::apply_to(&mut self.state, events, &report);
            let Command::ReportSteps { steps: same, .. } = report.command else { break };
            steps = same;
        }
        none_refused(&events[first..])
    }

    /// All nodes have left a job, which must be in this phase then.
    fn note_left_nodes(
        &mut self,
        key: JobKey,
        cause: EndCause,
        then: Phase,
        now: Time,
    ) -> Result<(), ReplayError> {
        let exit = ExitStatus { code: 0, signal: None };
        let (usage, message) = (Usage::default(), None);
        let end = StepEnd {
            cause,
            exit,
            started_at: Some(now),
            ended_at: now,
            held: None,
            ran: None,
            usage,
            message,
            steps: Vec::new(),
        };
        let mut events = Vec::new();
        self.report(&mut events, key, StepPhase::Ended(Box::new(end)), now)?;
        self.keeper.update(&self.state, &events);
        if self.state.element(key).is_none_or(|(_, element)| element.phase != then) {
            let expected = if then == Phase::Done { "over" } else { "waiting again" };
            return Err(ReplayError::WrongState { job: u64::from(key.job.0), expected });
        }
        // Often enough for records that are kept by the hour, and rarely enough to cost nothing.
        if Hour::of(now) > self.forgot {
            self.forgot = Hour::of(now);
            let events = self.apply(Command::ForgetDone, now)?;
            self.keeper.update(&self.state, &events);
        }
        Ok(())
    }
}

impl Stage for WholeController {
    fn submit(&mut self, job: &WaitingJob, now: Time) -> Result<Entry, ReplayError> {
        let ask = ask(job);
        match never_fits(&self.state, self.keeper.snapshot(), &ask) {
            None => {}
            Some(Refusal::NeverFits { .. }) => return Ok(Entry::NeverFits),
            // A quota or a limit, which the check of the nodes does not cover.
            Some(refusal) => return Ok(Entry::Refused(Box::new(refusal))),
        }
        let name = job.owner.to_string();
        let command = Command::SubmitJob {
            request_key: RequestKey(format!("job-{}", self.state.last_job_id().0 + 1)),
            owner: Owner { uid: job.owner, gid: Gid(job.owner.0), name },
            groups: Vec::new(),
            operator: false,
            via: None,
            ask: Box::new(ask),
            script: "#!/bin/sh\n".to_owned(),
            environment: String::new(),
        };
        let events = state::apply(&mut self.state, &Stamped { at: now, command });
        if let Err(refusal) = state::event::changed_jobs(&events) {
            return Ok(Entry::Refused(Box::new(refusal)));
        }
        self.keeper.update(&self.state, &events);
        Ok(Entry::Waits(JobKey::single(self.state.last_job_id())))
    }

    fn decide(&mut self, now: Time) -> Round {
        if self.weighs_use && self.usage_at.is_none_or(|at| at + USAGE_EVERY <= now) {
            self.keeper.set_usage(UsedSoFar::by(&self.state, now));
            self.usage_at = Some(now);
        }
        let snapshot = self.keeper.snapshot_mut();
        snapshot.prepare_for_round(now);
        let mut round = engine::schedule(snapshot, now);
        snapshot.set_planned_starts(std::mem::take(&mut round.planned_starts));
        snapshot.set_resume_cursor(std::mem::take(&mut round.resume_cursor));
        round
    }

    fn enact(&mut self, round: &Round, now: Time) -> Result<(), ReplayError> {
        if let Some(command) = enact_command(&round.decisions) {
            let mut events = self.apply(command, now)?;
            let running = StepPhase::Running { since: now, suspended: false };
            for decision in &round.decisions {
                if let Decision::Start { key, .. } = decision {
                    self.report(&mut events, *key, running.clone(), now)?;
                }
            }
            self.keeper.update(&self.state, &events);
        }
        self.keeper.snapshot_mut().add_found_full(round.full.clone());
        Ok(())
    }

    fn end_job(&mut self, key: JobKey, cause: EndCause, now: Time) -> Result<(), ReplayError> {
        self.note_left_nodes(key, cause, Phase::Done, now)
    }

    fn end_preempted(
        &mut self,
        key: JobKey,
        again: Option<&WaitingJob>,
        now: Time,
    ) -> Result<(), ReplayError> {
        let then = if again.is_some() { Phase::Pending } else { Phase::Done };
        self.note_left_nodes(key, EndCause::Stopped, then, now)
    }

    fn waiting_count(&self) -> usize {
        self.keeper.snapshot().waiting_count()
    }
}

/// Finds what nothing should refuse and was refused.
fn none_refused(events: &[Event]) -> Result<(), ReplayError> {
    events.iter().try_for_each(|event| match event {
        Event::CommandRefused(refusal) => {
            Err(ReplayError::Refused { refusal: Box::new(refusal.clone()) })
        }
        Event::RoundEntryRefused { id, reason } => {
            Err(ReplayError::NotEnacted { id: *id, reason: reason.clone() })
        }
        _ => Ok(()),
    })
}

/// The submission that makes a job wait like this.
fn ask(job: &WaitingJob) -> Ask {
    Ask {
        queue: Some(job.queue.clone()),
        account: job.account.clone(),
        qos: job.qos.clone(),
        request: (*job.request).clone(),
        time_limit: job.time_limit,
        service: job.service,
        requeue: true,
        ..Ask::default()
    }
}

/// The settings of a controller with this policy, with open access. Ended jobs are removed at once,
/// since the replay keeps its own record.
fn settings(mut policy: Policy) -> Settings {
    policy.queues.iter_mut().for_each(|queue| queue.access = Access::default());
    policy.qos.iter_mut().for_each(|qos| qos.access = Access::default());
    policy.accounts.iter_mut().for_each(|account| account.access = Access::default());
    let Policy { queues, qos, accounts, fair_sharing, yields_first, factors, moves, topology } =
        policy;
    Settings {
        cluster: "replay".to_owned(),
        queues,
        allow_root_jobs: false,
        kill_grace: Span(0),
        done_jobs_kept: Span(0),
        user_bounds: state::UserBounds::NONE,
        qos,
        accounts,
        fair_sharing,
        yields_first,
        factors,
        moves,
        topology,
    }
}
