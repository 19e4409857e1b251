//! The conversion of configuration tables to the policy that the engine reads. kantctld uses it,
//! and so does the simulator for policy files, which are partial kantctld.toml files. The text and
//! a resolver of names are arguments, so the conversion needs no host.

mod capacity;
mod error;
mod fair_sharing;
mod names;
mod nodes;
mod open_access;
mod positions;
mod queues;
mod topology_file;
mod tree;

#[cfg(test)]
mod tests;

pub use capacity::{Capacity, warnings};
pub use error::{Place, PolicyError, Problem};
pub use names::{Names, NumbersOnly};
pub use open_access::open_access_warnings;
pub use topology_file::{TopologyError, TopologyFile, TopologyProblem};
pub use tree::check;

use super::{ConfigError, ControllerConfig};
use crate::id::{AccountName, NodeName};
use crate::policy::{Access, Policy};
use crate::topology::Topology;

/// A configuration and its text, so that errors can name the line.
#[derive(Debug, Clone, Copy)]
pub struct PolicySource<'a> {
    pub file: &'a str,
    pub text: &'a str,
    pub config: &'a ControllerConfig,
    /// The file that `topology_file` names.
    pub topology: Option<&'a TopologyFile>,
}

/// The policy of a configuration.
///
/// # Errors
/// [`ConfigError`] with file, line, table and key, and what to do.
pub fn policy(source: &PolicySource, names: &dyn Names) -> Result<Policy, ConfigError> {
    let topology = source.topology.map(TopologyFile::topology).unwrap_or_default();
    let policy = convert(source.config, topology, names);
    policy.map_err(|error| error.in_file(source.file, source.text))
}

/// Checks that every node in the topology file and in the position tables exists, for a caller that
/// knows all nodes, as of a recorded cluster.
///
/// # Errors
/// [`ConfigError`] with file, line, table and what to do.
pub fn check_nodes(
    source: &PolicySource,
    known: impl Fn(&NodeName) -> bool,
) -> Result<(), ConfigError> {
    let of_file = source.topology.map_or(Ok(()), |file| file.check_known(&known));
    let checked = of_file.map_err(PolicyError::from);
    let checked = checked.and_then(|()| positions::check_nodes_known(source.config, known));
    checked.map_err(|error| error.in_file(source.file, source.text))
}

fn convert(
    config: &ControllerConfig,
    topology: Topology,
    names: &dyn Names,
) -> Result<Policy, PolicyError> {
    let mut policy = Policy {
        queues: queues::queues(&config.queue, names)?,
        qos: queues::qos(&config.qos, names)?,
        accounts: queues::accounts(&config.account, names)?,
        fair_sharing: config.fair_sharing,
        yields_first: config.yields_first,
        factors: config.priority.factors(),
        moves: config.moves.moves(),
        topology: positions::topology(config, topology)?,
    };
    for (key, is_zero) in [
        ("age_max_seconds", policy.factors.age_max_seconds == 0),
        ("half_life_hours", policy.factors.half_life_hours == 0),
    ] {
        if is_zero {
            let place = Place { table: "priority", number: None, name: None, key: Some(key) };
            return Err(PolicyError::at(place, Problem::Zero));
        }
    }
    check(&policy)?;
    nodes::inherit(&mut policy.queues)?;
    positions::check_zones_known(&policy)?;
    check_accounts_known(&policy)?;
    Ok(policy)
}

/// Where accounts are listed, queues and QoS may name only those.
fn check_accounts_known(policy: &Policy) -> Result<(), PolicyError> {
    if policy.accounts.is_empty() {
        return Ok(());
    }
    let queues = policy.queues.iter().map(|queue| (queue.name.to_string(), &queue.access));
    let qos = policy.qos.iter().map(|qos| (qos.name.to_string(), &qos.access));
    let all = queues.enumerate().map(|named| ("queue", named));
    for (table, (number, (name, access))) in all.chain(qos.enumerate().map(|named| ("qos", named)))
    {
        if let Some(account) = unlisted(policy, access) {
            let place =
                Place { table, number: Some(number), name: Some(name), key: Some("accounts") };
            return Err(PolicyError::at(place, Problem::UnknownAccount(account.clone())));
        }
    }
    Ok(())
}

fn unlisted<'a>(policy: &Policy, access: &'a Access) -> Option<&'a AccountName> {
    let is_listed =
        |name: &AccountName| policy.accounts.iter().any(|account| account.name == *name);
    access.accounts.iter().find(|name| !is_listed(name))
}
