//! Sentences on a waiting job: its past, the first reason why it waits, its place, its priority,
//! and its expected start. Advice is in `advice`.

use super::living::preemption_reason;
use super::{advice, elastic, length, sentence, shared, start};
use common::id::JobKey;
use common::job::Preempted;
use common::policy::{Candidates, Order};
use common::reason::WaitReason;
use common::time::Time;
use common::wire::api::JobView;
use engine::{Forecast, Snapshot, WaitingJob};
use state::State;
use state::timeline::TimelineEvent;

/// The facts about a waiting job.
pub(super) struct Waiting<'a> {
    pub state: &'a State,
    pub job: &'a JobView,
    pub snapshot: &'a Snapshot,
    pub now: Time,
    pub forecast: Forecast,
    /// The first reason why it waits. A reason that holds forever takes precedence.
    pub reason: Option<WaitReason>,
}

impl<'a> Waiting<'a> {
    pub fn new(state: &'a State, job: &'a JobView, snapshot: &'a Snapshot, now: Time) -> Self {
        let last_round = job.reason.as_ref().map(|reason| reason.detail.clone());
        let is_bound = matches!(
            last_round,
            Some(WaitReason::QuotaExceeded { .. } | WaitReason::LimitReached { .. })
        );
        let asked = snapshot.waiting_job(job.key).filter(|_| is_bound);
        let for_ever = asked.and_then(|job| snapshot.could_ever_be_admitted(job).err());
        let reason = for_ever.or(last_round);
        let forecast = match &reason {
            None | Some(WaitReason::Held) => Forecast::default(),
            Some(reason) if reason.is_for_ever() => Forecast::default(),
            Some(_) => engine::forecast(snapshot, now, job.key),
        };
        Self { state, job, snapshot, now, forecast, reason }
    }

    /// The expected start; `None` if it is unknown.
    pub const fn expected_at(&self) -> Option<Time> {
        if self.forecast.bounded { None } else { self.forecast.expected_at }
    }

    /// The deadline that it will miss unless jobs end before their time limits. `None` too if it is
    /// unknown when there will be room.
    pub fn deadline_likely_missed(&self) -> Option<Time> {
        let is_out = |reason: &WaitReason| {
            reason.is_for_ever()
                || matches!(
                    reason,
                    WaitReason::Held
                        | WaitReason::QueueGone { .. }
                        | WaitReason::DeadlineTooNear { .. }
                        | WaitReason::NotConsidered
                )
        };
        let deadline = self.job.ask.deadline?;
        self.reason.as_ref().filter(|reason| !is_out(reason))?;
        let is_late =
            self.forecast.expected_at.is_none() && self.start_without_deadline().is_some();
        is_late.then_some(deadline)
    }

    /// Whether it waits for other jobs to end.
    pub const fn waits_for_jobs(&self) -> bool {
        matches!(
            self.reason,
            Some(
                WaitReason::Resources { .. }
                    | WaitReason::GroupPerNode { .. }
                    | WaitReason::Priority { .. }
                    | WaitReason::BehindHead { .. }
                    | WaitReason::QuotaExceeded { .. }
                    | WaitReason::LimitReached { .. }
            )
        )
    }

    /// The latest start with which it ends by its deadline.
    pub fn latest_start(&self) -> Option<Time> {
        let (deadline, limit) = (self.job.ask.deadline?, self.job.ask.time_limit?);
        deadline.0.checked_sub(limit.0).map(Time)
    }

    /// The cluster as it would be if the job had no deadline.
    fn snapshot_without_deadline(&self) -> Option<Snapshot> {
        let mut snapshot = self.snapshot.clone();
        let job = snapshot.waiting_job(self.job.key)?.as_ref().clone();
        snapshot.set_waiting(WaitingJob { deadline: None, ..job });
        Some(snapshot)
    }

