//! The `[priority]` table. Never computes a priority.

use super::table::config_table;
use crate::policy::Factors;

config_table! {
    /// Each factor lies between 0 and 1; a job's priority is the sum of weight times factor. For
    /// queues with `order = "multifactor"`.
    pub struct PriorityTable {
        /// Weight of the time waited.
        age: u32 = Factors::default().age,
        /// A job is fully aged after so many seconds.
        age_max_seconds: u64 = Factors::default().age_max_seconds,
        /// Weight of the share of the cluster's GPUs (of its CPUs, where it has none) asked for.
        size: u32 = Factors::default().size,
        /// Small jobs get the size factor instead of large ones.
        favor_small: bool = Factors::default().favor_small,
        /// Weight of the queue's priority, against the highest of any queue.
        queue: u32 = Factors::default().queue,
        /// Weight of the QoS's priority, against the highest of any QoS.
        qos: u32 = Factors::default().qos,
        /// Weight of having used less than one's share.
        fair_share: u32 = Factors::default().fair_share,
        /// Usage counts half after so many hours.
        half_life_hours: u32 = Factors::default().half_life_hours,
        /// With `fair_sharing`: how strongly what a queue used lately, with that half-life, counts
        /// against its part of what nobody is owed, in percent. 0: not at all, and it is not
        /// recorded; 100: who used twice its part gets nothing while others want it.
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
