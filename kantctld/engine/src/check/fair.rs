//! May a job be made to yield where queues share fairly? Worked out anew from jobs, quotas and
//! weights, in whole numbers. Never asks whether fewer would have done, nor judges CPUs and memory,
//! which it believes the round where a quota names them.

use super::Judge;
use crate::snapshot::{RunningJob, WaitingJob};
use common::id::QueueName;
use common::job::PreemptReason;
use common::policy::{Amounts, QuotaMode};
use common::queue::Queue;
use common::resource::Allocation;
use common::time::Span;
use common::unit::{Nodes, Tasks};
use std::collections::BTreeMap;

/// Thousandths of GPUs.
type Milli = u128;

/// No bound.
const ENDLESS: Milli = Milli::MAX;

/// What queues hold, want and are due of GPUs, with those below them.
#[derive(Debug, Default)]
pub(super) struct Dues {
    held: BTreeMap<QueueName, Milli>,
    wants: BTreeMap<QueueName, Milli>,
    due: BTreeMap<QueueName, Milli>,
    /// For whom somebody yielded last, and what it will hold.
    claimant: Option<(common::id::JobKey, Milli)>,
}

fn of_amounts(amounts: &Amounts, unnamed: Milli) -> Milli {
    let kinds = || amounts.gpus.values().map(|gpus| Milli::from(gpus.0)).sum::<Milli>();
    let any = amounts.gpus_any.map(|gpus| Milli::from(gpus.0));
    let named = any.or_else(|| (!amounts.gpus.is_empty()).then(kinds));
    named.map_or(unnamed, |gpus| gpus * 1000)
}

fn owed(queue: &Queue) -> Milli {
    of_amounts(&queue.quota.amounts, 0)
}

fn most(queue: &Queue) -> Milli {
    match queue.quota.mode {
        QuotaMode::Isolated => of_amounts(&queue.quota.amounts, ENDLESS),
        QuotaMode::Shared => of_amounts(&queue.quota.at_most, ENDLESS),
    }
}

fn held(allocation: &Allocation) -> Milli {
    allocation.shares().iter().map(|share| Milli::from(share.gpus_milli().0)).sum()
}

/// With all its tasks, or the fewest it is content with. Where GPUs are by the node and nobody says
/// how many nodes, each task may come to have its own.
fn asked(job: &WaitingJob, is_least: bool) -> Milli {
    let request = &job.request;
    let least = request.tasks_min.filter(|_| is_least).unwrap_or(request.tasks);
    let nodes = request.nodes.unwrap_or(Nodes(least.0));
    Milli::from(request.gpus_in_all(nodes, Tasks(least.0)).0)
}

impl<'a> Judge<'a> {
    /// A job yields to one of another queue, or of higher priority, in a fair tree.
    pub(super) fn yields_fairly(
        &mut self,
        victim: &RunningJob,
        by: &WaitingJob,
        why: PreemptReason,
    ) {
        self.expect(victim.preemptible, "yields though it is not preemptible");
        let least = self.safe_for(victim, by, why);
        let has_run = self.now.since(victim.started_at);
        self.expect(has_run >= least, "is made to yield before it has run for long enough");
        let mut dues = self.dues.take().unwrap_or_else(|| self.all_dues());
        let asks = asked(by, true);
        if dues.claimant.is_none_or(|(key, _)| key != by.key)
            && let Some((key, held)) = dues.claimant.replace((by.key, asks))
        {
            let before = self.snapshot.waiting(key).map(|job| job.queue.clone());
            before.iter().for_each(|queue| self.add(&mut dues.held, queue, held));
        }
        if why == PreemptReason::Reclaim {
            self.taken_back(&dues, victim, by, asks);
        }
        let gone = held(&victim.allocation);
        for queue in self.bounds.path(&victim.queue) {
            let sum = dues.held.entry(queue.name.clone()).or_default();
            *sum = sum.saturating_sub(gone);
        }
        self.dues = Some(dues);
    }

