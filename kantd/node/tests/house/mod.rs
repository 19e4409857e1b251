//! What the tests share: short ways to write attempts, orders, wants and ends.
//!
//! Not a test itself; each test file takes it in with `mod house`.
#![allow(dead_code, clippy::unwrap_used)] // each test file uses its part, and fails by panicking

use common::cpuset::CpuSet;
use common::id::{Attempt, AttemptId, Gid, JobId, JobKey, NodeName, QueueName, Uid};
use common::job::{EndCause, ExitStatus, Launch, OpenMode, Owner, StepEnd, Usage};
use common::resource::{Allocation, Share};
use common::time::{Span, Time};
use common::unit::{Bytes, Tasks};
use common::wire::node::{DesiredStep, DesiredUpdate, LaunchOrder, StepPhase, Want};
use std::collections::BTreeMap;

/// Attempt `attempt` of job `job`.
pub fn id(job: u32, attempt: u32) -> AttemptId {
    AttemptId { key: JobKey::single(JobId(job)), attempt: Attempt(attempt) }
}

/// An order that is good for nothing but to be recognised.
pub fn order(id: AttemptId) -> Box<LaunchOrder> {
    let share = Share {
        gpu_milli: None,
        node: NodeName::new("n1").unwrap(),
        tasks: Tasks(1),
        cpus: CpuSet::first(1),
        memory: Bytes(1),
        gpus: vec![],
    };
    Box::new(LaunchOrder {
        id,
        cluster: "test".to_owned(),
        job_name: "job".to_owned(),
        owner: Owner { uid: Uid(1000), gid: Gid(1000), name: "alice".to_owned() },
        queue: QueueName::new("default").unwrap(),
        account: None,
        script: "#!/bin/sh\n".to_owned(),
        args: vec![],
        environment: BTreeMap::new(),
        work_dir: "/".to_owned(),
        stdin: None,
        stdout: "out".to_owned(),
        stderr: None,
        open_mode: OpenMode::Truncate,
        umask: 0o022,
        rlimits: vec![],
        launch: Launch::Once,
        container: None,
        time_limit: None,
        until_deadline: None,
        warning: None,
        kill_grace: Span(0),
        allocation: Allocation::new(vec![share]).unwrap(),
        addresses: vec!["n1".to_owned()],
        resized: 0,
        cpus_per_task: 1,
        submitted_at: Time(0),
        submit_host: "n1".to_owned(),
        array: None,
        set: None,
    })
}

/// A wanted attempt with its order.
pub fn wanted(id: AttemptId, want: Want) -> DesiredStep {
    DesiredStep {
        id,
        want,
        suspended: false,
        time_limit: None,
        resized: None,
        order: Some(order(id)),
    }
}

/// A wanted attempt whose order is left out.
pub fn wanted_without_order(id: AttemptId, want: Want) -> DesiredStep {
    DesiredStep { id, want, suspended: false, time_limit: None, resized: None, order: None }
}

/// Everything that is wanted.
pub fn whole(steps: Vec<DesiredStep>) -> DesiredUpdate {
    DesiredUpdate { full: true, steps, gone: vec![] }
}

/// A change of what is wanted.
pub fn change(steps: Vec<DesiredStep>, gone: Vec<AttemptId>) -> DesiredUpdate {
    DesiredUpdate { full: false, steps, gone }
}

/// Runs, and stands still.
pub fn standing() -> StepPhase {
    StepPhase::Running { since: Time(1), suspended: true }
}

pub fn running() -> StepPhase {
    StepPhase::Running { since: Time(1), suspended: false }
}

pub fn ended(cause: EndCause) -> StepPhase {
    StepPhase::Ended(Box::new(StepEnd {
        cause,
        exit: ExitStatus::default(),
        started_at: None,
        ended_at: Time(2),
        usage: Usage::default(),
        message: None,
        steps: Vec::new(),
    }))
}
