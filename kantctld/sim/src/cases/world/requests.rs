//! The jobs of a case as requests of kant.
//!
//! A job whose tasks all ask for the same becomes one job. Tasks that share a GPU, tasks that
//! differ, and subgroups become the components of a set, which start together.

use super::super::error::{ImportError, unknown, unsupported};
use super::super::format::{Case, GroupText, JobText, NearText, TaskText};
use super::nodes::{cpu_unit, level, mig_kind, node_name};
use common::gpu_parts::{GpuParts, PartSize};
use common::resource::{GpuRequest, MemoryRequest, Request};
use common::topology::Nearness;
use common::unit::{Bytes, Cpus, GpuMilli, Gpus, Tasks};
use std::cmp::Reverse;

/// Tasks that become one job of kant.
#[derive(Debug, Clone)]
pub(super) struct Draft<'c> {
    /// With their indices in the case.
    pub tasks: Vec<(usize, &'c TaskText)>,
    pub request: Request,
}

/// Tasks of one group, and how many of them are enough.
struct Leaf<'c> {
    tasks: Vec<(usize, &'c TaskText)>,
    least: usize,
    near: Option<&'c NearText>,
}

/// Jobs of kant that start together, and how near all of them are to each other.
pub(super) struct Set<'c> {
    pub drafts: Vec<Draft<'c>>,
    pub near: Option<Nearness>,
}

/// The sets for a job of which the first task has this index. Of groups of which one is enough,
/// each is a set of its own.
pub(super) fn job_sets<'c>(
    case: &Case,
    text: &'c JobText,
    first: usize,
) -> Result<Vec<Set<'c>>, ImportError> {
    let each = text.tasks.iter().enumerate().map(|(at, task)| (first + at, task));
    let mut tasks: Vec<(usize, &TaskText)> = each.collect();
    tasks.sort_by_key(|(at, task)| (Reverse(task.order), *at));
    let groups: Vec<(Vec<Leaf<'c>>, Option<&NearText>)> = match &text.subgroups {
        Some(tree) if tree.min_children == Some(1) && tree.topology.is_none() => {
            let one = |child: &'c GroupText| {
                Ok((leaf_groups(child, &tasks)?, nearness_of_subgroups(child)))
            };
            tree.children.iter().map(one).collect::<Result<_, ImportError>>()?
        }
        Some(tree) => {
            vec![(
                leaf_groups(tree, &tasks)?,
                nearness_of_subgroups(tree).or(text.topology.as_ref()),
            )]
        }
        None => {
            let least = text.min_tasks.unwrap_or(1);
            vec![(vec![Leaf { tasks, least, near: None }], text.topology.as_ref())]
        }
    };
    let listed: usize = groups.iter().flat_map(|(all, _)| all).map(|leaf| leaf.tasks.len()).sum();
    if listed < text.tasks.len() {
        return Err(unknown("subgroup of a task of", &text.name));
    }
    groups.into_iter().map(|(leaves, near)| job_set(case, leaves, near)).collect()
}

fn job_set<'c>(
    case: &Case,
    mut leaves: Vec<Leaf<'c>>,
    near: Option<&'c NearText>,
) -> Result<Set<'c>, ImportError> {
    let near = near.filter(|near| has_level(near) && !apply_nearness(&mut leaves, near));
    let near = near.map(|near| nearness(case, near)).transpose()?;
    let mut drafts = Vec::new();
    leaves.into_iter().try_for_each(|leaf| add_drafts(case, leaf, &mut drafts))?;
    Ok(Set { drafts, near })
}

/// How near the groups below a group are. That of a group without any is read with its tasks.
fn nearness_of_subgroups(tree: &GroupText) -> Option<&NearText> {
    tree.topology.as_ref().filter(|_| !tree.children.is_empty())
}

/// A group that names no level asks for nothing.
const fn has_level(near: &NearText) -> bool {
    near.required.is_some() || near.preferred.is_some()
}