    /// The expected start if it had no deadline.
    pub fn start_without_deadline(&self) -> Option<Time> {
        let forecast = engine::forecast(&self.snapshot_without_deadline()?, self.now, self.job.key);
        forecast.expected_at.filter(|_| !forecast.bounded)
    }

    /// What else keeps it from starting now, apart from its deadline.
    fn obstacle_beside_deadline(&self) -> Option<String> {
        let mut snapshot = self.snapshot_without_deadline()?;
        snapshot.prepare_for_round(self.now);
        let round = engine::schedule(&snapshot, self.now);
        let starts = round.decisions.iter().any(|decision| {
            matches!(decision, engine::Decision::Start { key, .. } if *key == self.job.key)
        });
        let reason = round.waits.reason_of(&snapshot, self.job.key).filter(|_| !starts)?;
        let reason = sentence::sentence(self, &reason);
        Some(format!("without its deadline it would still wait: {reason}"))
    }

    /// Whether only an operator can release it.
    pub fn is_held_by_operator(&self) -> bool {
        self.state
            .element(self.job.key)
            .is_some_and(|(_, element)| element.held_by.includes_operator())
    }

    /// The reason why it could never run even if it was released: it exceeds the cluster or a
    /// limit.
    pub fn never_runs_reason(&self) -> Option<WaitReason> {
        let ask = &self.job.ask;
        let queue = self.state.queue(ask.queue.as_ref()?)?;
        let (snapshot, request) = (self.snapshot, &ask.request);
        let fits = engine::could_ever_fit(snapshot, queue, request, ask.service);
        let near = || engine::could_ever_be_near(snapshot, queue, request, ask.service);
        let bounds = || match snapshot.waiting_job(self.job.key) {
            Some(job) => snapshot.could_ever_be_admitted(job),
            None => Ok(()),
        };
        fits.and_then(|()| near()).and_then(|()| bounds()).err()
    }

    pub fn lines_and_advice(&self) -> (Vec<String>, Option<String>) {
        let mut lines = Vec::new();
        lines.extend(self.last_attempt_line());
        let Some(reason) = &self.reason else { return (lines, None) };
        lines.push(sentence::sentence(self, reason));
        let said = lines.last().cloned();
        lines.extend(self.job.message.clone().filter(|message| said.as_ref() != Some(message)));
        match reason {
            WaitReason::Held => {
                lines.extend(self.never_runs_reason().map(|reason| reason.to_string()))
            }
            WaitReason::Priority { next, .. } => lines.extend(self.kept_nodes_line(*next)),
            WaitReason::DeadlineTooNear { .. } => lines.extend(self.obstacle_beside_deadline()),
            WaitReason::Resources { .. } => {
                lines.extend(shared::queue_share_line(
                    self.state,
                    self.job.key,
                    self.snapshot,
                    self.now,
                ));
            }
            _ => {}
        }
        let has_a_place = !matches!(
            reason,
            WaitReason::Held
                | WaitReason::BeginTime { .. }
                | WaitReason::Dependency { .. }
                | WaitReason::BackOff { .. }
                | WaitReason::QueueGone { .. }
        );
        if has_a_place && !reason.is_for_ever() {
            lines.extend(elastic::starting_tasks_line(self.job));
            lines.extend(self.position_line());
            lines.extend(self.overtaking_line());
            lines.extend(self.priority_line());
        }
        lines.extend(start::expected_start_line(self, reason));
        (lines, Some(advice::advice(self, reason)))
    }

    /// The expected start of the job for which nodes are kept, and why this one cannot start
    /// before.
    fn kept_nodes_line(&self, next: JobKey) -> Option<String> {
        let starts = engine::forecast(self.snapshot, self.now, next);
        let at = starts.expected_at.filter(|at| !starts.bounded && *at > self.now)?;
        let length = length::in_words(at.since(self.now));
        let would = match self.job.ask.time_limit {
            Some(limit) if self.now + limit > at => {
                format!(
                    "; with its time limit, {}, this one might still run then",
                    length::in_words(limit)
                )
            }
            Some(_) => String::new(),
            None => "; without a time limit, this one might still run then".to_owned(),
        };
        Some(format!("job {next} is expected to start at about {at} (in {length}){would}"))
    }

