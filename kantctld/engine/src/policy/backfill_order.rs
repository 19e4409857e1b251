//! The remaining jobs of one kind in the order for backfill. Jobs whose order among themselves
//! never changes form a group, and only the first job of each group is compared with the others:
//! the cost grows with the number of groups, not of jobs.

use crate::model::job::WaitingJob;
use crate::model::wait_queue::{Class, JobsByLength, JobsOfBucket, Kind, WaitQueue};
use crate::policy::order::backfill_rank::BackfillRank;
use common::time::Span;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::iter::Peekable;
use std::sync::Arc;

/// The jobs of a group. A round makes thousands of these, so they are not boxed.
enum Jobs<'a> {
    OfBucket(JobsOfBucket<'a>),
    OfClass(JobsByLength<'a>),
}

impl<'a> Iterator for Jobs<'a> {
    type Item = &'a Arc<WaitingJob>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::OfBucket(jobs) => jobs.next(),
            Self::OfClass(jobs) => jobs.next(),
        }
    }
}

type Classes<'a> = Peekable<Box<dyn Iterator<Item = &'a Class> + 'a>>;

struct Group<'a> {
    first: &'a Arc<WaitingJob>,
    rest: Jobs<'a>,
}

/// The jobs that are left.
pub(super) struct BackfillOrder<'a> {
    groups: Vec<Group<'a>>,
    /// Groups by the ranks of their first jobs.
    by_rank: BinaryHeap<Reverse<(BackfillRank, usize)>>,
    /// The group whose first job was taken.
    taken: Option<usize>,
    /// Classes that are no groups yet, the one with the shortest job first: each becomes one when
    /// its first job may be the next of all.
    classes: Classes<'a>,
    /// Whether jobs with equal limits are equal, so that no job of a later class comes first.
    has_one_tier: bool,
}

impl<'a> BackfillOrder<'a> {
    /// The jobs of a kind, the shortest time limit first: each class is a group.
    pub fn by_length(kind: &'a Kind, wait_queue: &'a WaitQueue) -> Self {
        let classes = kind.classes().filter_map(|id| wait_queue.class(id));
        let classes: Box<dyn Iterator<Item = &'a Class> + 'a> = Box::new(classes);
        Self { classes: classes.peekable(), has_one_tier: kind.has_one_tier(), ..Self::empty() }
    }

    /// The jobs of a kind by relative wait: those with the same rounded time limit are a group.
    /// `rank`: of a job that had no turn yet; only jobs with shorter limits than `below` are taken.
    pub fn by_relative_wait(
        kind: &'a Kind,
        below: Option<Span>,
        rank: &impl Fn(&WaitingJob) -> Option<BackfillRank>,
    ) -> Self {
        let mut order = Self::empty();
        order.groups.reserve(kind.buckets.len());
        let mut ranks = Vec::with_capacity(kind.buckets.len());
        for bucket in kind.buckets.below(below) {
            ranks.extend(order.add(Jobs::OfBucket(bucket.jobs()), below, rank));
        }
        order.by_rank = ranks.into();
        order
    }

    fn empty() -> Self {
        let classes: Box<dyn Iterator<Item = &'a Class> + 'a> = Box::new(std::iter::empty());
        Self {
            groups: Vec::new(),
            by_rank: BinaryHeap::new(),
            taken: None,
            classes: classes.peekable(),
            has_one_tier: true,
        }
    }

    /// Adds a group. Returns its place in the order; `None`: it has no such job.
    fn add(
        &mut self,
        mut rest: Jobs<'a>,
        below: Option<Span>,
        rank: &impl Fn(&WaitingJob) -> Option<BackfillRank>,
    ) -> Option<Reverse<(BackfillRank, usize)>> {
        let (rank, first) = next(&mut rest, below, rank)?;
        self.groups.push(Group { first, rest });
        Some(Reverse((rank, self.groups.len() - 1)))
    }

    /// Makes groups of the classes whose first job may be the next of all.
    fn add_classes(
        &mut self,
        below: Option<Span>,
        rank: &impl Fn(&WaitingJob) -> Option<BackfillRank>,
    ) {
        let first = |order: &Self| {
            let Reverse((_, at)) = order.by_rank.peek().filter(|_| order.has_one_tier)?;
            Some(order.groups[*at].first.expected_length())
        };
        while let Some(class) = self.classes.peek().copied() {
            let shortest = class.limit_min();
            let has_chance = below.is_none_or(|below| shortest < below);
            if !has_chance || first(self).is_some_and(|first| first < shortest) {
                return;
            }
            self.classes.next();
            let added = self.add(Jobs::OfClass(class.jobs_by_length()), below, rank);
            self.by_rank.extend(added);
        }
    }

    /// Takes the first job.
    pub fn take(&mut self) -> Option<&'a Arc<WaitingJob>> {
        let Reverse((_, at)) = self.by_rank.pop()?;
        self.taken = Some(at);
        Some(self.groups[at].first)
    }

    /// The rank of the next job with a shorter time limit than `below`.
    pub fn next(
        &mut self,
        below: Option<Span>,
        rank: &impl Fn(&WaitingJob) -> Option<BackfillRank>,
    ) -> Option<BackfillRank> {
        if let Some(at) = self.taken.take() {
            self.advance(at, below, rank);
        }
        self.add_classes(below, rank);
        while let Some(Reverse((rank_of_first, at))) = self.by_rank.peek().copied() {
            if is_short(self.groups[at].first, below) {
                return Some(rank_of_first);
            }
            self.by_rank.pop();
            self.advance(at, below, rank);
            self.add_classes(below, rank);
        }
        None
    }

    /// Puts the next job of a group in the place of its first.
    fn advance(
        &mut self,
        at: usize,
        below: Option<Span>,
        rank: &impl Fn(&WaitingJob) -> Option<BackfillRank>,
    ) {
        let group = &mut self.groups[at];
        if let Some((rank, first)) = next(&mut group.rest, below, rank) {
            group.first = first;
            self.by_rank.push(Reverse((rank, at)));
        }
    }
}

