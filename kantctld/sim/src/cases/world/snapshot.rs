//! The snapshot of a case: nodes, queues, and its jobs, waiting or running.

use super::super::error::{ImportError, unsupported};
use super::super::format::{Case, JobText, TaskText};
use super::allocations::NodeUsages;
use super::policy::{policy, qos_of_priority, queue_name};
use super::requests::{Draft, Set, job_sets};
use super::{Part, World, nodes};
use common::id::{Attempt, JobId, JobKey, Uid};
use common::policy::VictimMode;
use common::time::{Span, Time};
use engine::{Growing, RunningJob, Snapshot, WaitingJob, nodes_min};
use std::sync::Arc;

/// The time of the first round. All jobs are younger.
pub(super) const BEGIN: Time = Time(100_000_000_000);

pub(super) fn world(case: &Case) -> Result<World, ImportError> {
    let nodes = nodes::nodes(case)?;
    let mut snapshot = Snapshot::default();
    snapshot.set_policy(Arc::new(policy(case)?));
    nodes.iter().for_each(|node| snapshot.set_node(node));
    let mut rooms = NodeUsages::new(case, &nodes);
    let mut parts = Vec::new();
    let mut first = 0;
    for text in &case.jobs {
        add_job(case, text, first, &mut rooms, (&mut snapshot, &mut parts))?;
        first += text.tasks.len();
    }
    Ok(World { snapshot, parts })
}

fn add_job<'c>(
    case: &'c Case,
    text: &'c JobText,
    first: usize,
    rooms: &mut NodeUsages<'c>,
    (snapshot, parts): (&mut Snapshot, &mut Vec<Part>),
) -> Result<(), ImportError> {
    let waited = u64::try_from(text.age_min).unwrap_or(0) * 60;
    if text.preemption_delay_s.is_some_and(|delay| delay > waited) {
        return unsupported("job that waits before it preempts others");
    }
    let key = |at: usize| JobKey::single(JobId(u32::try_from(at + 1).unwrap_or(u32::MAX)));
    for Set { drafts, near } in job_sets(case, text, first)? {
        let own = key(parts.len());
        let is_set = drafts.len() > 1;
        for draft in drafts {
            let job = WaitingJob {
                together: is_set.then_some(own),
                near_all: near,
                expected: None,
                ..waiting_job(text, key(parts.len()), &draft)?
            };
            let part = add_part(text, draft, job, rooms, snapshot)?;
            parts.push(part);
        }
    }
    Ok(())
}

fn waiting_job(text: &JobText, key: JobKey, draft: &Draft<'_>) -> Result<WaitingJob, ImportError> {
    let age = Span::from_minutes(u64::try_from(text.age_min).unwrap_or(0));
    Ok(WaitingJob {
        key,
        attempt: Attempt(1),
        owner: Uid(1000),
        queue: queue_name(&text.queue)?,
        account: None,
        qos: Some(qos_of_priority(text.priority)?),
        request: Arc::new(draft.request.clone()),
        time_limit: None,
        nice: 0,
        submitted_at: Time(BEGIN.0.saturating_sub(age.0)),
        begin_at: None,
        not_before: None,
        deadline: None,
        held: false,
        awaits: false,
        array_limit: None,
        preemptible: Some(text.preemptible),
        reservation: None,
        service: false,
        together: None,
        near_all: None,
        expected: None,
    })
}

fn runs(task: &TaskText) -> bool {
    matches!(task.state.as_str(), "running" | "binding" | "bound")
}

fn is_releasing(task: &TaskText) -> bool {
    task.state == "releasing"
}

fn holds(task: &TaskText) -> bool {
    runs(task) || is_releasing(task)
}

fn add_part<'c>(
    text: &JobText,
    draft: Draft<'c>,
    job: WaitingJob,
    rooms: &mut NodeUsages<'c>,
    snapshot: &mut Snapshot,
) -> Result<Part, ImportError> {
    let count = |is: fn(&TaskText) -> bool| draft.tasks.iter().filter(|(_, one)| is(one)).count();
    for (_, task) in &draft.tasks {
        match task.state.as_str() {
            "stuck_in_releasing" => return unsupported("job that is known to end late"),
            "failed" | "succeeded" => return unsupported("job that runs on without some tasks"),
            "gated" => return unsupported("job with single tasks held"),
            _ => {}
        }
    }
    let (run, leave) = (count(runs), count(is_releasing));
    let least = draft.request.tasks_min.unwrap_or(draft.request.tasks).0 as usize;
    let mut part = Part {
        tasks: draft.tasks.iter().map(|(at, _)| *at).collect(),
        job,
        is_deleted: text.deleted_by_user,
    };
    if run + leave == 0 {
        snapshot.set_waiting(part.job.clone());
        return Ok(part);
    }
    if run > 0 && leave > 0 {
        return unsupported("job of which single tasks end");
    }
    if run > 0 && run < least {
        return unsupported("job that runs with less than its minimum");
    }
    let held: Vec<_> = draft.tasks.iter().copied().filter(|(_, task)| holds(task)).collect();
    let (allocation, order) = rooms.allocate_tasks(&held)?;
    let others = draft.tasks.iter().map(|(at, _)| *at).filter(|at| !order.contains(at));
    part.tasks = order.iter().copied().chain(others).collect();
    let ran = text.running_for_s.map(Span::from_seconds).unwrap_or_default();
    let job = &part.job;
    let tasks = allocation.tasks();
    snapshot.set_running(RunningJob {
        key: job.key,
        attempt: job.attempt,
        nodes_min: nodes_min(&job.request, allocation.shares()),
        allocation: Arc::new(allocation),
        ends_by: None,
        owner: job.owner,
        queue: job.queue.clone(),
        account: None,
        qos: job.qos.clone(),
        nice: 0,
        submitted_at: job.submitted_at,
        started_at: Time(BEGIN.0.saturating_sub(ran.0)),
        saved_at: None,
        whole_nodes: false,
        group: None,
        preemptible: text.preemptible,
        victim_mode: VictimMode::Requeue,
        ending: leave > 0,
        yields_to: None,
        leaving: 0,
    });
    if leave == 0 {
        let growing = Growing::of(job).filter(|growing| growing.has_room(tasks));
        snapshot.set_growing(job.key, growing.map(Arc::new));
        snapshot.set_movable(job.key, Some(Arc::new(requeued(job))));
    }
    Ok(part)
}

/// How a job waits after it was stopped.
pub(super) fn requeued(job: &WaitingJob) -> WaitingJob {
    WaitingJob { attempt: Attempt(job.attempt.0.saturating_add(1)), ..job.clone() }
}
