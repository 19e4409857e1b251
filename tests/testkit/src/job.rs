//! Sample jobs, as the API shows them.

use common::id::{Gid, JobKey, QueueName, Uid};
use common::job::state::slurm_state;
use common::job::{Ask, Owner, Phase};
use common::time::{Span, Time};
use common::unit::{Bytes, Cpus, Gpus};
use common::wire::api::JobView;

/// The user of all samples.
#[must_use]
pub fn ada() -> Owner {
    Owner { uid: Uid(1000), gid: Gid(1000), name: "ada".to_owned() }
}

/// A pending job of [`ada`]'s in queue `main`: one CPU and 1 GiB.
///
/// # Panics
/// If this is no key of a job.
#[must_use]
pub fn job_view(key: &str) -> JobView {
    let (state, code) = slurm_state(Phase::Pending, None);
    JobView {
        key: key.parse::<JobKey>().unwrap(),
        number: None,
        set: None,
        owner: ada(),
        ask: Ask { queue: Some(QueueName::new("main").unwrap()), ..Ask::default() },
        phase: Phase::Pending,
        outcome: None,
        state: state.to_owned(),
        state_code: code.to_owned(),
        held: false,
        reason: None,
        dependency: None,
        position: None,
        attempt: 0,
        cancelled_by: None,
        array_limit: None,
        submitted_at: Time(0),
        expected_run_time: None,
        started_at: None,
        ended_at: None,
        suspended_at: None,
        suspended: Span(0),
        checkpoint_at: None,
        allocation: None,
        leaving: Vec::new(),
        joining: Vec::new(),
        cpus: Cpus(1),
        memory: Bytes::from_mib(1024),
        gpus: Gpus(0),
        exit: None,
        usage: None,
        message: None,
        timeline: Vec::new(),
    }
}
