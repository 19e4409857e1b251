//! Statistics of the controller, as GET /slurm/{version}/diag shows them. What kant does not count
//! is 0.
//! Source: Slurm's OpenAPI documents, `stats_msg` (0.0.38: `diag_statistics`).

use crate::field::{Field, Place, in_all_versions, object, since_v40};
use crate::version::Version;
use common::time::{Span, Time};
use serde_json::{Value, json};

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Statistics {
    pub as_of: Time,
    /// Since when jobs are counted.
    pub since: Time,
    pub submitted: u64,
    pub started: u64,
    pub completed: u64,
    pub cancelled: u64,
    pub failed: u64,
    pub pending: u64,
    pub running: u64,
    /// Scheduling rounds of this controller, and the time that they took.
    pub rounds: u64,
    pub round_time: Span,
}

impl Statistics {
    /// The mean time of a round, in microseconds.
    fn round_mean_micros(&self) -> u64 {
        self.round_time.0.saturating_mul(1000).checked_div(self.rounds).unwrap_or(0)
    }
}

/// A field, and how it is computed.
type Row = (Place, fn(&Statistics) -> Field);

/// The statistics.
#[must_use]
pub fn statistics(statistics: &Statistics, version: Version) -> Value {
    let mut fields = object(version, ROWS, |value| value(statistics));
    let zeros = ZEROS.iter().filter(|name| !fields.contains_key(**name)).collect::<Vec<_>>();
    for name in zeros {
        fields.insert((*name).to_owned(), json!(0));
    }
    Value::Object(fields)
}

/// Counters of Slurm's internals, which have no equal.
const ZEROS: &[&str] = &[
    "parts_packed",
    "agent_queue_size",
    "agent_count",
    "agent_thread_count",
    "dbd_agent_queue_size",
    "gettimeofday_latency",
    "bf_backfilled_jobs",
    "bf_last_backfilled_jobs",
    "bf_backfilled_het_jobs",
    "bf_cycle_counter",
    "bf_cycle_max",
    "bf_cycle_mean",
    "bf_cycle_last",
    "bf_depth_mean",
    "bf_depth_mean_try",
    "bf_last_depth",
    "bf_last_depth_try",
    "bf_table_size",
    "bf_table_size_mean",
    "schedule_cycle_mean_depth",
    "schedule_cycle_per_minute",
];

const ROWS: &[Row] = &[
    (in_all_versions("req_time"), |s| Field::Time(Some(s.as_of))),
    (in_all_versions("req_time_start"), |s| Field::Time(Some(s.since))),
    (in_all_versions("server_thread_count"), |_| Field::integer_value(1)),
    (in_all_versions("schedule_cycle_max"), |_| Field::integer_value(0)),
    (in_all_versions("schedule_cycle_last"), |s| Field::Same(json!(s.round_mean_micros()))),
    (in_all_versions("schedule_cycle_mean"), |s| Field::Same(json!(s.round_mean_micros()))),
    (in_all_versions("schedule_cycle_total"), |s| Field::Same(json!(s.rounds))),
    (in_all_versions("schedule_queue_length"), |s| Field::Same(json!(s.pending))),
    (in_all_versions("jobs_submitted"), |s| Field::Same(json!(s.submitted))),
    (in_all_versions("jobs_started"), |s| Field::Same(json!(s.started))),
    (in_all_versions("jobs_completed"), |s| Field::Same(json!(s.completed))),
    (in_all_versions("jobs_canceled"), |s| Field::Same(json!(s.cancelled))),
    (in_all_versions("jobs_failed"), |s| Field::Same(json!(s.failed))),
    (in_all_versions("jobs_pending"), |s| Field::Same(json!(s.pending))),
    (in_all_versions("jobs_running"), |s| Field::Same(json!(s.running))),
    (in_all_versions("job_states_ts"), |s| Field::Time(Some(s.as_of))),
    (in_all_versions("bf_active"), |_| Field::flag(false)),
    (in_all_versions("bf_queue_len"), |s| Field::Same(json!(s.pending))),
    (in_all_versions("bf_queue_len_mean"), |s| Field::Same(json!(s.pending))),
    (in_all_versions("bf_when_last_cycle"), |s| Field::Time(Some(s.as_of))),
    (in_all_versions("rpcs_by_message_type"), |_| Field::Same(json!([]))),
    (in_all_versions("rpcs_by_user"), |_| Field::Same(json!([]))),
    (since_v40("pending_rpcs").since_version(Version::V41), |_| Field::Same(json!([]))),
    (since_v40("pending_rpcs_by_hostlist").since_version(Version::V41), |_| Field::Same(json!([]))),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::check_table;

    #[test]
    fn what_is_counted_is_shown_and_the_rest_is_zero() {
        check_table(ROWS);
        let counted = Statistics {
            as_of: Time(9_000),
            pending: 3,
            running: 2,
            rounds: 4,
            round_time: Span(10),
            ..Statistics::default()
        };
        let old = statistics(&counted, Version::V38);
        assert_eq!((&old["jobs_pending"], &old["jobs_running"]), (&json!(3), &json!(2)));
        assert_eq!((&old["schedule_cycle_mean"], &old["req_time"]), (&json!(2500), &json!(9)));
        assert_eq!((&old["bf_active"], &old["bf_cycle_mean"]), (&json!(false), &json!(0)));
        let new = statistics(&counted, Version::V42);
        assert_eq!(new["req_time"], json!({ "set": true, "infinite": false, "number": 9 }));
        assert_eq!(new["rpcs_by_user"], json!([]));
    }
}
