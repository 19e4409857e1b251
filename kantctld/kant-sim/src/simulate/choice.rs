//! The policies of a simulation, by name or from files like kantctld.toml. Users are not looked up
//! on this host, because access rules are ignored. Positions of nodes that are not in the trace are
//! refused, because they would have no effect.

use super::input::{Input, path_text, read_text};
use super::{Arguments, PlacementName, SimulateError};
use common::config::policy::{
    Capacity, Names, PolicySource, TopologyFile, check_nodes, policy, warnings,
};
use common::config::{self, ControllerConfig};
use common::gpu::GpuKind;
use common::id::{Gid, NodeName, QueueName, Uid};
use common::policy::queue::Queue;
use common::policy::{Placement, Policy};
use common::unit::{Bytes, Cpus};
use sim::replay::Named;
use std::path::Path;

pub(super) struct Choice {
    /// The name in reports.
    pub name: String,
    pub policy: Policy,
}

struct AnyName;

impl Names for AnyName {
    fn user(&self, _: &str) -> Option<Uid> {
        Some(Uid(1000))
    }

    fn group(&self, _: &str) -> Option<Gid> {
        Some(Gid(1000))
    }
}

pub(super) fn choices(arguments: &Arguments, input: &Input) -> Result<Vec<Choice>, SimulateError> {
    let one = [arguments.policy.clone().unwrap_or_else(|| Named::Kant.name().to_owned())];
    let names = if arguments.compare.is_empty() { &one[..] } else { &arguments.compare };
    names.iter().map(|name| choice(name, arguments, input)).collect()
}

fn choice(name: &str, arguments: &Arguments, input: &Input) -> Result<Choice, SimulateError> {
    let mut choice = match Named::find(name) {
        Some(named) => Choice { name: name.to_owned(), policy: named.policy() },
        None => from_file(name, input)?,
    };
    let of_fill = arguments.fill.then_some(PlacementName::Fgd);
    if let Some(placement) = arguments.placement.or(of_fill) {
        for queue in &mut choice.policy.queues {
            queue.placement = placement.placement();
        }
    }
    Ok(choice)
}

fn from_file(name: &str, input: &Input) -> Result<Choice, SimulateError> {
    let path = Path::new(name);
    if !path.exists() && !name.contains(['/', '.']) {
        let known: Vec<&str> = Named::ALL.iter().map(|named| named.name()).collect();
        let (name, known) = (name.to_owned(), known.join(", "));
        return Err(SimulateError::UnknownPolicy { name, known });
    }
    let text = read_text(path)?;
    let config: ControllerConfig = config::read(name, &text)?;
    let topology = match TopologyFile::path(path, &config) {
        Some(beside) => Some(TopologyFile::read(&path_text(&beside), &read_text(&beside)?)?),
        None => None,
    };
    let capacity = capacity(input);
    let source =
        PolicySource { file: name, text: &text, config: &config, topology: topology.as_ref() };
    let mut policy = policy(&source, &AnyName)?;
    check_nodes(&source, |node| capacity.nodes.contains(node))?;
    if policy.queues.is_empty() {
        policy.queues.extend(the_default());
    }
    for warning in warnings(&policy, &capacity) {
        eprintln!("{name}: {warning}");
    }
    let name = path.file_stem().map_or_else(|| name.into(), |stem| stem.to_string_lossy());
    Ok(Choice { name: name.into_owned(), policy })
}

/// The queue of a configuration without queues.
fn the_default() -> Option<Queue> {
    let name = QueueName::new("default").ok()?;
    Some(Queue { default: true, ..Queue::with_defaults(name) })
}

/// The capacity of the trace's nodes; CPUs and memory that it does not give are unlimited.
fn capacity(input: &Input) -> Capacity {
    let mut capacity = Capacity::default();
    for node in &input.nodes {
        capacity.nodes.extend(NodeName::new(node.name.clone()));
        let kind = node.gpu_model.as_deref().unwrap_or("gpu").to_ascii_lowercase();
        *capacity.gpus.entry(GpuKind(kind)).or_default() += node.gpus;
        capacity.cpus += node.cpus.map_or(Cpus(u32::MAX), |cpus| Cpus(cpus.0 / 1000));
        capacity.memory += node.mem_mib.map_or(Bytes(u64::MAX), Bytes::from_mib);
    }
    capacity
}

impl PlacementName {
    const fn placement(self) -> Placement {
        match self {
            Self::First => Placement::First,
            Self::Binpack => Placement::Binpack,
            Self::Ebinpack => Placement::EBinpack,
            Self::Spread => Placement::Spread,
            Self::Espread => Placement::ESpread,
            Self::Fgd => Placement::Fgd,
        }
    }
}