    fn taken_back(&mut self, dues: &Dues, victim: &RunningJob, by: &WaitingJob, asks: Milli) {
        let may = self.queues.get(&by.queue).is_some_and(|queue| queue.preemption.reclaim);
        self.expect(may, "yields to a queue that takes nothing back");
        self.expect(victim.queue != by.queue, "yields what is due to its own queue");
        let (own, other) = (self.bounds.path(&by.queue), self.bounds.path(&victim.queue));
        let names_more = |queue: &&Queue| {
            queue.quota.amounts.cpus.is_some() || queue.quota.amounts.memory.is_some()
        };
        if asks == 0 || own.iter().chain(&other).any(names_more) {
            return;
        }
        let both = own.iter().rev().zip(other.iter().rev());
        let both = both.take_while(|(a, b)| a.name == b.name).count();
        let side = |path: &[&'a Queue]| path.len().checked_sub(both + 1).map(|at| path[at]);
        let (Some(own_side), Some(other_side)) = (side(&own), side(&other)) else {
            return self.fault("yields to a queue above its own");
        };
        let of = |sums: &BTreeMap<QueueName, Milli>, queue: &Queue| {
            sums.get(&queue.name).copied().unwrap_or_default()
        };
        let leaf = own[0];
        let with_it = of(&dues.held, leaf) + asks;
        self.expect(with_it <= of(&dues.due, leaf), "yields to a queue that has its fair share");
        let theirs = of(&dues.held, other_side);
        let allowance = most(other_side).min(owed(other_side).max(of(&dues.due, other_side)));
        let is_owed =
            of(&dues.held, own_side) + asks <= owed(own_side) && theirs > owed(other_side);
        self.expect(theirs > allowance || is_owed, "yields what is its queue's by right");
    }

    /// For how long it is safe from that job.
    fn safe_for(&self, victim: &RunningJob, by: &WaitingJob, why: PreemptReason) -> Span {
        let path = self.bounds.path(&victim.queue);
        let own = |queue: &&Queue| {
            Some(queue.preemption.runtime_min).filter(|least| *least > Span::default())
        };
        if why != PreemptReason::Reclaim {
            return path.iter().find_map(own).unwrap_or_default();
        }
        let claimant = self.bounds.path(&by.queue);
        let both = path.iter().rev().zip(claimant.iter().rev());
        let both = both.take_while(|(a, b)| a.name == b.name).count();
        let from = path.len().saturating_sub(both + 1);
        let says = |queue: &&Queue| queue.reclaim_runtime_min.or_else(|| own(queue));
        path[from..].iter().find_map(says).unwrap_or_default()
    }

    fn add(&self, sums: &mut BTreeMap<QueueName, Milli>, queue: &QueueName, amount: Milli) {
        for queue in self.bounds.path(queue) {
            *sums.entry(queue.name.clone()).or_default() += amount;
        }
    }

    /// As the snapshot has it, with what starts in this round.
    fn all_dues(&self) -> Dues {
        let mut dues = Dues::default();
        for job in self.snapshot.all_running().filter(|job| !job.ending) {
            self.add(&mut dues.held, &job.queue, held(&job.allocation));
            self.add(&mut dues.wants, &job.queue, held(&job.allocation));
        }
        for job in self.snapshot.all_waiting() {
            if self.snapshot.class_of(job.key).is_none() || job.together.is_some() {
                continue;
            }
            let is_kept = self.snapshot.promises().get(&job.key).is_some_and(|kept| kept.yielded);
            if let Some(allocation) = self.granted.get(&job.key).filter(|_| is_kept) {
                // It started before anything was planned: that went by what it has.
                self.add(&mut dues.wants, &job.queue, held(allocation));
                self.add(&mut dues.held, &job.queue, held(allocation));
                continue;
            }
            self.add(&mut dues.wants, &job.queue, asked(job, false));
            if is_kept || self.started.contains(&job.key) {
                self.add(&mut dues.held, &job.queue, asked(job, true));
            }
        }
        let up = self.snapshot.nodes().into_iter().filter(|node| node.unusable.is_none());
        let total: usize = up.map(|node| node.inventory.gpus.len()).sum();
        self.deal(None, total as Milli * 1000, &mut dues);
        dues
    }

    /// Deals so much out to the queues right below this one, and on downwards.
    fn deal(&self, above: Option<&QueueName>, total: Milli, dues: &mut Dues) {
        let known = |name: &QueueName| self.queues.contains_key(name);
        let family: Vec<&Queue> = self
            .snapshot
            .policy()
            .queues
            .iter()
            .filter(|queue| queue.parent.as_ref().filter(|name| known(name)) == above)
            .collect();
        let mut left = total;
        for queue in &family {
            let first = owed(queue).min(dues.wanted(queue));
            dues.due.insert(queue.name.clone(), first);
            left = left.saturating_sub(first);
        }
        let mut levels: Vec<i32> = family.iter().map(|queue| queue.priority).collect();
        levels.sort_unstable();
        levels.dedup();
        let cuts: Vec<Cuts> =
            levels.iter().rev().map(|level| dues.level(&family, *level, &mut left)).collect();
        for mut cuts in cuts {
            // The larger part first, then the one that stands first.
            cuts.sort_by(|a, b| (b.0 * a.1).cmp(&(a.0 * b.1)).then(a.2.cmp(&b.2)));
            for (_, _, at) in cuts {
                let takes = left.min(1000).min(dues.missing(family[at]));
                dues.give(family[at], takes, &mut left);
            }
        }
        for queue in family {
            let due = dues.due[&queue.name];
            self.deal(Some(&queue.name), due, dues);
        }
    }
}

/// What was cut off of whose part, as a fraction of a thousandth.
type Cuts = Vec<(Milli, Milli, usize)>;

impl Dues {
    fn wanted(&self, queue: &Queue) -> Milli {
        self.wants.get(&queue.name).copied().unwrap_or_default().min(most(queue))
    }

