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

use crate::report::{Sample, TeamOutcome};
use common::id::QueueName;
use common::policy::queue::Queue;
use common::policy::{Amounts, Policy};
use common::time::Time;
use common::unit::GpuMilli;
use std::collections::{BTreeMap, BTreeSet};

const ONE_GPU: u64 = 1000;

struct Team {
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

/// The longest uninterrupted time in which a condition held.
#[derive(Debug, Clone, Copy, Default)]
struct Stretch {
    since: Option<Time>,
    longest: u64,
}

impl Stretch {
    fn is(&mut self, now: Time, is_so: bool) {
        if let Some(since) = self.since {
            self.longest = self.longest.max(now.since(since).0);
        }
        self.since = is_so.then(|| self.since.unwrap_or(now));
    }
}

/// All queues of a policy that has several for jobs.
pub(super) struct Owed {
    teams: Vec<Team>,
    names: Vec<QueueName>,
    places: BTreeMap<QueueName, usize>,
    capacity: u64,
}

impl Owed {
    /// `None`: there are no two queues to compare.
    pub fn of(policy: &Policy, capacity: GpuMilli) -> Option<Self> {
        let queues = &policy.queues;
        let places: BTreeMap<QueueName, usize> =
            queues.iter().enumerate().map(|(at, queue)| (queue.name.clone(), at)).collect();
        let place = |name: &Option<QueueName>| places.get(name.as_ref()?).copied();
        let mut teams: Vec<Team> =
            queues.iter().map(|queue| team(queue, place(&queue.parent))).collect();
        for at in 0..teams.len() {
            if let Some(parent) = teams[at].parent {
                teams[parent].children.push(at);
            }
        }
        let leaves = teams.iter().filter(|team| team.children.is_empty()).count();
        let names = queues.iter().map(|queue| queue.name.clone()).collect();
        (leaves > 1).then_some(Self { teams, names, places, capacity: u64::from(capacity.0) })
    }

    fn path(&self, queue: &QueueName) -> Vec<usize> {
        let mut path = Vec::new();
        let mut next = self.places.get(queue).copied();
        while let Some(at) = next.filter(|at| !path.contains(at)) {
            path.push(at);
            next = self.teams[at].parent;
        }
        path
    }

    /// A job waits from now on.
    pub fn waits(&mut self, queue: &QueueName, gpus: GpuMilli) {
        let gpus = u64::from(gpus.0);
        for (depth, at) in self.path(queue).into_iter().enumerate() {
            self.teams[at].asked += gpus;
            if depth == 0 && gpus > 0 {
                *self.teams[at].waiting.entry(gpus).or_default() += 1;
            }
        }
    }

    /// A job waits no longer.
    pub fn waits_no_more(&mut self, queue: &QueueName, gpus: GpuMilli) {
        let gpus = u64::from(gpus.0);
        for (depth, at) in self.path(queue).into_iter().enumerate() {
            let team = &mut self.teams[at];
            team.asked = team.asked.saturating_sub(gpus);
            if depth > 0 {
                continue;
            }
            if let Some(count) = team.waiting.get_mut(&gpus) {
                *count -= 1;
                if *count == 0 {
                    team.waiting.remove(&gpus);
                }
            }
        }
    }

    /// A job holds GPUs from now on.
    pub fn holds(&mut self, queue: &QueueName, gpus: GpuMilli) {
        for at in self.path(queue) {
            self.teams[at].held += u64::from(gpus.0);
            self.teams[at].asked += u64::from(gpus.0);
        }
    }

    /// A job holds them no longer.
    pub fn lets_go(&mut self, queue: &QueueName, gpus: GpuMilli) {
        for at in self.path(queue) {
            let team = &mut self.teams[at];
            team.held = team.held.saturating_sub(u64::from(gpus.0));
            team.asked = team.asked.saturating_sub(u64::from(gpus.0));
        }
    }

