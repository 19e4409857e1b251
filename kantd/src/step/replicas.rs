//! The replicas of services on this node, and their ports. A port is given to one step at a time,
//! and only if nothing listens on it. Only the first node of a replica has ports and is probed.

use super::spec::StepSpec;
use common::id::AttemptId;
use common::job::PortGrant;
use common::sync::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// The node has no port left.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "failed to give {id} a port: all ports from {from} to {to} are in use; `service_ports` in \
     kantd.toml sets the range"
)]
pub struct PortsError {
    id: AttemptId,
    from: u16,
    to: u16,
}

/// The replicas whose first node this is.
#[derive(Debug)]
pub struct Replicas {
    range: RangeInclusive<u16>,
    specs: Mutex<BTreeMap<AttemptId, Arc<StepSpec>>>,
}

impl Replicas {
    #[must_use]
    pub fn new(range: RangeInclusive<u16>) -> Self {
        Self { range, specs: Mutex::default() }
    }

    /// Adds a step that was found, with the ports that it has.
    pub fn adopt(&self, spec: &StepSpec) {
        if spec.launch.replica.is_some() && spec.rank == 0 {
            self.specs.lock().insert(spec.launch.id, Arc::new(spec.clone()));
        }
    }

    /// Gives a new step its ports, and forgets the steps that are not known any more. The ports of
    /// a step that is no replica are none.
    ///
    /// # Errors
    /// [`PortsError`] if none is left.
    pub fn add_with_ports(
        &self,
        spec: &StepSpec,
        is_known: impl Fn(AttemptId) -> bool,
    ) -> Result<Vec<PortGrant>, PortsError> {
        let Some(replica) = spec.launch.replica.as_ref().filter(|_| spec.rank == 0) else {
            return Ok(Vec::new());
        };
        let id = spec.launch.id;
        let mut specs = self.specs.lock();
        specs.retain(|known, _| *known != id && is_known(*known));
        let held = specs.values().flat_map(|spec| spec.ports.iter().map(|port| port.number));
        let held: BTreeSet<u16> = held.collect();
        // Each replica begins the search at another port, so that a port is not used again at once.
        let (from, to) = (*self.range.start(), *self.range.end());
        let count = u32::from(to).saturating_sub(u32::from(from)) + 1;
        let offset = id.key.job.0.wrapping_mul(7) % count;
        let all = (0..count).map(|at| from.saturating_add(((offset + at) % count) as u16));
        let mut free = all.filter(|port| !held.contains(port) && is_free(*port));
        let mut ports = Vec::new();
        for name in &replica.ports {
            let number = free.next().ok_or(PortsError { id, from, to })?;
            ports.push(PortGrant { name: name.clone(), number });
        }
        let spec = StepSpec { ports: ports.clone(), ..spec.clone() };
        specs.insert(id, Arc::new(spec));
        Ok(ports)
    }

    /// The spec of a replica. `None`: the step is none, or not on its first node.
    #[must_use]
    pub fn get(&self, id: AttemptId) -> Option<Arc<StepSpec>> {
        self.specs.lock().get(&id).cloned()
    }
}

/// Whether nothing listens on this port, also at addresses of IPv6 alone.
fn is_free(port: u16) -> bool {
    let addresses: [IpAddr; 2] = [Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()];
    // A host without IPv6 refuses the second one for another reason.
    let is_taken = |address: &IpAddr| {
        let error = TcpListener::bind((*address, port)).err();
        error.is_some_and(|error| error.kind() == io::ErrorKind::AddrInUse)
    };
    !addresses.iter().any(is_taken)
}
