//! What queues hold and are entitled to over a replay, counted separately from the engine: the fair
//! shares are divided here with different code, to measure which queues are below theirs, and for
//! how long.
//!
//! A queue is below its quota while one of its jobs waits that would leave it within its quota and
//! those of all its ancestors. It then holds less than the smaller of its quota and what it asks
//! for, by at least that job. Jobs of one GPU are counted separately, since any free GPU is room
//! for them, whereas a gang may find no suitable nodes.
//!
//! The fair share of a queue: the smallest of its quota, its limit, and what it asks for; the
//! surplus goes by priority of queues and, within a priority, by weight, without rounding; then
//! down the tree. Past use does not count.

mod measures;

use self::measures::{Stretch, jain, ppm};
use crate::report::{Sample, TeamOutcome};
use common::id::QueueName;
use common::policy::queue::Queue;
use common::policy::{Amounts, Policy};
use common::time::Time;
use common::unit::GpuMilli;
use std::collections::{BTreeMap, BTreeSet};

const ONE_GPU: u64 = 1000;

struct QueueUse {
    parent: Option<usize>,
    children: Vec<usize>,
    quota: Option<u64>,
    limit: Option<u64>,
    weight: f64,
    priority: i64,
    held: u64,
    /// How many of its own jobs wait for each number of thousandths of GPUs.
    waiting: BTreeMap<u64, u32>,
    asked: u64,
    any: Stretch,
    one: Stretch,
}

/// All queues of a policy that has several for jobs.
pub(crate) struct Entitlements {
    queues: Vec<QueueUse>,
    names: Vec<QueueName>,
    places: BTreeMap<QueueName, usize>,
    /// The queues without a parent.
    top: Vec<usize>,
    /// The queues without children that hold GPUs or ask for some.
    asking: BTreeSet<usize>,
    /// Those of which jobs of their own wait, or did so in the last pass.
    waiting: BTreeSet<usize>,
    capacity: u64,
}

impl Entitlements {
    /// `None`: there are no two queues to compare.
    pub fn of(policy: &Policy, capacity: GpuMilli) -> Option<Self> {
        let queues = &policy.queues;
        let places: BTreeMap<QueueName, usize> =
            queues.iter().enumerate().map(|(at, queue)| (queue.name.clone(), at)).collect();
        let place = |name: &Option<QueueName>| places.get(name.as_ref()?).copied();
        let mut queues: Vec<QueueUse> =
            queues.iter().map(|queue| queue_use(queue, place(&queue.parent))).collect();
        for at in 0..queues.len() {
            if let Some(parent) = queues[at].parent {
                queues[parent].children.push(at);
            }
        }
        let leaves = queues.iter().filter(|queue_use| queue_use.children.is_empty()).count();
        let names = policy.queues.iter().map(|queue| queue.name.clone()).collect();
        let top = (0..queues.len()).filter(|at| queues[*at].parent.is_none()).collect();
        let (asking, waiting, capacity) = (BTreeSet::new(), BTreeSet::new(), capacity.0.into());
        (leaves > 1).then_some(Self { queues, names, places, top, asking, waiting, capacity })
    }

    fn path(&self, queue: &QueueName) -> Vec<usize> {
        let mut path = Vec::new();
        let mut next = self.places.get(queue).copied();
        while let Some(at) = next.filter(|at| !path.contains(at)) {
            path.push(at);
            next = self.queues[at].parent;
        }
        path
    }

    /// A job waits from now on.
    pub fn add_waiting(&mut self, queue: &QueueName, gpus: GpuMilli) {
        let gpus = u64::from(gpus.0);
        for (depth, at) in self.path(queue).into_iter().enumerate() {
            self.queues[at].asked += gpus;
            if depth == 0 && gpus > 0 {
                *self.queues[at].waiting.entry(gpus).or_default() += 1;
                self.waiting.insert(at);
            }
            self.note_asking(at);
        }
    }

