//! User actions of one history, and the behaviour of their jobs on nodes. Neither depends on the
//! state of the cluster.

use crate::rng::Rng;
use crate::services::ServiceWork;
use common::id::{ArrayIndex, QueueName};
use common::job::{Ask, Launch};
use common::resource::{GpuRequest, Request};
use common::time::Span;
use common::unit::{Cpus, Gpus, Nodes, Tasks};

/// One action of a user.
#[derive(Debug, Clone, PartialEq)]
pub struct Work {
    /// When it happens, in milliseconds after the cluster is up.
    pub at_ms: u64,
    pub action: Action,
}

/// Kinds of user actions. A job is identified by the index of its submission in the plan.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    Submit(Box<Ask>),
    Cancel(usize),
    Hold(usize),
    Release(usize),
    Requeue(usize),
    Suspend(usize),
    Resume(usize),
    /// Reduces it to its first node.
    Resize(usize),
    /// Changes its time limit.
    Update(usize),
    /// Reads its time limit.
    Show(usize),
    /// Reads the last job id.
    Look,
    Service(Box<ServiceWork>),
}

impl Action {
    /// The submission of the job that the action concerns, if there is one.
    pub const fn about(&self) -> Option<usize> {
        match self {
            Self::Submit(_) | Self::Look | Self::Service(_) => None,
            Self::Cancel(of)
            | Self::Hold(of)
            | Self::Release(of)
            | Self::Requeue(of)
            | Self::Suspend(of)
            | Self::Resume(of)
            | Self::Resize(of)
            | Self::Update(of)
            | Self::Show(of) => Some(*of),
        }
    }
}

/// The behaviour of an attempt on a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Behaviour {
    /// Duration of its prolog, in milliseconds.
    pub prepare_ms: u64,
    /// Its prolog hangs until a stop.
    pub is_stuck: bool,
    /// Run time of its processes, in milliseconds.
    pub run_ms: u64,
    /// Exit code of its processes.
    pub code: u8,
    /// Time that it takes to end after a stop, in milliseconds.
    pub stop_ms: u64,
}

/// The name of the job that a submission creates, by its index in the plan.
pub fn job_name(work: usize) -> String {
    format!("w{work}")
}

/// The time limit that an update sets. No job is submitted with it, and no other update sets it.
pub fn new_limit(work: usize) -> Span {
    Span(40_000 + work as u64)
}

/// The index of the submission of a job with this name.
pub fn work_of(name: &str) -> Option<usize> {
    name.strip_prefix('w')?.parse().ok()
}

/// Draws `count` user actions on jobs within `within_ms` milliseconds, and adds those on services.
/// All are in order of time.
pub fn draw(
    count: usize,
    within_ms: u64,
    nodes: usize,
    services: Vec<(u64, ServiceWork)>,
    rng: &mut Rng,
) -> Vec<Work> {
    let mut times: Vec<(u64, Option<ServiceWork>)> =
        (0..count).map(|_| (rng.below(within_ms), None)).collect();
    times.extend(services.into_iter().map(|(at_ms, work)| (at_ms, Some(work))));
    times.sort_by_key(|(at_ms, _)| *at_ms);
    let mut submits: Vec<usize> = Vec::new();
    let mut works = Vec::with_capacity(times.len());
    for (place, (at_ms, service)) in times.into_iter().enumerate() {
        if let Some(work) = service {
            works.push(Work { at_ms, action: Action::Service(Box::new(work)) });
            continue;
        }
        let about = rng.one(&submits).copied();
        let action = match (rng.below(100), about) {
            (0..6, Some(job)) => Action::Cancel(job),
            (6..10, Some(job)) => Action::Hold(job),
            (10..16, Some(job)) => Action::Release(job),
            (16..20, Some(job)) => Action::Requeue(job),
            (20..26, Some(job)) => Action::Update(job),
            (26..34, Some(job)) => Action::Show(job),
            (34..38, Some(job)) => Action::Suspend(job),
            (38..40, Some(job)) => Action::Resize(job),
            (40..44, Some(job)) => Action::Resume(job),
            (34..46, _) => Action::Look,
            _ => {
                submits.push(place);
                Action::Submit(Box::new(random_request(place, nodes, rng)))
            }
        };
        works.push(Work { at_ms, action });
    }
    works
}

fn random_request(place: usize, nodes: usize, rng: &mut Rng) -> Ask {
    let mut ask = Ask { name: job_name(place), ..Ask::default() };
    ask.queue = match rng.below(4) {
        0 => QueueName::new("urgent").ok(),
        1 => QueueName::new("spare").ok(),
        _ => None,
    };
    ask.nice = i32::try_from(rng.below(200)).unwrap_or(0);
    ask.time_limit = Some(Span(rng.between(2_000, 30_000)));
    ask.hold = rng.percent(3);
    let mut request = Request { cpus_per_task: Cpus(1), ..Request::default() };
    match rng.below(10) {
        0..2 => {
            let count = rng.between(2, nodes.clamp(2, 4) as u64).min(nodes as u64);
            let count = u32::try_from(count).unwrap_or(1);
            // Every second one accepts fewer nodes, and gives nodes up for other jobs.
            match place.is_multiple_of(2) {
                true => request.tasks_min = Some(Tasks(1)),
                false => request.nodes = Some(Nodes(count)),
            }
            request.tasks = Tasks(count);
            request.tasks_per_node = Some(Tasks(1));
            request.gpus = Some(GpuRequest::PerNode(Gpus(1)));
            ask.launch = if rng.percent(50) { Launch::PerNode } else { Launch::Once };
        }
        2..4 => ask.array = format!("0-{}", rng.between(1, 5)).parse().ok(),
        4..7 => {
            let gpus = u32::try_from(rng.between(1, 4)).unwrap_or(1);
            request.gpus = Some(GpuRequest::PerNode(Gpus(gpus)));
        }
        _ => request.cpus_per_task = Cpus(u32::try_from(rng.between(1, 3)).unwrap_or(1)),
    }
    ask.request = request;
    ask
}

/// The behaviour of an attempt on a node, the same on each call.
pub fn behaviour(seed: u64, name: &str, index: Option<ArrayIndex>, attempt: u32) -> Behaviour {
    let work = work_of(name).unwrap_or(0) as u64;
    let task = index.map_or(0, |index| u64::from(index.0) + 1);
    let mut rng = Rng::new(seed, (work << 24) + (task << 12) + u64::from(attempt));
    let is_long = rng.percent(15);
    let is_stuck = rng.below(1_000) < 2;
    Behaviour {
        prepare_ms: rng.between(1, 300),
        is_stuck,
        run_ms: if is_long { rng.between(8_000, 25_000) } else { rng.between(5, 5_000) },
        code: u8::from(rng.percent(10)),
        stop_ms: rng.between(1, 1_500),
    }
}