    /// Records the end of a pass: which queues are below their quotas, and how even the shares are.
    pub fn pass(&mut self, now: Time, sample: &mut Sample) {
        for at in 0..self.teams.len() {
            let smallest = self.teams[at].waiting.keys().next().copied();
            let room = self.room_within_quota(at);
            let waits = |most: u64| smallest.is_some_and(|gpus| gpus <= most && gpus <= room);
            let (any, one) = (waits(u64::MAX), waits(ONE_GPU));
            self.teams[at].any.is(now, any);
            self.teams[at].one.is(now, one);
        }
        let dues = self.dues();
        let leaves = (0..self.teams.len()).filter(|at| self.teams[*at].children.is_empty());
        let asking = leaves.filter(|at| self.teams[*at].asked > 0);
        let pairs: Vec<(f64, f64)> =
            asking.map(|at| (self.teams[at].held as f64, dues[at])).collect();
        // A queue without a fair share has no fraction of it; all that it holds counts as error.
        let due: Vec<(f64, f64)> = pairs.iter().copied().filter(|(_, due)| *due > 0.0).collect();
        sample.jain_ppm = jain(&due).map(ppm);
        let off: f64 = pairs.iter().map(|(held, due)| (held - due).abs()).sum();
        let is_compared = pairs.len() > 1 && self.capacity > 0;
        sample.share_error_ppm = is_compared.then(|| ppm(off / 2.0 / self.capacity as f64));
    }

    /// How much more a queue may hold within its quota and those of all its ancestors. 0 without a
    /// quota.
    fn room_within_quota(&self, at: usize) -> u64 {
        if self.teams[at].quota.is_none() {
            return 0;
        }
        let mut room = None;
        let mut next = Some(at);
        let mut seen = BTreeSet::new();
        while let Some(at) = next.filter(|at| seen.insert(*at)) {
            let team = &self.teams[at];
            let bounds = [team.quota, team.limit].into_iter().flatten();
            let own = bounds.map(|bound| bound.saturating_sub(team.held)).min();
            room = room.into_iter().chain(own).min();
            next = team.parent;
        }
        room.unwrap_or(0)
    }

    /// The fair share of each queue.
    fn dues(&self) -> Vec<f64> {
        let mut dues = vec![0.0; self.teams.len()];
        let top: Vec<usize> =
            (0..self.teams.len()).filter(|at| self.teams[*at].parent.is_none()).collect();
        let mut open = vec![(self.capacity as f64, top)];
        while let Some((total, queues)) = open.pop() {
            self.divide(total, &queues, &mut dues);
            open.extend(queues.into_iter().filter_map(|at| {
                let children = self.teams[at].children.clone();
                (!children.is_empty()).then_some((dues[at], children))
            }));
        }
        dues
    }

    /// Divides a total among sibling queues.
    fn divide(&self, total: f64, queues: &[usize], dues: &mut [f64]) {
        let wants = |at: usize| {
            let team = &self.teams[at];
            team.limit.map_or(team.asked, |limit| limit.min(team.asked)) as f64
        };
        let mut rest = total;
        for at in queues {
            let quota = self.teams[*at].quota.unwrap_or(0) as f64;
            dues[*at] = quota.min(wants(*at));
            rest -= dues[*at];
        }
        let levels: BTreeSet<i64> = queues.iter().map(|at| self.teams[*at].priority).collect();
        for level in levels.into_iter().rev() {
            loop {
                let asks = |at: &&usize| {
                    let team = &self.teams[**at];
                    team.priority == level && team.weight > 0.0 && wants(**at) > dues[**at] + 1e-6
                };
                let asking: Vec<usize> = queues.iter().filter(asks).copied().collect();
                let weights: f64 = asking.iter().map(|at| self.teams[*at].weight).sum();
                if asking.is_empty() || rest < 1e-6 {
                    break;
                }
                let before = rest;
                for at in asking {
                    let offer = before * self.teams[at].weight / weights;
                    let taken = offer.min(wants(at) - dues[at]);
                    dues[at] += taken;
                    rest -= taken;
                }
            }
        }
    }

