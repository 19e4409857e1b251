//! Checks of a submission, made by kantctl for a quick answer and again by the controller. They
//! need no knowledge of the cluster.

mod bounds;
mod elastic;
mod error;
mod segment;
mod shares;

use super::spec::{Ask, Launch};
use super::warning::{LEAD_MAX, Warning};
use crate::resource::{GpuRequest, MemoryRequest, Request};
use crate::time::Span;
use crate::unit::{Gpus, Tasks};

pub use bounds::{
    ARGS_BYTES_MAX, ARGS_MAX, ARRAY_PARTS_MAX, COMMAND_BYTES_MAX, GPU_KINDS_MAX, NODE_NAMES_MAX,
    RLIMIT_NAME_BYTES_MAX, RLIMITS_MAX, STEP_NAME_BYTES_MAX, check_step_name,
};
pub use error::AskError;

/// In bytes.
pub const SCRIPT_BYTES_MAX: usize = 4 << 20;

/// In bytes.
pub const ENVIRONMENT_BYTES_MAX: usize = 1 << 20;

/// The shortest lease: long enough that its holder can renew it despite a failover.
pub const LEASE_MIN: Span = Span::from_seconds(5);

pub const LEASE_MAX: Span = Span::from_minutes(7 * 24 * 60);

/// The largest count accepted anywhere in a request, far above any cluster's size.
pub const COUNT_MAX: u32 = 1_000_000;

/// Checks a script's text.
///
/// # Errors
/// The first problem found.
pub fn check_script(script: &[u8]) -> Result<(), AskError> {
    if script.len() > SCRIPT_BYTES_MAX {
        return Err(AskError::ScriptTooLarge(script.len()));
    }
    if script.iter().all(u8::is_ascii_whitespace) {
        return Err(AskError::ScriptEmpty);
    }
    if script.contains(&0) || std::str::from_utf8(script).is_err() {
        return Err(AskError::ScriptBinary);
    }
    if !script.starts_with(b"#!") {
        return Err(AskError::ScriptNoInterpreter);
    }
    if script.split(|b| *b == b'\n').next().is_some_and(|line| line.ends_with(b"\r")) {
        return Err(AskError::ScriptDosLines);
    }
    Ok(())
}

/// Checks everything about a request that needs no knowledge of the cluster.
///
/// # Errors
/// The first problem found.
pub fn check_ask(ask: &Ask) -> Result<(), AskError> {
    check_counts(ask)?;
    check_layout(ask)?;
    elastic::check(&ask.request)?;
    shares::check(&ask.request)?;
    segment::check(&ask.request)?;
    bounds::check(ask)?;
    check_constraint(&ask.request)?;
    check_deadline(ask)?;
    if ask.time_limit.is_some_and(|limit| limit.0 == 0) {
        return Err(AskError::TimeLimitZero);
    }
    if ask.lease.is_some_and(|lease| !(LEASE_MIN..=LEASE_MAX).contains(&lease)) {
        return Err(AskError::Lease);
    }
    if ask.launch == Launch::Held && ask.array.is_some() {
        return Err(AskError::HeldArray);
    }
    if ask.launch == Launch::Held && ask.request.grow {
        return Err(AskError::GrowHeld);
    }
    let warned = |warning: &Warning| warning.signal.name().is_some() && warning.lead <= LEAD_MAX;
    if !ask.warning.as_ref().is_none_or(warned) {
        return Err(AskError::Warning);
    }
    if ask.resize_signal.is_some_and(|resize| resize.signal.name().is_none()) {
        return Err(AskError::ResizeSignal);
    }
    if !ask.work_dir.starts_with('/') {
        return Err(AskError::WorkDirRelative(ask.work_dir.clone()));
    }
    if let Some(container) = ask.container.as_ref().filter(|path| !path.starts_with('/')) {
        return Err(AskError::ContainerRelative(container.clone()));
    }
    [&ask.stdin, &ask.stdout, &ask.stderr].into_iter().flatten().try_for_each(|p| check_pattern(p))
}

