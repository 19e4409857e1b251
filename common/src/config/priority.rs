//! The `[priority]` table.

use super::table::config_table;
use crate::policy::Factors;

config_table! {
    /// Weights for queues with `order = "multifactor"`. Each factor lies between 0 and 1; a job's
    /// priority is the sum of weight times factor.
    pub struct PriorityTable {
        /// Weight of the waiting time.
        age: u32 = Factors::default().age,
        /// Waiting time at which the age factor reaches 1.
        age_max_seconds: u64 = Factors::default().age_max_seconds,
        /// Weight of the part of the cluster's GPUs that the job asks for (of its CPUs, if the
        /// cluster has no GPUs).
        size: u32 = Factors::default().size,
        /// Give the size factor to small jobs instead of large ones.
        favor_small: bool = Factors::default().favor_small,
        /// Weight of the queue's priority, relative to the highest of all queues.
        queue: u32 = Factors::default().queue,
        /// Weight of the QoS's priority, relative to the highest of all QoS.
        qos: u32 = Factors::default().qos,
        /// Weight of having used less than the account's share.
        fair_share: u32 = Factors::default().fair_share,
        /// Time after which use counts half.
        half_life_hours: u32 = Factors::default().half_life_hours,
        /// With `fair_sharing`: how strongly a queue's past use, with that half-life, reduces its
        /// part of the GPUs beyond all quotas, in percent. 0: not at all, and use is not recorded.
        /// 100: a queue that used twice its part gets nothing while others want it.
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