/// The groups of a tree that become jobs of their own. Groups of which all tasks are needed and ask
/// for the same are one.
fn leaf_groups<'c>(
    tree: &'c GroupText,
    tasks: &[(usize, &'c TaskText)],
) -> Result<Vec<Leaf<'c>>, ImportError> {
    if tree.children.is_empty() {
        let is_of = |task: &TaskText| task.subgroup.as_deref().unwrap_or("default") == tree.name;
        let tasks = tasks.iter().filter(|(_, task)| is_of(task)).copied().collect();
        let mut own = vec![Leaf { tasks, least: tree.min_tasks.unwrap_or(1), near: None }];
        if let Some(near) = tree.topology.as_ref().filter(|near| has_level(near)) {
            apply_nearness(&mut own, near);
        }
        return Ok(own);
    }
    if tree.min_children.is_some_and(|least| least < tree.children.len()) {
        return unsupported("set of which some components are enough");
    }
    let mut all = Vec::new();
    for child in &tree.children {
        let mut below = leaf_groups(child, tasks)?;
        let near = nearness_of_subgroups(child).filter(|near| has_level(near));
        if near.is_some_and(|near| !apply_nearness(&mut below, near)) {
            return unsupported("closeness of some components of a set");
        }
        all.extend(below);
    }
    let first = all.first().and_then(|leaf| leaf.tasks.first()).map(|(_, task)| grouping_key(task));
    let is_same = |(_, task): &(usize, &TaskText)| {
        !shares_gpus(task) && first.as_ref().is_some_and(|first| *first == grouping_key(task))
    };
    let is_part = |leaf: &Leaf<'_>| {
        leaf.least == leaf.tasks.len() && leaf.near.is_none() && leaf.tasks.iter().all(is_same)
    };
    if all.iter().all(is_part) {
        let mut tasks: Vec<_> = all.into_iter().flat_map(|leaf| leaf.tasks).collect();
        tasks.sort_by_key(|(at, task)| (Reverse(task.order), *at));
        all = vec![Leaf { least: tasks.len(), tasks, near: None }];
    }
    Ok(all)
}

/// Adds how near all tasks of one group are to each other. One task is near to itself. Returns
/// false for several groups.
fn apply_nearness<'c>(leaves: &mut [Leaf<'c>], near: &'c NearText) -> bool {
    match leaves {
        [one] if one.tasks.len() == 1 => true,
        [one] if one.near.is_none() => {
            one.near = Some(near);
            true
        }
        _ => false,
    }
}