fn check_counts(ask: &Ask) -> Result<(), AskError> {
    let request = &ask.request;
    let gpus = match request.gpus {
        None => None,
        Some(GpuRequest::PerNode(n)) => Some(("--gpus-per-node", n.0)),
        Some(GpuRequest::PerTask(n)) => Some(("--gpus-per-task", n.0)),
        Some(GpuRequest::Total(n)) => Some(("--gpus", n.0)),
        // `shares` checks those.
        Some(GpuRequest::Parts(_)) => None,
    };
    let counts = [
        Some(("--ntasks", request.tasks.0)),
        Some(("--cpus-per-task", request.cpus_per_task.0)),
        request.nodes.map(|n| ("--nodes", n.0)),
        request.tasks_per_node.map(|n| ("--ntasks-per-node", n.0)),
        request.segment.map(|n| ("--segment", n.0)),
        request.per_node_max().map(|(_, jobs)| ("--max-per-node", jobs)),
        gpus,
    ];
    for (what, count) in counts.into_iter().flatten() {
        if !(1..=COUNT_MAX).contains(&count) {
            return Err(AskError::Count { what, count, min: 1 });
        }
    }
    Ok(())
}

fn check_layout(ask: &Ask) -> Result<(), AskError> {
    let request = &ask.request;
    if let Some(nodes) = request.nodes {
        if request.tasks.0 < nodes.0 {
            return Err(AskError::NodesWithoutTasks { nodes: nodes.0, tasks: request.tasks.0 });
        }
        if let Some(Tasks(each)) = request.tasks_per_node
            && u64::from(each) * u64::from(nodes.0) < u64::from(request.tasks.0)
        {
            return Err(AskError::Layout { tasks: request.tasks.0, nodes: nodes.0, each });
        }
        if let Some(GpuRequest::Total(Gpus(gpus))) = request.gpus
            && gpus % nodes.0 != 0
        {
            return Err(AskError::GpusUneven { gpus, nodes: nodes.0 });
        }
    }
    match (request.memory, request.gpus, &request.gpu_kind) {
        (Some(MemoryRequest::PerGpu(_)), None, _) => Err(AskError::MemoryPerGpuWithoutGpus),
        (_, None, Some(_)) => Err(AskError::GpuKindWithoutGpus),
        _ => Ok(()),
    }
}

/// Nodes are chosen one by one, so a feature is required on all of a job's nodes or on none.
fn check_constraint(request: &Request) -> Result<(), AskError> {
    let Some(constraint) = &request.constraint else { return Ok(()) };
    let one = request.nodes.map_or(request.tasks == Tasks(1), |nodes| nodes.0 == 1);
    if constraint.needs_common_feature() && constraint.features().len() > 1 && !one {
        return Err(AskError::ConstraintSame);
    }
    match constraint.count() {
        Some(count) if request.nodes.map_or(u32::from(one), |nodes| nodes.0) != count => {
            Err(AskError::ConstraintCount { count })
        }
        _ => Ok(()),
    }
}

/// A check that needs no clock: a job that starts at its begin time must end by its deadline.
fn check_deadline(ask: &Ask) -> Result<(), AskError> {
    let (Some(begin_at), Some(deadline)) = (ask.begin_at, ask.deadline) else { return Ok(()) };
    let over_at = begin_at + ask.time_limit.unwrap_or(Span(1));
    if over_at > deadline { Err(AskError::Deadline { begin_at, deadline }) } else { Ok(()) }
}