    /// Its last attempt, and the reason why that ended.
    fn last_attempt_line(&self) -> Option<String> {
        let (_, element) = self.state.element(self.job.key)?;
        if self.job.attempt == 0 {
            return None;
        }
        let yielded = element.timeline.iter().rev().find_map(|line| match &line.what {
            TimelineEvent::MadeToYield { preempted, .. } => Some(*preempted),
            _ => None,
        });
        let last = element.timeline.iter().rev().find_map(|line| match &line.what {
            TimelineEvent::Requeued { preempted_by, .. } => Some(*preempted_by),
            _ => None,
        });
        let reason = match (last.flatten(), yielded) {
            (Some(by), Some(preempted)) if preempted.by == by => Some(preempted),
            _ => None,
        };
        Some(match reason {
            Some(preempted) => self.preempted_line(preempted),
            None if self.job.held => return None,
            None => format!("it waits again, after attempt {}", self.job.attempt),
        })
    }

    fn preempted_line(&self, preempted: Preempted) -> String {
        format!(
            "it ran and was preempted by {}; it keeps its place in the queue",
            preemption_reason(self.state, preempted)
        )
    }

    /// Its place among the jobs that may start as soon as there is room. Held jobs and those whose
    /// time has not come have no place.
    fn position_line(&self) -> Option<String> {
        let position = engine::position(self.snapshot, self.now, self.job.key)?;
        let now = self.now;
        let lines_up = |job: &&std::sync::Arc<WaitingJob>| {
            !job.is_kept_back() && job.begin_at.max(job.not_before).is_none_or(|gate| gate <= now)
        };
        let line = || self.snapshot.all_waiting().filter(lines_up);
        let (all, tasks) = (line().count(), line().filter(|job| job.key.index.is_some()).count());
        let what = match tasks {
            0 => "jobs",
            _ if tasks == all => "array tasks",
            _ => "jobs and array tasks",
        };
        Some(match (position, all) {
            (1, 0 | 1) => "it is the only job that waits".to_owned(),
            (1, _) => format!("it is first of the {all} {what} that wait"),
            _ => format!("it is number {position} of the {all} {what} that wait"),
        })
    }

    /// How many jobs behind it are tried before it, and why.
    fn overtaking_line(&self) -> Option<String> {
        let engine::Overtaking { jobs, candidates } =
            engine::overtaking(self.snapshot, self.now, self.job.key)?;
        let reason = match (candidates, jobs) {
            (Candidates::RelativeWait, 1) => "it has waited longer for its time limit",
            (Candidates::RelativeWait, _) => "they have waited longer for their time limits",
            (_, 1) => "its time limit is shorter",
            _ => "their time limits are shorter",
        };
        let which = if jobs == 1 { "job behind it is" } else { "jobs behind it are" };
        Some(format!("{jobs} {which} tried before it, because {reason}"))
    }

    /// The parts of its priority, in queues with multifactor priority.
    fn priority_line(&self) -> Option<String> {
        let queue = self.state.queue(self.job.ask.queue.as_ref()?)?;
        if queue.order != Order::Multifactor {
            return None;
        }
        let (_, sheet) =
            engine::priority_breakdowns(self.snapshot, self.now, &[self.job.key]).pop()?;
        let parts = sheet.factors_by_name().into_iter().filter(|(_, factor)| factor.points != 0);
        let mut parts: Vec<String> =
            parts.map(|(name, factor)| format!("{} for {name}", factor.points)).collect();
        if sheet.nice != 0 {
            parts.push(format!("{} for nice", -i64::from(sheet.nice)));
        }
        let made_of =
            if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
        Some(format!("its priority is {} points{made_of}", sheet.points))
    }
}