/// Adds the jobs of one group.
fn add_drafts<'c>(
    case: &Case,
    leaf: Leaf<'c>,
    drafts: &mut Vec<Draft<'c>>,
) -> Result<(), ImportError> {
    let mut groups: Vec<Vec<(usize, &TaskText)>> = Vec::new();
    for one in leaf.tasks {
        let is_equal = |group: &Vec<(usize, &TaskText)>| {
            let first = group[0].1;
            !shares_gpus(one.1) && grouping_key(first) == grouping_key(one.1)
        };
        match groups.iter_mut().find(|group| is_equal(group)) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    let all: usize = groups.iter().map(Vec::len).sum();
    if leaf.least > all {
        return unsupported("job that asks for more tasks than it has");
    }
    if groups.len() > 1 {
        if leaf.least < all {
            let shares = groups.iter().flatten().any(|(_, task)| shares_gpus(task));
            let of = if shares { "that share GPUs" } else { "that differ" };
            return unsupported(format!("elastic job with tasks {of}"));
        }
        if leaf.near.is_some() {
            return unsupported("closeness of all components of a set");
        }
    }
    for group in groups {
        let least = (leaf.least < all).then_some(leaf.least);
        let request = request(case, &group, least, leaf.near)?;
        drafts.push(Draft { tasks: group, request });
    }
    Ok(())
}

/// What must be equal for tasks to be in one job.
fn grouping_key(task: &TaskText) -> String {
    let devices = (task.gpus.unwrap_or(0), &task.mig);
    format!("{} {} {devices:?} {:?}", task.cpu_milli, task.memory_bytes, task.allowed_nodes)
}

pub(super) const fn shares_gpus(task: &TaskText) -> bool {
    task.gpu_fraction.is_some() || task.gpu_memory_mib.is_some()
}

fn request(
    case: &Case,
    tasks: &[(usize, &TaskText)],
    least: Option<usize>,
    near: Option<&NearText>,
) -> Result<Request, ImportError> {
    let Some((_, task)) = tasks.first() else { return unsupported("groups without tasks") };
    if task.near.is_some() || task.apart.is_some() {
        return unsupported("closeness to the tasks of other jobs");
    }
    let count = |of: usize| Tasks(u32::try_from(of).unwrap_or(u32::MAX));
    let cpus = Cpus(u32::try_from(task.cpu_milli / cpu_unit(case)).unwrap_or(u32::MAX));
    let (gpus, gpu_kind) = gpus(task)?;
    let (only_nodes, is_elsewhere) = match &task.allowed_nodes {
        None => (Vec::new(), false),
        Some(names) => {
            let names: Vec<_> =
                names.iter().map(|name| node_name(name)).collect::<Result<_, _>>()?;
            let is_elsewhere = names.is_empty();
            (names, is_elsewhere)
        }
    };
    if is_elsewhere {
        return unsupported("job that may go nowhere");
    }
    Ok(Request {
        tasks: count(tasks.len()),
        tasks_min: least.map(|least| count(least.max(1))),
        grow: least.is_some(),
        cpus_per_task: cpus,
        memory: Some(memory(task, (tasks.len(), cpus), gpus)),
        gpus,
        gpu_kind,
        near: near.map(|near| nearness(case, near)).transpose()?,
        only_nodes,
        ..Request::default()
    })
}

/// What `--gpus` asks for.
fn gpus(
    task: &TaskText,
) -> Result<(Option<GpuRequest>, Option<common::gpu::GpuKind>), ImportError> {
    let devices = Gpus(task.gpu_devices.unwrap_or(1));
    let parts = |each| Some(GpuRequest::Parts(GpuParts { devices, each }));
    if !task.mig.is_empty() {
        let mut profiles = task.mig.iter();
        let (Some((profile, count)), None) = (profiles.next(), profiles.next()) else {
            return unsupported("job with MIG devices of several profiles");
        };
        let count = Gpus(u32::try_from(*count).unwrap_or(0));
        return Ok((Some(GpuRequest::PerTask(count)), Some(mig_kind(profile))));
    }
    Ok(match (task.gpu_fraction, task.gpu_memory_mib, task.gpus.unwrap_or(0)) {
        (Some(part), _, _) => (parts(PartSize::Milli(milli(part))), None),
        (None, Some(mib), _) => (parts(PartSize::Memory(Bytes::from_mib(mib))), None),
        (None, None, 0) => (None, None),
        (None, None, gpus) => (Some(GpuRequest::PerTask(Gpus(gpus))), None),
    })
}

pub(super) fn milli(part: f64) -> GpuMilli {
    GpuMilli((part * 1000.0).round() as u32)
}

/// The memory of a task, by the unit that gives the exact amount.
fn memory(
    task: &TaskText,
    (tasks, cpus): (usize, Cpus),
    gpus: Option<GpuRequest>,
) -> MemoryRequest {
    let bytes = u64::try_from(task.memory_bytes).unwrap_or(0);
    let cpus = u64::from(cpus.0).max(1);
    match gpus {
        _ if tasks == 1 => MemoryRequest::PerNode(Bytes(bytes.max(1))),
        _ if bytes.is_multiple_of(cpus) => MemoryRequest::PerCpu(Bytes(bytes / cpus)),
        Some(GpuRequest::PerTask(Gpus(gpus))) if bytes.is_multiple_of(u64::from(gpus)) => {
            MemoryRequest::PerGpu(Bytes(bytes / u64::from(gpus)))
        }
        _ => MemoryRequest::PerCpu(Bytes(bytes.div_ceil(cpus))),
    }
}

/// What a job requires, or else prefers. A job that requires a level takes the nearest nodes that
/// it finds anyway.
fn nearness(case: &Case, near: &NearText) -> Result<Nearness, ImportError> {
    let (name, required) = match (&near.required, &near.preferred) {
        (Some(name), _) => (name, true),
        (None, Some(name)) => (name, false),
        (None, None) => return Err(unknown("level", &near.topology)),
    };
    Ok(Nearness { level: level(case, &near.topology, name)?, required })
}
