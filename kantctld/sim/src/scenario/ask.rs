//! The words of a `submit` line: what is asked for, and how the job will behave. The state checks
//! whether it is valid.

use super::words::Words;
use crate::behaviour::Behaviour;
use common::id::QueueName;
use common::job::attributes::{GpuCount, GpusValue, Value, read_near, to_request};
use common::job::{Ask, Attribute, Dependency, EndCause, JobSize, Launch, Patch};
use common::resource::{GpuRequest, MemoryRequest, Request};
use common::time::{Span, Time};
use common::topology::Nearness;
use common::unit::{Cpus, Nodes, Tasks};
use state::{Actor, Command, Target};

pub(super) fn ask(words: &mut Words) -> Result<Ask, String> {
    let launch = match words.value::<String>("launch")?.as_deref() {
        None | Some("once") => Launch::Once,
        Some("per-node") => Launch::PerNode,
        Some("per-task") => Launch::PerTask,
        Some(other) => return Err(format!("launch: `{other}` is once, per-node or per-task")),
    };
    Ok(Ask {
        request: request(words)?,
        launch,
        queue: words.value("queue")?,
        time_limit: words.value("time")?,
        begin_at: words.value::<Span>("begin")?.map(|span| Time(span.0)),
        dependency: words.value("dependency")?,
        kill_on_invalid_dependency: words.flag("kill-on-invalid-dep"),
        nice: words.value("nice")?.unwrap_or(0),
        array: words.value("array")?,
        hold: words.flag("hold"),
        requeue: !words.flag("no-requeue"),
        qos: words.value("qos")?,
        account: words.value("account")?,
        reservation: words.value("reservation")?,
        deadline: words.value::<Span>("deadline")?.map(|span| Time(span.0)),
        preemptible: words.flag("preemptible").then_some(true),
        ..Ask::default()
    })
}

/// Changes to jobs.
pub(super) const CHANGES: [&str; 7] =
    ["cancel", "hold", "release", "requeue", "update", "resize", "checkpoint"];

/// The command of one of [`CHANGES`].
pub(super) fn change(
    verb: &str,
    words: &mut Words,
    actor: Actor,
    target: Target,
) -> Result<Command, String> {
    Ok(match verb {
        "update" => {
            let patch = Box::new(patch(words)?);
            Command::UpdateJob { actor, target, patch }
        }
        "resize" => Command::ResizeJob { actor, target, size: size(words)? },
        "cancel" => Command::CancelJob { actor, target },
        "checkpoint" => Command::CheckpointJob { actor, target },
        "hold" => Command::HoldJob { actor, target },
        "release" => Command::ReleaseJob { actor, target },
        _ => Command::RequeueJob { actor, target },
    })
}

/// What an `update` line changes.
fn patch(words: &mut Words) -> Result<Patch, String> {
    let deadline = words.value::<Span>("deadline")?.map(|span| Time(span.0));
    let changes: [(Attribute, Option<Value>); 6] = [
        (Attribute::Time, words.value::<Span>("time")?.map(Value::from)),
        (Attribute::Gpus, words.value::<GpusValue>("gpus")?.map(Value::from)),
        (Attribute::Queue, words.value::<QueueName>("queue")?.map(Value::from)),
        (Attribute::Deadline, deadline.map(Value::from)),
        (Attribute::Dependency, words.value::<Dependency>("dependency")?.map(Value::from)),
        (Attribute::ArrayLimit, words.value::<u32>("array-limit")?.map(Value::from)),
    ];
    let given = changes.into_iter().filter_map(|(attribute, value)| Some((attribute, value?)));
    Ok(given.fold(Patch::default(), |patch, (attribute, value)| patch.with(attribute, value)))
}

/// `tasks=2` or `nodes=1`, of a `resize` line.
fn size(words: &mut Words) -> Result<JobSize, String> {
    let tasks = words.value("tasks")?.map(|tasks| JobSize::Tasks(Tasks(tasks)));
    let nodes = words.value("nodes")?.map(|nodes| JobSize::Nodes(Nodes(nodes)));
    tasks.or(nodes).ok_or_else(|| "say tasks= or nodes=".to_owned())
}

fn request(words: &mut Words) -> Result<Request, String> {
    let nodes = words.value("nodes")?.map(Nodes);
    let (tasks, tasks_min) = tasks(words)?;
    let total: Option<GpusValue> = words.value("gpus")?;
    let per_node: Option<GpuCount> = words.value("gpus-per-node")?;
    let kinds = total.iter().flat_map(|gpus| &gpus.kinds);
    let kinds = kinds.chain(per_node.iter().flat_map(|gpus| &gpus.kinds));
    let mut kinds = kinds.cloned().collect::<Vec<_>>().into_iter();
    let total = total.map(|gpus| to_request(gpus.amount));
    Ok(Request {
        nodes,
        tasks: tasks.unwrap_or(Tasks(nodes.map_or(1, |nodes| nodes.0))),
        tasks_min,
        tasks_per_node: words.value("tasks-per-node")?.map(Tasks),
        cpus_per_task: Cpus(words.value("cpus")?.unwrap_or(1)),
        memory: words.value("mem")?.map(MemoryRequest::PerNode),
        gpus: total.or(per_node.map(|gpus| GpuRequest::PerNode(gpus.count))),
        gpu_kind: kinds.next(),
        gpu_kinds_or: kinds.collect(),
        exclusive: words.flag("exclusive"),
        grow: words.flag("grow"),
        near: near(words)?,
        only_nodes: words.nodes("only")?,
        not_nodes: words.nodes("not")?,
        ..Request::default()
    })
}

/// `tasks=8`, or `tasks=2-8` for a job that accepts fewer.
fn tasks(words: &mut Words) -> Result<(Option<Tasks>, Option<Tasks>), String> {
    let Some(text) = words.value::<String>("tasks")? else { return Ok((None, None)) };
    let read = |text: &str| text.parse().map(Tasks).map_err(|_| format!("tasks: `{text}`"));
    match text.split_once('-') {
        Some((least, most)) => Ok((Some(read(most)?), Some(read(least)?))),
        None => Ok((Some(read(&text)?), None)),
    }
}

/// `near=leaf`: the job waits rather than run on nodes that are further apart.
fn near(words: &mut Words) -> Result<Option<Nearness>, String> {
    let Some(text) = words.value::<String>("near")? else { return Ok(None) };
    let near = read_near(&text).map_err(|error| format!("near: {error}"))?;
    Ok(Some(Nearness { required: true, ..near }))
}

/// How its processes will behave.
pub(super) fn behaviour(words: &mut Words) -> Result<Behaviour, String> {
    let usual = Behaviour::default();
    Ok(Behaviour {
        run: words.value("run")?.or(usual.run),
        ready_after: None,
        exit_code: words.value("exit")?.unwrap_or(usual.exit_code),
        cause: if words.flag("oom") { EndCause::OutOfMemory } else { usual.cause },
        fails_on: words.value("fails-on")?,
        fault_on: words.value("fault-on")?,
    })
}