    /// A job waits no longer.
    pub fn remove_waiting(&mut self, queue: &QueueName, gpus: GpuMilli) {
        let gpus = u64::from(gpus.0);
        for (depth, at) in self.path(queue).into_iter().enumerate() {
            let queue_use = &mut self.queues[at];
            queue_use.asked = queue_use.asked.saturating_sub(gpus);
            if depth > 0 {
                continue;
            }
            if let Some(count) = queue_use.waiting.get_mut(&gpus) {
                *count -= 1;
                if *count == 0 {
                    queue_use.waiting.remove(&gpus);
                }
            }
            self.note_asking(at);
        }
    }

    /// Notes whether a queue without children asks for GPUs.
    fn note_asking(&mut self, at: usize) {
        let queue_use = &self.queues[at];
        match queue_use.children.is_empty() && queue_use.asked > 0 {
            true => _ = self.asking.insert(at),
            false => _ = self.asking.remove(&at),
        }
    }

    /// A job holds GPUs from now on.
    pub fn add_held(&mut self, queue: &QueueName, gpus: GpuMilli) {
        for at in self.path(queue) {
            self.queues[at].held += u64::from(gpus.0);
            self.queues[at].asked += u64::from(gpus.0);
            self.note_asking(at);
        }
    }

    /// A job holds them no longer.
    pub fn remove_held(&mut self, queue: &QueueName, gpus: GpuMilli) {
        for at in self.path(queue) {
            let queue_use = &mut self.queues[at];
            queue_use.held = queue_use.held.saturating_sub(u64::from(gpus.0));
            queue_use.asked = queue_use.asked.saturating_sub(u64::from(gpus.0));
            self.note_asking(at);
        }
    }

    /// Records the end of a pass: which queues are below their quotas, and how even the shares are.
    pub fn record_pass(&mut self, now: Time, sample: &mut Sample) {
        for at in std::mem::take(&mut self.waiting) {
            let smallest = self.queues[at].waiting.keys().next().copied();
            let smallest = smallest.filter(|gpus| *gpus <= self.room_within_quota(at));
            let waits = |most: u64| smallest.is_some_and(|gpus| gpus <= most);
            let (any, one) = (waits(u64::MAX), waits(ONE_GPU));
            self.queues[at].any.update(now, any);
            self.queues[at].one.update(now, one);
            if !self.queues[at].waiting.is_empty() {
                self.waiting.insert(at);
            }
        }
        let fair_shares = self.fair_shares();
        let asking = self.asking.iter();
        let pairs: Vec<(f64, f64)> =
            asking.map(|at| (self.queues[*at].held as f64, fair_shares[*at])).collect();
        // A queue without a fair share has no fraction of it; all that it holds counts as error.
        let with_share: Vec<(f64, f64)> =
            pairs.iter().copied().filter(|(_, share)| *share > 0.0).collect();
        sample.jain_ppm = jain(&with_share).map(ppm);
        let off: f64 = pairs.iter().map(|(held, share)| (held - share).abs()).sum();
        let is_compared = pairs.len() > 1 && self.capacity > 0;
        sample.share_error_ppm = is_compared.then(|| ppm(off / 2.0 / self.capacity as f64));
    }

    /// How much more a queue may hold within its quota and those of all its ancestors. 0 without a
    /// quota.
    fn room_within_quota(&self, at: usize) -> u64 {
        if self.queues[at].quota.is_none() {
            return 0;
        }
        let mut room = None;
        let mut next = Some(at);
        let mut seen = BTreeSet::new();
        while let Some(at) = next.filter(|at| seen.insert(*at)) {
            let queue_use = &self.queues[at];
            let bounds = [queue_use.quota, queue_use.limit].into_iter().flatten();
            let own = bounds.map(|bound| bound.saturating_sub(queue_use.held)).min();
            room = room.into_iter().chain(own).min();
            next = queue_use.parent;
        }
        room.unwrap_or(0)
    }