fn is_short(job: &WaitingJob, below: Option<Span>) -> bool {
    below.is_none_or(|below| job.expected_length() < below)
}

/// The next job of a group that is short enough and had no turn yet.
fn next<'a>(
    jobs: &mut Jobs<'a>,
    below: Option<Span>,
    rank: &impl Fn(&WaitingJob) -> Option<BackfillRank>,
) -> Option<(BackfillRank, &'a Arc<WaitingJob>)> {
    let is_by_length = matches!(jobs, Jobs::OfClass(_));
    for job in jobs {
        if is_short(job, below) {
            if let Some(rank) = rank(job) {
                return Some((rank, job));
            }
        } else if is_by_length {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::past_usage::Usage;
    use crate::model::queues::Queues;
    use crate::policy::order::ranker::Ranker;
    use crate::testing::{change_policy, cpu_node, request, snapshot, waiting};
    use common::id::{QosName, Uid};
    use common::policy::Candidates;
    use common::time::Time;
    use proptest::prelude::*;

    const NOW: Time = Time(90_000_000);

    /// A limit in minutes. Those from 62 to 69 are in one bucket.
    fn limit() -> impl Strategy<Value = u64> {
        prop_oneof![60..72_u64, 1..200_u64]
    }

    /// A job that a user submitted some minutes ago, its limit (`None`: unlimited), nice and QoS,
    /// and whether it had its turn.
    type Drawn = (u32, u64, Option<u64>, (i32, usize), bool);

    fn jobs() -> impl Strategy<Value = Vec<Drawn>> {
        (0..2_i32, 0..2_usize).prop_flat_map(move |(nice_max, qos_max)| {
            let limit = prop::option::weighted(0.9, limit());
            let had_turn = prop::bool::weighted(0.2);
            let job = (0..3_u32, 0..200_u64, limit, (0..=nice_max, 0..=qos_max), had_turn);
            prop::collection::vec(job, 1..40)
        })
    }

    proptest! {
        #[test]
        fn jobs_come_as_if_all_of_them_were_sorted(
            jobs in jobs(),
            candidates in prop::sample::select(vec![
                Candidates::ShortestFirst, Candidates::RelativeWait,
            ]),
            below_minutes in prop::option::of(limit()),
            narrower_after in 0..40_usize,
        ) {
            let mut snapshot = snapshot(vec![cpu_node("a", 1)]);
            let mut left = Vec::new();
            let names = ["normal", "urgent"].map(|name| QosName::new(name).unwrap());
            change_policy(&mut snapshot, |policy| {
                let qos = |(priority, name): (i32, &QosName)| {
                    let qos = serde_json::json!({ "name": name, "priority": priority });
                    serde_json::from_value(qos).unwrap()
                };
                policy.qos = (0..).zip(&names).map(qos).collect();
            });
            for (number, (user, waited, limit, (nice, qos_at), had_turn)) in (1..).zip(jobs) {
                let mut job = waiting(number, request(8, 1), 1);
                job.time_limit = limit.map(Span::from_minutes);
                job.qos = Some(names[qos_at].clone());
                job.submitted_at = NOW - Span::from_minutes(waited);
                (job.owner, job.nice) = (Uid(1000 + user), nice);
                if !had_turn {
                    left.push(job.clone());
                }
                snapshot.set_waiting(job);
            }
            snapshot.prepare_for_round(NOW);
            let (usage, policy) = (Usage::default(), &snapshot.policy);
            let queues = Queues::new(policy, &snapshot.places);
            let ranker = Ranker::new((policy, queues), &usage, &snapshot.capacity, NOW);
            let rank = |job: &WaitingJob| {
                let is_left = left.iter().any(|left| left.key == job.key);
                is_left.then(|| BackfillRank::new(&ranker, job, candidates, NOW))
            };
            let below = below_minutes.map(Span::from_minutes);
            let (_, kind) = snapshot.wait_queue.kinds().next().expect("all jobs are of one kind");
            let mut order = if candidates == Candidates::RelativeWait {
                BackfillOrder::by_relative_wait(kind, below, &rank)
            } else {
                BackfillOrder::by_length(kind, &snapshot.wait_queue)
            };
            let ranked = left.iter().filter_map(|job| Some((rank(job)?, job)));
            let mut sorted: Vec<_> = ranked.collect();
            sorted.sort_by_key(|(rank, _)| *rank);

            let bound = |turns: usize| {
                let narrower = (turns >= narrower_after).then_some(Span::from_minutes(66));
                below.into_iter().chain(narrower).min()
            };
            let mut turns = Vec::new();
            while order.next(bound(turns.len()), &rank).is_some() {
                turns.push(order.take().expect("the job of the rank").key);
            }
            let mut expected = Vec::new();
            for (_, job) in sorted {
                if bound(expected.len()).is_none_or(|bound| job.expected_length() < bound) {
                    expected.push(job.key);
                }
            }
            prop_assert_eq!(turns, expected);
        }
    }
}
