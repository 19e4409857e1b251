//! What a job is doing, and when.

use super::{Row, priority};
use crate::field::{Field, in_all_versions, since_v40};
use crate::version::Version;
use common::job::Launch;
use serde_json::json;

pub(super) const ROWS: &[Row] = &[
    (in_all_versions("accrue_time"), |l| Field::Time(Some(l.eligible_at()))),
    (in_all_versions("batch_flag"), |l| Field::flag(l.job.ask.launch != Launch::Held)),
    (in_all_versions("batch_features"), |_| Field::text("")),
    (in_all_versions("burst_buffer"), |_| Field::text("")),
    (in_all_versions("burst_buffer_state"), |_| Field::text("")),
    (in_all_versions("cluster_features"), |_| Field::text("")),
    (in_all_versions("delay_boot"), |_| Field::Count(Some(0))),
    (in_all_versions("dependency"), |l| Field::text_or_empty(l.job.dependency.as_ref())),
    (in_all_versions("derived_exit_code"), |l| Field::Exit(l.exit())),
    (in_all_versions("eligible_time"), |l| Field::Time(Some(l.eligible_at()))),
    (in_all_versions("end_time"), |l| Field::Time(l.end())),
    (in_all_versions("exit_code"), |l| Field::Exit(l.exit())),
    (since_v40("failed_node"), |_| Field::text("")),
    (since_v40("hold"), |l| Field::flag(l.job.held)),
    (in_all_versions("job_state"), |l| Field::Word(l.state().0.to_owned())),
    (in_all_versions("last_sched_evaluation"), |l| Field::Time(Some(l.page.as_of))),
    (since_v40("power.flags").until_version(Version::V44), |_| Field::Same(json!([]))),
    (in_all_versions("preempt_time"), |_| Field::Time(None)),
    (since_v40("preemptable_time"), |_| Field::Time(None)),
    (in_all_versions("pre_sus_time"), |_| Field::Time(None)),
    (in_all_versions("priority"), |l| Field::Count(Some(priority(l)))),
    (since_v40("priority_by_partition").since_version(Version::V42), |_| Field::Same(json!([]))),
    (since_v40("profile"), |_| Field::Same(json!(["NOT_SET"]))),
    (in_all_versions("reboot"), |_| Field::flag(false)),
    (in_all_versions("requeue"), |l| Field::flag(l.job.ask.requeue)),
    (in_all_versions("resize_time"), |_| Field::Time(None)),
    (in_all_versions("restart_cnt"), |l| Field::integer_value(l.job.attempt.saturating_sub(1))),
    (in_all_versions("start_time"), |l| Field::Time(l.start())),
    (in_all_versions("state_description"), |l| {
        Field::text_or_empty(l.job.reason.as_ref().map(|reason| &reason.sentence))
    }),
    (in_all_versions("state_reason"), |l| Field::text(l.reason_or_end())),
    (in_all_versions("submit_time"), |l| Field::Time(Some(l.job.submitted_at))),
    (in_all_versions("suspend_time"), |l| Field::Time(l.job.suspended_at)),
    (in_all_versions("time_limit"), |l| Field::minutes(l.job.ask.time_limit)),
    (in_all_versions("time_minimum"), |_| Field::Count(Some(0))),
];
