//! What a job is doing, and when.

use super::{Row, priority};
use crate::field::{Field, always, stated};
use crate::version::Version;
use common::job::Launch;
use serde_json::json;

pub(super) const ROWS: &[Row] = &[
    (always("accrue_time"), |l| Field::Time(Some(l.eligible_at()))),
    (always("batch_flag"), |l| Field::flag(l.job.ask.launch != Launch::Held)),
    (always("batch_features"), |_| Field::text("")),
    (always("burst_buffer"), |_| Field::text("")),
    (always("burst_buffer_state"), |_| Field::text("")),
    (always("cluster_features"), |_| Field::text("")),
    (always("delay_boot"), |_| Field::Count(Some(0))),
    (always("dependency"), |l| Field::text_or_empty(l.job.dependency.as_ref())),
    (always("derived_exit_code"), |l| Field::Exit(l.exit())),
    (always("eligible_time"), |l| Field::Time(Some(l.eligible_at()))),
    (always("end_time"), |l| Field::Time(l.end())),
    (always("exit_code"), |l| Field::Exit(l.exit())),
    (stated("failed_node"), |_| Field::text("")),
    (stated("hold"), |l| Field::flag(l.job.held)),
    (always("job_state"), |l| Field::Word(l.state().0.to_owned())),
    (always("last_sched_evaluation"), |l| Field::Time(Some(l.page.as_of))),
    (stated("power.flags").until(Version::V44), |_| Field::Same(json!([]))),
    (always("preempt_time"), |_| Field::Time(None)),
    (stated("preemptable_time"), |_| Field::Time(None)),
    (always("pre_sus_time"), |_| Field::Time(None)),
    (always("priority"), |l| Field::Count(Some(priority(l)))),
    (stated("priority_by_partition").from(Version::V42), |_| Field::Same(json!([]))),
    (stated("profile"), |_| Field::Same(json!(["NOT_SET"]))),
    (always("reboot"), |_| Field::flag(false)),
    (always("requeue"), |l| Field::flag(l.job.ask.requeue)),
    (always("resize_time"), |_| Field::Time(None)),
    (always("restart_cnt"), |l| Field::whole(l.job.attempt.saturating_sub(1))),
    (always("start_time"), |l| Field::Time(l.start())),
    (always("state_description"), |l| {
        Field::text_or_empty(l.job.reason.as_ref().map(|reason| &reason.sentence))
    }),
    (always("state_reason"), |l| Field::text(l.reason_or_end())),
    (always("submit_time"), |l| Field::Time(Some(l.job.submitted_at))),
    (always("suspend_time"), |l| Field::Time(l.job.suspended_at)),
    (always("time_limit"), |l| Field::minutes(l.job.ask.time_limit)),
    (always("time_minimum"), |_| Field::Count(Some(0))),
];
