//! Converts a case to the input of a fair round. All differences between KAI's configuration and
//! kant's are handled here.

use super::format::{
    AffinityText, Case, GroupText, JobText, NearText, NodeText, QueueText, TaskText,
};
use common::time::Span;
use engine::fair::runtime::Protection;
use engine::fair::tree::{QueueAt, Terms, Tree};
use engine::fair::world::{
    Affinity, Cut, GpuAsk, Grace, Group, GroupAt, Job, JobAt, Least, Nearness, Node, NodeAt,
    Settings, Task, TaskAt, TaskState,
};
use engine::fair::{Amount, UNLIMITED, World};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Why a case cannot be imported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// The case asks for something that kant does not have.
    #[error("kant has no {0}")]
    Unsupported(String),
    /// The case names something that does not exist.
    #[error("failed to find the {what} {name}: nothing of this case is called so")]
    Unknown {
        /// The kind of thing.
        what: &'static str,
        name: String,
    },
}

pub(super) fn unsupported<T>(what: impl Into<String>) -> Result<T, ImportError> {
    Err(ImportError::Unsupported(what.into()))
}

pub(super) fn unknown(what: &'static str, name: &str) -> ImportError {
    ImportError::Unknown { what, name: name.to_owned() }
}

/// The world of a case.
///
/// # Errors
/// [`ImportError`]: the case asks for something that kant does not have.
pub fn world(case: &Case) -> Result<World, ImportError> {
    if case.config.only_policies.is_some() {
        return unsupported("way to leave out single policies");
    }
    let packs = |text: &str| text == "binpack" || text == "pack";
    let placement = case.config.node_placement.iter().flat_map(|both| both.values());
    if !placement.chain(&case.config.gpu_device_placement).all(|text| packs(text)) {
        return unsupported("spreading in a tree that shares fairly");
    }
    let mut world = World {
        nodes: case.nodes.iter().map(node).collect::<Result<_, _>>()?,
        queues: Tree::new(queues(&case.queues)?),
        topologies: case.topologies.iter().map(|one| one.levels.clone()).collect(),
        settings: Settings {
            stale_grace: grace(case.config.stale_gang_grace_s),
            ..Settings::default()
        },
        ..World::default()
    };
    for text in &case.jobs {
        let job = job(case, text, &mut world)?;
        world.jobs.push(job);
    }
    Ok(world)
}

fn grace(seconds: i64) -> Grace {
    u64::try_from(seconds).map_or(Grace::Ever, |seconds| Grace::For(Span::from_seconds(seconds)))
}

fn node(text: &NodeText) -> Result<Node, ImportError> {
    if text.numa.is_some() {
        return unsupported("NUMA zones in fair rounds");
    }
    let cut = match text.mig_strategy.as_deref() {
        None | Some("none") => Cut::Whole,
        Some("single") => Cut::Single,
        Some("mixed") => Cut::Mixed,
        Some(other) => return unsupported(format!("MIG strategy {other}")),
    };
    let is_known = text.gpu_memory_known.unwrap_or(true);
    Ok(Node {
        name: text.name.clone(),
        gpus: text.gpus,
        gpu_memory_mib: Some(text.gpu_memory_mib.unwrap_or(100)).filter(|_| is_known),
        cpu_milli: text.cpu_milli,
        memory_bytes: text.memory_bytes,
        tasks_max: text.max_tasks.unwrap_or(110),
        labels: text.labels.clone(),
        cut,
        slices: text.mig_instances.clone(),
        is_closed: false,
    })
}

/// Thousandths, or whole units of 10^6 bytes. `None`: unlimited.
fn units(value: Option<f64>, of_one: f64) -> i64 {
    value.map_or(UNLIMITED, |value| (value * of_one).round() as i64)
}

fn queues(texts: &[QueueText]) -> Result<Vec<Terms>, ImportError> {
    let at = |name: &String| {
        let at = texts.iter().position(|queue| queue.name == *name);
        at.map(QueueAt).ok_or_else(|| unknown("queue", name))
    };
    let amount = |cpu, memory, gpu| Amount {
        cpu_milli: units(cpu, 1.0),
        memory_bytes: units(memory, 1e6),
        gpu_milli: units(gpu, 1000.0),
    };
    let terms = |text: &QueueText| {
        let (cpu, memory, gpu) = (text.cpu_milli, text.memory_mb, text.gpu);
        let span = |seconds: Option<u64>| seconds.map(Span::from_seconds);
        Ok(Terms {
            name: text.name.clone(),
            parent: text.parent.as_ref().map(at).transpose()?,
            priority: text.priority,
            created: text.created_rank,
            quota: amount(cpu.quota, memory.quota, gpu.quota),
            limit: amount(cpu.limit, memory.limit, gpu.limit),
            firm: amount(cpu.quota, memory.quota, gpu.quota),
            weight: [cpu.over_quota_weight, memory.over_quota_weight, gpu.over_quota_weight],
            protection: Protection {
                preempt: span(text.preempt_min_runtime_s),
                reclaim: span(text.reclaim_min_runtime_s),
                ..Protection::default()
            },
        })
    };
    texts.iter().map(terms).collect()
}

