//! The `[priority]` table.

use super::table::config_table;
use crate::policy::Factors;

config_table! {
    /// Each factor lies between 0 and 1. The priority of a job is the sum of all weights, each
    /// multiplied by its factor, minus the job's `--nice`.
    pub struct PriorityTable {
        /// Weight of the age factor, which grows with the waiting time.
        age: u32 = Factors::default().age,
        /// Waiting time at which the age factor reaches 1.
        age_max_seconds: u64 = Factors::default().age_max_seconds,
        /// Weight of the size factor: the fraction of the cluster's GPUs that the job requests (of
        /// the CPUs, if the cluster has no GPUs).
        size: u32 = Factors::default().size,
        /// true: the size factor is 1 minus the fraction that `priority.size` describes, so that
        /// small jobs come before large ones.
        favor_small: bool = Factors::default().favor_small,
        /// Weight of the queue factor: the queue's priority divided by the highest priority of any
        /// queue. It adds to the points that `kantctl priority` shows, and changes no order: jobs
        /// of a queue with a higher priority come first anyway.
        queue: u32 = Factors::default().queue,
        /// Weight of the QoS factor: the priority of the job's QoS divided by the highest priority
        /// of any QoS.
        qos: u32 = Factors::default().qos,
        /// Weight of the fair-share factor, which is unrelated to `fair_sharing`. The factor is
        /// high if the job's account has used little of its share (`shares` in [[account]]).
        fair_share: u32 = Factors::default().fair_share,
        /// Half-life of past use: use that is this old counts half. It applies to `fair_share` and
        /// to `past_use_percent`; for the latter, use of more than 14 days ago does not count at
        /// all.
        half_life_hours: u32 = Factors::default().half_life_hours,
        /// With `fair_sharing`: how strongly a queue's use in the last 14 days reduces its part of
        /// the surplus, in percent. 0: not at all, and the use of queues is not recorded. A queue's
        /// due is its `weight` divided by the sum of the weights of the queues that want surplus
        /// and have the same parent and `priority`. While other queues want surplus, a queue gets
        /// none once it has used a fraction of the cluster's GPU time of 1 + 100 /
        /// `past_use_percent` times its due: twice its due with 100, three times with 50. Example
        /// for 100: a queue with a fifth of these weights gets no surplus once it has used two
        /// fifths of the GPU time.
        past_use_percent: u32 = Factors::default().past_use_percent,
    }
}

impl PriorityTable {
    /// As the policy has them.
    #[must_use]
    pub const fn factors(&self) -> Factors {
        Factors {
            age: self.age,
            age_max_seconds: self.age_max_seconds,
            size: self.size,
            favor_small: self.favor_small,
            queue: self.queue,
            qos: self.qos,
            fair_share: self.fair_share,
            half_life_hours: self.half_life_hours,
            past_use_percent: self.past_use_percent,
        }
    }
}