    /// The fair share of each queue.
    fn fair_shares(&self) -> Vec<f64> {
        let mut fair_shares = vec![0.0; self.queues.len()];
        let mut open = vec![(self.capacity as f64, &self.top)];
        while let Some((total, queues)) = open.pop() {
            self.divide(total, queues, &mut fair_shares);
            // Where no job asks for anything, the shares of all descendants are zero.
            let asked = queues.iter().filter(|at| self.queues[**at].asked > 0);
            let below = asked.map(|at| (fair_shares[*at], &self.queues[*at].children));
            open.extend(below.filter(|(_, children)| !children.is_empty()));
        }
        fair_shares
    }

    /// Divides a total among sibling queues.
    fn divide(&self, total: f64, queues: &[usize], fair_shares: &mut [f64]) {
        let wants = |at: usize| {
            let queue_use = &self.queues[at];
            queue_use.limit.map_or(queue_use.asked, |limit| limit.min(queue_use.asked)) as f64
        };
        let mut rest = total;
        for at in queues {
            let quota = self.queues[*at].quota.unwrap_or(0) as f64;
            fair_shares[*at] = quota.min(wants(*at));
            rest -= fair_shares[*at];
        }
        let levels: BTreeSet<i64> = queues.iter().map(|at| self.queues[*at].priority).collect();
        for level in levels.into_iter().rev() {
            loop {
                let asks = |at: &&usize| {
                    let queue_use = &self.queues[**at];
                    queue_use.priority == level
                        && queue_use.weight > 0.0
                        && wants(**at) > fair_shares[**at] + 1e-6
                };
                let asking: Vec<usize> = queues.iter().filter(asks).copied().collect();
                let weights: f64 = asking.iter().map(|at| self.queues[*at].weight).sum();
                if asking.is_empty() || rest < 1e-6 {
                    break;
                }
                let before = rest;
                for at in asking {
                    let offer = before * self.queues[at].weight / weights;
                    let taken = offer.min(wants(at) - fair_shares[at]);
                    fair_shares[at] += taken;
                    rest -= taken;
                }
            }
        }
    }

    /// The outcome of each queue with waiting jobs, as of the end.
    pub fn outcomes(mut self, end: Time) -> Vec<TeamOutcome> {
        let leaves = self.queues.iter_mut().zip(self.names);
        let leaves = leaves.filter(|(queue_use, _)| queue_use.children.is_empty());
        let outcome = |(queue_use, queue): (&mut QueueUse, QueueName)| {
            let longest = |stretch: &mut Stretch| {
                stretch.update(end, false);
                common::time::Span(stretch.longest)
            };
            let quota =
                queue_use.quota.map(|quota| GpuMilli(u32::try_from(quota).unwrap_or(u32::MAX)));
            let (below, below_by_one) = (longest(&mut queue_use.any), longest(&mut queue_use.one));
            TeamOutcome { queue, quota, below, below_by_one }
        };
        leaves.map(outcome).collect()
    }
}

fn queue_use(queue: &Queue, parent: Option<usize>) -> QueueUse {
    let gpus = |amounts: &Amounts| {
        let by_kind = (!amounts.gpus.is_empty())
            .then(|| amounts.gpus.values().map(|gpus| u64::from(gpus.0) * 1000).sum());
        amounts.gpus_any.map(|gpus| u64::from(gpus.0) * 1000).or(by_kind)
    };
    QueueUse {
        parent,
        children: Vec::new(),
        quota: gpus(&queue.quota.amounts),
        limit: gpus(&queue.quota.at_most),
        weight: f64::from(queue.weight),
        priority: i64::from(queue.priority),
        held: 0,
        waiting: BTreeMap::new(),
        asked: 0,
        any: Stretch::default(),
        one: Stretch::default(),
    }
}

#[cfg(test)]
mod tests;
