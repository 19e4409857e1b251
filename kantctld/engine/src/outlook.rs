//! Step 6 for all jobs: what each is told, and who is ahead of whom. Never changes a decision.

use crate::backfill::endings::{Endings, NEVER};
use crate::backfill::shadow::Shadows;
use crate::shape::{ShapeIndex, Shapes};
use crate::snapshot::WaitingJob;
use crate::trial::Trial;
use crate::wait::Sight;
use common::id::{JobKey, NodeName, QueueName};
use common::queue::Queue;
use common::reason::WaitReason;
use common::time::Time;
use std::collections::{BTreeMap, BTreeSet};

/// For so many shapes of waiting jobs a round estimates when they will have room.
pub(crate) const ESTIMATES_MAX: u32 = 32;

/// What steps 2 to 5 said of a job.
#[derive(Debug, Clone)]
pub(crate) enum Verdict {
    /// It starts.
    Starts,
    /// It may not start, or was not looked at.
    Waits(WaitReason),
    /// It may start, and has no room beside the jobs before it.
    NoRoom(ShapeIndex),
}

/// Why jobs of a shape have no room.
#[derive(Debug, Clone)]
enum Why {
    /// Nothing that happens in the cluster as it is gives them room.
    Never(WaitReason),
    /// Too much is in use.
    Resources(WaitReason),
    /// There is room, and it is kept for jobs before them.
    Kept,
}

/// What the reasons are made from.
pub(crate) struct Outlook<'a> {
    sight: Sight<'a>,
    shapes: &'a Shapes<'a>,
    shadows: &'a Shadows<'a>,
    /// For each queue the queues that share nodes with it, itself included.
    sharing: BTreeMap<&'a QueueName, Vec<&'a QueueName>>,
    now: Time,
}

impl<'a> Outlook<'a> {
    pub fn new(
        sight: Sight<'a>,
        shapes: &'a Shapes<'a>,
        shadows: &'a Shadows<'a>,
        queues: &'a [Queue],
        now: Time,
    ) -> Self {
        let names: Vec<BTreeSet<&NodeName>> =
            queues.iter().map(|queue| queue.nodes.iter().collect()).collect();
        let share = |a: usize, b: usize| {
            names[a].is_empty() || names[b].is_empty() || !names[a].is_disjoint(&names[b])
        };
        let sharing = queues.iter().enumerate().map(|(a, queue)| {
            let others = queues.iter().enumerate().filter(|(b, _)| share(a, *b));
            (&queue.name, others.map(|(_, other)| &other.name).collect())
        });
        Self { sight, shapes, shadows, sharing: sharing.collect(), now }
    }

    /// Why each job that does not start waits, in order.
    pub fn reasons(
        &self,
        verdicts: &[(&WaitingJob, Verdict)],
        trial: &mut Trial,
        endings: &Endings,
    ) -> Vec<(JobKey, WaitReason)> {
        let mut known: BTreeMap<ShapeIndex, Why> = BTreeMap::new();
        let mut ahead = Ahead::default();
        let mut estimates_left = ESTIMATES_MAX;
        let mut reasons = Vec::new();
        for (job, verdict) in verdicts {
            let reason = match verdict {
                Verdict::Starts => continue,
                Verdict::Waits(reason) => reason.clone(),
                Verdict::NoRoom(index) => {
                    let why = known.entry(*index).or_insert_with(|| {
                        let endings = (estimates_left > 0).then_some(endings);
                        estimates_left = estimates_left.saturating_sub(1);
                        self.why(*index, trial, endings)
                    });
                    let reason = match why {
                        Why::Never(reason) => reason.clone(),
                        Why::Resources(reason) => self.with_promise(reason.clone(), job),
                        Why::Kept => ahead.of(&self.sharing, &job.queue),
                    };
                    if !matches!(why, Why::Never(_)) {
                        ahead.pass(job);
                    }
                    reason
                }
            };
            reasons.push((job.key, reason));
        }
        reasons
    }

    fn why(&self, index: ShapeIndex, trial: &mut Trial, endings: Option<&Endings>) -> Why {
        let shape = self.shapes.get(index);
        if let Some(reason) = self.sight.why_never(shape) {
            return Why::Never(reason);
        }
        let now = self.sight.why_not_now(shape, trial, endings, self.now);
        now.map_or(Why::Kept, Why::Resources)
    }

    /// A job with a shadow expects what it was promised.
    fn with_promise(&self, mut reason: WaitReason, job: &WaitingJob) -> WaitReason {
        if let WaitReason::Resources { expected_at, .. } = &mut reason
            && let Some(time) = self.shadows.time_of(&job.queue, job.key)
        {
            *expected_at = Some(time).filter(|time| *time < NEVER);
        }
        reason
    }
}

/// The jobs passed so far that wait for room, by queue, with the position of the first.
#[derive(Debug, Default)]
struct Ahead<'a> {
    by_queue: BTreeMap<&'a QueueName, Line>,
    passed: u32,
}

/// The jobs of one queue that wait for room.
#[derive(Debug)]
struct Line {
    jobs: u32,
    first: JobKey,
    /// Its place among all that wait for room.
    first_at: u32,
}

impl<'a> Ahead<'a> {
    fn pass(&mut self, job: &'a WaitingJob) {
        let line = Line { jobs: 0, first: job.key, first_at: self.passed };
        self.by_queue.entry(&job.queue).or_insert(line).jobs += 1;
        self.passed += 1;
    }

    /// Who is ahead of the next job of this queue.
    fn of(&self, sharing: &BTreeMap<&QueueName, Vec<&QueueName>>, queue: &QueueName) -> WaitReason {
        let queues = sharing.get(queue).into_iter().flatten();
        let lines: Vec<&Line> = queues.filter_map(|queue| self.by_queue.get(queue)).collect();
        match lines.iter().min_by_key(|line| line.first_at) {
            Some(first) => WaitReason::Priority {
                ahead: lines.iter().map(|line| line.jobs).sum(),
                next: first.first,
            },
            // Room is kept only by an earlier job of a queue that shares nodes.
            None => WaitReason::NotConsidered,
        }
    }
}
