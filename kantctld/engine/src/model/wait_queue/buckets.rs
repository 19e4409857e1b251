//! The jobs of a kind in buckets of similar time limits: the order by relative wait
//! (`policy::order::backfill_rank`) compares only the first job of each bucket, so that the cost of
//! choosing the next job grows with the number of buckets, not of jobs.

use crate::model::job::WaitingJob;
use common::id::{JobKey, QosName};
use common::time::{Span, Time};
use std::collections::{BTreeMap, btree_map};
use std::sync::Arc;

/// QoS, nice, and the rounded time limit.
type BucketKey = (Option<QosName>, i32, Span);

/// Jobs with the same QoS, nice and rounded time limit.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bucket {
    jobs: BTreeMap<(Time, JobKey), Arc<WaitingJob>>,
    /// The number of jobs with each time limit.
    limits: BTreeMap<Span, u32>,
}

impl Bucket {
    /// The jobs, longest wait first.
    pub fn jobs(&self) -> JobsOfBucket<'_> {
        self.jobs.values()
    }
}

/// The jobs of a bucket, longest wait first.
pub(crate) type JobsOfBucket<'a> = btree_map::Values<'a, (Time, JobKey), Arc<WaitingJob>>;

#[derive(Debug, Clone, Default)]
pub(crate) struct Buckets(BTreeMap<BucketKey, Bucket>);

impl Buckets {
    pub fn add(&mut self, job: Arc<WaitingJob>) {
        let bucket = self.0.entry(key(&job)).or_default();
        *bucket.limits.entry(job.expected_length()).or_default() += 1;
        bucket.jobs.insert((job.since(), job.key), job);
    }

    /// Removes a job that was added.
    pub fn remove(&mut self, job: &WaitingJob) {
        let key = key(job);
        let Some(bucket) = self.0.get_mut(&key) else { return };
        bucket.jobs.remove(&(job.since(), job.key));
        if let Some(count) = bucket.limits.get_mut(&job.expected_length()) {
            *count -= 1;
            if *count == 0 {
                bucket.limits.remove(&job.expected_length());
            }
        }
        if bucket.jobs.is_empty() {
            self.0.remove(&key);
        }
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The buckets with a job of a shorter time limit than this.
    pub fn below(&self, limit: Option<Span>) -> impl Iterator<Item = &Bucket> {
        self.0.values().filter(move |bucket| {
            let shortest = bucket.limits.first_key_value().map(|(shortest, _)| *shortest);
            limit.is_none_or(|limit| shortest.is_some_and(|shortest| shortest < limit))
        })
    }
}

fn key(job: &WaitingJob) -> BucketKey {
    (job.qos.clone(), job.nice, job.rounded_length())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{request, waiting};

    #[test]
    fn jobs_are_found_by_similar_limits_until_they_are_removed() {
        let jobs = [(1, 64), (2, 63), (3, 200), (4, 64)];
        let jobs = jobs.map(|(number, limit)| Arc::new(waiting(number, request(1, 1), limit)));
        let mut buckets = Buckets::default();
        jobs.iter().for_each(|job| buckets.add(job.clone()));
        let found = |buckets: &Buckets, below: Option<u64>| -> Vec<Vec<u32>> {
            let below = below.map(Span::from_minutes);
            let numbers = |bucket: &Bucket| bucket.jobs().map(|job| job.key.job.0).collect();
            buckets.below(below).map(numbers).collect()
        };
        assert_eq!(found(&buckets, None), [vec![1, 2, 4], vec![3]]);
        assert_eq!(found(&buckets, Some(64)), [[1, 2, 4]]);
        assert!(found(&buckets, Some(63)).is_empty());
        buckets.remove(&jobs[1]);
        assert!(found(&buckets, Some(64)).is_empty());
        assert_eq!(found(&buckets, None), [vec![1, 4], vec![3]]);
        buckets.remove(&jobs[2]);
        assert_eq!(found(&buckets, None), [[1, 4]]);
    }
}