    /// The outcome of each queue with waiting jobs, as of the end.
    pub fn outcomes(mut self, end: Time) -> Vec<TeamOutcome> {
        let leaves = self.teams.iter_mut().zip(self.names);
        let leaves = leaves.filter(|(team, _)| team.children.is_empty());
        let outcome = |(team, queue): (&mut Team, QueueName)| {
            let longest = |stretch: &mut Stretch| {
                stretch.is(end, false);
                common::time::Span(stretch.longest)
            };
            let quota = team.quota.map(|quota| GpuMilli(u32::try_from(quota).unwrap_or(u32::MAX)));
            let (below, below_by_one) = (longest(&mut team.any), longest(&mut team.one));
            TeamOutcome { queue, quota, below, below_by_one }
        };
        leaves.map(outcome).collect()
    }
}

fn team(queue: &Queue, parent: Option<usize>) -> Team {
    let gpus = |amounts: &Amounts| {
        let by_kind = (!amounts.gpus.is_empty())
            .then(|| amounts.gpus.values().map(|gpus| u64::from(gpus.0) * 1000).sum());
        amounts.gpus_any.map(|gpus| u64::from(gpus.0) * 1000).or(by_kind)
    };
    Team {
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

/// Jain's index of the fractions of their fair shares that queues hold: 1 if all fractions are
/// equal, 1 / n if one of n queues holds everything. `None`: fewer than two queues have a share.
fn jain(pairs: &[(f64, f64)]) -> Option<f64> {
    if pairs.len() < 2 {
        return None;
    }
    let parts = pairs.iter().map(|(held, due)| held / due);
    let (sum, squares) =
        parts.fold((0.0, 0.0), |(sum, squares), part| (sum + part, part.mul_add(part, squares)));
    // If no queue holds anything, that is even.
    Some(if squares > 0.0 { sum * sum / (pairs.len() as f64 * squares) } else { 1.0 })
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a few millions at most
fn ppm(part: f64) -> u32 {
    (part * 1e6).round() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 16 GPUs; a has a quota of 8, b of 4 and a limit of 10, c no quota but twice the weight.
    fn owed() -> Owed {
        let queue = |name: &str, quota: Option<u32>, weight: u32| {
            let name = QueueName::new(name).unwrap();
            let mut queue = Queue { weight, ..Queue::plain(name) };
            queue.quota.amounts.gpus_any = quota.map(common::unit::Gpus);
            queue
        };
        let mut queues = vec![queue("a", Some(8), 1), queue("b", Some(4), 1), queue("c", None, 2)];
        queues[1].quota.at_most.gpus_any = Some(common::unit::Gpus(10));
        let policy = Policy { queues, ..Policy::default() };
        Owed::of(&policy, GpuMilli(16_000)).unwrap()
    }

    fn name(text: &str) -> QueueName {
        QueueName::new(text).unwrap()
    }

    #[test]
    fn what_is_due_is_the_quota_and_a_part_of_the_rest_by_weight() {
        let mut owed = owed();
        owed.holds(&name("b"), GpuMilli(10_000));
        owed.waits(&name("b"), GpuMilli(6000));
        owed.waits(&name("c"), GpuMilli(16_000));
        let dues = owed.dues();
        // b has a quota of 4, and a third of the other 12.
        assert_eq!(dues, [0.0, 8000.0, 8000.0]);
        owed.waits(&name("a"), GpuMilli(9000));
        // a has a quota of 8 and b of 4; a fourth of the other 4 is all that a still asks for.
        assert_eq!(owed.dues(), [9000.0, 5000.0, 2000.0]);
    }

    #[test]
    fn a_queue_is_below_while_a_job_waits_that_is_within_its_quota() {
        let mut owed = owed();
        let mut sample = Sample::default();
        owed.holds(&name("b"), GpuMilli(10_000));
        owed.holds(&name("c"), GpuMilli(6000));
        // A job beyond the quota does not count.
        owed.waits(&name("a"), GpuMilli(9000));
        owed.pass(Time(0), &mut sample);
        owed.waits(&name("a"), GpuMilli(2000));
        owed.pass(Time(10), &mut sample);
        owed.pass(Time(40), &mut sample);
        owed.waits_no_more(&name("a"), GpuMilli(2000));
        owed.waits(&name("a"), GpuMilli(1000));
        owed.pass(Time(50), &mut sample);
        owed.waits_no_more(&name("a"), GpuMilli(1000));
        owed.pass(Time(55), &mut sample);
        let outcomes = owed.outcomes(Time(90));
        assert_eq!((outcomes[0].below.0, outcomes[0].below_by_one.0), (45, 5));
        assert_eq!((outcomes[1].below.0, outcomes[2].below.0), (0, 0));
    }

    #[test]
    fn it_is_even_where_all_hold_the_same_part_of_what_is_due() {
        assert_eq!(jain(&[(4.0, 8.0), (2.0, 4.0)]), Some(1.0));
        assert_eq!(jain(&[(8.0, 8.0), (0.0, 4.0)]), Some(0.5));
        assert_eq!(jain(&[(8.0, 8.0)]), None);
    }
}