fn job(case: &Case, text: &JobText, world: &mut World) -> Result<Job, ImportError> {
    let queue = case.queues.iter().position(|queue| queue.name == text.queue);
    let mut groups = Vec::new();
    match &text.subgroups {
        Some(tree) => add_groups(case, tree, None, &mut groups)?,
        None => groups.push(Group {
            name: String::new(),
            parent: None,
            least: Least::Tasks(text.min_tasks.unwrap_or(1)),
            near: None,
        }),
    }
    if let Some(near) = text.topology.as_ref().filter(|near| asks(near)) {
        groups[0].near = Some(nearness(case, near)?);
    }
    let this = JobAt(world.jobs.len());
    let mut tasks = Vec::new();
    for one in &text.tasks {
        tasks.push(TaskAt(world.tasks.len()));
        world.tasks.push(task(case, one, &groups)?);
        world.job_of.push(this);
    }
    Ok(Job {
        name: text.name.clone(),
        queue: QueueAt(queue.ok_or_else(|| unknown("queue", &text.queue))?),
        priority: text.priority,
        is_preemptible: text.preemptible,
        submitted: -text.age_min,
        runs_for: text.running_for_s.map(Span::from_seconds),
        stale_for: text.stale_for_s.map(Span::from_seconds),
        stale_grace: text.stale_gang_grace_s.map(grace),
        patience: Span::from_seconds(text.preemption_delay_s.unwrap_or(0)),
        waited: Span::from_minutes(u64::try_from(text.age_min).unwrap_or(0)),
        may_start: true,
        may_reclaim: true,
        may_preempt: true,
        may_move_others: true,
        is_apart: false,
        alike: None,
        turn: None,
        was_tried: false,
        stays: false,
        unsaved_since: None,
        may_move: true,
        groups,
        tasks,
    })
}

/// Adds a group, followed by its descendants.
fn add_groups(
    case: &Case,
    text: &GroupText,
    parent: Option<GroupAt>,
    groups: &mut Vec<Group>,
) -> Result<(), ImportError> {
    let own = GroupAt(groups.len());
    let least = if text.children.is_empty() {
        Least::Tasks(text.min_tasks.unwrap_or(1))
    } else {
        Least::Groups(text.min_children.unwrap_or(text.children.len()))
    };
    let near = text.topology.as_ref().filter(|near| asks(near));
    let near = near.map(|near| nearness(case, near)).transpose()?;
    groups.push(Group { name: text.name.clone(), parent, least, near });
    text.children.iter().try_for_each(|child| add_groups(case, child, Some(own), groups))
}

/// A group that names no level asks for nothing.
const fn asks(near: &NearText) -> bool {
    near.required.is_some() || near.preferred.is_some()
}

fn nearness(case: &Case, text: &NearText) -> Result<Nearness, ImportError> {
    let topology = case.topologies.iter().position(|one| one.name == text.topology);
    let topology = topology.ok_or_else(|| unknown("topology", &text.topology))?;
    let level = |name: &String| {
        let levels = &case.topologies[topology].levels;
        levels.iter().position(|one| one == name).ok_or_else(|| unknown("level", name))
    };
    Ok(Nearness {
        topology,
        required: text.required.as_ref().map(level).transpose()?,
        preferred: text.preferred.as_ref().map(level).transpose()?,
    })
}

fn task(case: &Case, text: &TaskText, groups: &[Group]) -> Result<Task, ImportError> {
    let node_at = |name: &String| {
        let at = case.nodes.iter().position(|node| node.name == *name);
        at.map(NodeAt).ok_or_else(|| unknown("node", name))
    };
    let group = match &text.subgroup {
        None if groups.len() == 1 => Some(GroupAt(0)),
        other => {
            let name = other.as_deref().unwrap_or("default");
            let at = groups.iter().position(|group| group.name == name);
            Some(GroupAt(at.ok_or_else(|| unknown("subgroup", name))?))
        }
    };
    let affinity = |text: &AffinityText| Affinity {
        level: Some(text.level.clone()).filter(|level| level != "node"),
        labels: text.labels.clone(),
    };
    // A node that does not exist may still be added: until then its task waits.
    let allowed = |names: &Vec<String>| -> BTreeSet<NodeAt> {
        names.iter().filter_map(|name| node_at(name).ok()).collect()
    };
    let only = text.allowed_nodes.as_ref().map(allowed);
    Ok(Task {
        name: text.id.clone(),
        cpu_milli: text.cpu_milli,
        memory_bytes: text.memory_bytes,
        gpus: gpus(text),
        state: state(&text.state)?,
        node: text.node.as_ref().map(node_at).transpose()?,
        device_names: text.gpu_groups.clone(),
        devices: None,
        group,
        only_nodes: only.map(|nodes| Arc::new(nodes.into_iter().collect())),
        not_nodes: None,
        labels: text.labels.clone(),
        near: text.near.as_ref().map(affinity),
        apart: text.apart.as_ref().map(affinity),
        order: text.order,
        slots: 1,
    })
}

fn gpus(text: &TaskText) -> GpuAsk {
    let devices = text.gpu_devices.unwrap_or(1);
    match (text.gpu_fraction, text.gpu_memory_mib) {
        _ if !text.mig.is_empty() => GpuAsk::Slices(text.mig.clone()),
        (Some(part), _) => GpuAsk::Part { milli: units(Some(part), 1000.0), devices },
        (None, Some(mib)) => GpuAsk::Memory { mib, devices },
        (None, None) => match text.gpus.unwrap_or(0) {
            0 => GpuAsk::None,
            gpus => GpuAsk::Whole(gpus),
        },
    }
}

fn state(text: &str) -> Result<TaskState, ImportError> {
    Ok(match text {
        "pending" => TaskState::Waiting,
        "gated" => TaskState::Gated,
        "running" | "binding" | "bound" => TaskState::Running,
        "releasing" => TaskState::Leaving,
        "stuck_in_releasing" => TaskState::Stuck,
        "failed" => TaskState::Failed,
        "succeeded" => TaskState::Succeeded,
        other => return unsupported(format!("task state {other}")),
    })
}