fn check_pattern(pattern: &str) -> Result<(), AskError> {
    let mut letters = pattern.chars();
    while let Some(c) = letters.next() {
        if c != '%' {
            continue;
        }
        let letter = letters.find(|c| !c.is_ascii_digit());
        if !letter.is_some_and(|l| "jJAaxuNnts%".contains(l)) {
            let letter = letter.map(String::from).unwrap_or_default();
            return Err(AskError::Pattern { pattern: pattern.to_owned(), letter });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::SignalNumber;
    use crate::time::Time;
    use crate::unit::{Cpus, Nodes};

    #[test]
    fn the_plainest_job_passes() {
        assert_eq!(check_ask(&Ask::default()), Ok(()));
        assert_eq!(check_script(b"#!/bin/sh\ntrue\n"), Ok(()));
    }

    #[test]
    fn a_script_that_cannot_run_is_refused_with_the_mend() {
        for (script, word) in [
            (&b""[..], "empty"),
            (b" \n", "empty"),
            (b"echo hi\n", "#!"),
            (b"\x7fELF\0\0", "not a text file"),
            (b"#!/bin/sh\r\ntrue\r\n", "DOS"),
        ] {
            let error = check_script(script).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
        let large = vec![b' '; SCRIPT_BYTES_MAX + 1];
        assert_eq!(check_script(&large), Err(AskError::ScriptTooLarge(SCRIPT_BYTES_MAX + 1)));
    }

    #[test]
    fn absurd_counts_and_layouts_are_refused() {
        let refused = |change: &dyn Fn(&mut Ask)| {
            let mut ask = Ask::default();
            change(&mut ask);
            check_ask(&ask).unwrap_err().to_string()
        };
        assert!(refused(&|a| a.request.tasks = Tasks(0)).contains("--ntasks is 0"));
        assert!(refused(&|a| a.request.cpus_per_task = Cpus(u32::MAX)).contains("--cpus-per-task"));
        assert!(refused(&|a| a.request.nodes = Some(Nodes(2))).contains("2 nodes for 1 tasks"));
        assert!(refused(&|a| a.request.segment = Some(Nodes(0))).contains("--segment is 0"));
        assert!(refused(&|a| a.time_limit = Some(Span(0))).contains("zero"));
        let signal = SignalNumber(77);
        let warning = |lead| Some(Warning { signal, lead, to: Default::default() });
        assert!(refused(&|a| a.warning = warning(Span(0))).contains("--signal"));
        assert!(refused(&|a| a.work_dir = "x".into()).contains("absolute"));
        assert!(refused(&|a| a.container = Some("x".into())).contains("begin it with /"));
        assert!(refused(&|a| a.stdout = Some("a%q".into())).contains("%q"));
        assert!(refused(&|a| a.name = "a\nb".into()).contains("--job-name"));
        assert!(
            refused(&|a| a.request.memory = Some(MemoryRequest::PerGpu(Default::default())))
                .contains("--mem-per-gpu")
        );
    }

    #[test]
    fn features_are_asked_of_all_nodes_or_none() {
        let check = |text: &str, nodes: Option<u32>| {
            let mut ask = Ask::default();
            ask.request.constraint = Some(text.parse().unwrap());
            (ask.request.nodes, ask.request.tasks) = (nodes.map(Nodes), Tasks(nodes.unwrap_or(1)));
            check_ask(&ask)
        };
        for fine in [check("a*4", Some(4)), check("[a|b]", None), check("a&b", Some(3))] {
            assert_eq!(fine, Ok(()));
        }
        let count = Err(AskError::ConstraintCount { count: 2 });
        assert_eq!((check("a*2", Some(4)), check("a*2", None)), (count.clone(), count));
        assert_eq!(check("[a|b]", Some(2)), Err(AskError::ConstraintSame));
    }

    #[test]
    fn a_deadline_leaves_time_for_the_job() {
        let by = |deadline, limit| {
            let begin_at = Some(Time(1_000_000));
            let (deadline, time_limit) = (Some(Time(deadline)), limit);
            check_ask(&Ask { begin_at, deadline, time_limit, ..Ask::default() })
        };
        assert_eq!(by(1_060_000, Some(Span::from_minutes(1))), Ok(()));
        assert_eq!(by(1_000_001, None), Ok(()));
        for refused in [by(1_059_999, Some(Span::from_minutes(1))), by(1_000_000, None)] {
            assert!(refused.unwrap_err().to_string().contains("--deadline"));
        }
    }
}
