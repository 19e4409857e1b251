//! Sample steps: launch orders, and the phases that nodes report.

use crate::{ada, share};
use common::id::{Attempt, AttemptId, JobId, JobKey, QueueName};
use common::job::{EndCause, ExitStatus, Launch, OpenMode, StepEnd, Usage};
use common::policy::Sandbox;
use common::resource::Allocation;
use common::time::{Span, Time};
use common::wire::node::{DesiredStep, LaunchOrder, StepPhase, Want};
use std::collections::BTreeMap;

/// An attempt of a single job.
#[must_use]
pub fn attempt(job: u32, attempt: u32) -> AttemptId {
    AttemptId { key: JobKey::single(JobId(job)), attempt: Attempt(attempt) }
}

/// A job of [`ada`]'s with an empty script: one task with one CPU and 1 GiB on this node.
///
/// # Panics
/// If this is no name of a node.
#[must_use]
pub fn launch_order(id: AttemptId, node: &str) -> LaunchOrder {
    LaunchOrder {
        id,
        cluster: "test".to_owned(),
        job_name: "job".to_owned(),
        owner: ada(),
        queue: QueueName::new("main").unwrap(),
        account: None,
        script: "#!/bin/sh\n".to_owned(),
        args: Vec::new(),
        environment: BTreeMap::new(),
        work_dir: "/".to_owned(),
        stdin: None,
        stdout: "out".to_owned(),
        stderr: None,
        open_mode: OpenMode::Truncate,
        umask: 0o022,
        rlimits: Vec::new(),
        launch: Launch::Once,
        container: None,
        sandbox: Sandbox::default(),
        time_limit: None,
        until_deadline: None,
        warning: None,
        kill_grace: Span::from_seconds(10),
        requeue: true,
        allocation: Allocation::new(vec![share(node, 0, 1, &[])]).unwrap(),
        addresses: vec!["127.0.0.1".to_owned()],
        resized: 0,
        cpus_per_task: 1,
        submitted_at: Time(0),
        submit_host: "login".to_owned(),
        array: None,
        set: None,
        replica: None,
    }
}

/// What a controller wants of an attempt, without its order.
#[must_use]
pub const fn wanted(id: AttemptId, want: Want) -> DesiredStep {
    DesiredStep { id, want, suspended: false, time_limit: None, resized: None, order: None }
}

#[must_use]
pub const fn running() -> StepPhase {
    StepPhase::Running { since: Time(1), suspended: false }
}

/// The end of a step that ran from time 1 to time 2.
#[must_use]
pub fn step_end(cause: EndCause, code: u8) -> StepEnd {
    StepEnd {
        cause,
        exit: ExitStatus { code, signal: None },
        started_at: Some(Time(1)),
        ended_at: Time(2),
        held: None,
        ran: None,
        usage: Usage::default(),
        message: None,
        steps: Vec::new(),
    }
}

#[must_use]
pub fn ended(cause: EndCause, code: u8) -> StepPhase {
    StepPhase::Ended(Box::new(step_end(cause, code)))
}