    fn missing(&self, queue: &Queue) -> Milli {
        let due = self.due.get(&queue.name).copied().unwrap_or_default();
        self.wanted(queue).saturating_sub(due)
    }

    fn give(&mut self, queue: &Queue, takes: Milli, left: &mut Milli) {
        *self.due.entry(queue.name.clone()).or_default() += takes;
        *left -= takes;
    }

    /// Offers those of one priority parts of what is left, until nobody takes less than offered.
    fn level(&mut self, family: &[&Queue], level: i32, left: &mut Milli) -> Cuts {
        let mut cuts: BTreeMap<usize, (Milli, Milli)> = BTreeMap::new();
        loop {
            let is_open = |at: &usize| {
                let queue = family[*at];
                queue.priority == level && queue.weight > 0 && self.missing(queue) > 0
            };
            let open: Vec<usize> = (0..family.len()).filter(is_open).collect();
            let weights: Milli = open.iter().map(|at| Milli::from(family[*at].weight)).sum();
            let (round, mut again) = (*left, false);
            for at in open {
                let part = round * Milli::from(family[at].weight);
                let missing = self.missing(family[at]);
                let takes = if missing * weights <= part {
                    cuts.remove(&at);
                    again |= missing * weights < part;
                    missing
                } else {
                    let whole = part / weights / 1000 * 1000;
                    cuts.insert(at, (part - whole * weights, weights));
                    whole
                };
                self.give(family[at], takes, left);
            }
            if !again || *left == 0 {
                break;
            }
        }
        let cuts = cuts.into_iter().filter(|(_, (cut, _))| *cut > 0);
        cuts.map(|(at, (cut, of))| (cut, of, at)).collect()
    }
}
