//! The names of services and their replicas below the domain of the router.

use common::service::table::{EndpointState, Table};
use domain::base::Name;
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// The domain below which services have names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Domain {
    name: Name<Vec<u8>>,
    /// In lower case, without a dot at the end.
    text: String,
}

impl Domain {
    /// `None` if the text is not the name of a domain, or is that of the root.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let name: Name<Vec<u8>> = text.parse().ok().filter(|name: &Name<_>| !name.is_root())?;
        let text = name.to_string().trim_end_matches('.').to_ascii_lowercase();
        Some(Self { name, text })
    }

    pub const fn name(&self) -> &Name<Vec<u8>> {
        &self.name
    }
}

/// A ready replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replica {
    pub name: Name<Vec<u8>>,
    pub addr: SocketAddr,
}

/// What a name has records of.
#[derive(Debug, PartialEq, Eq)]
pub enum Found<'a> {
    /// The domain itself.
    Domain,
    /// Addresses: those of a service, or of one replica.
    Addresses(&'a [Replica]),
    /// `_service._tcp`: the replicas with their ports.
    Ports(&'a [Replica]),
    /// Nothing, but there are names below it.
    Parent,
}

/// All names of one version of the table.
#[derive(Debug)]
pub struct Zone {
    pub domain: Domain,
    /// The version of the table.
    pub serial: u32,
    /// The ready replicas by the name of their service, in lower case.
    services: BTreeMap<String, Vec<Replica>>,
}

impl Zone {
    /// The names of a table. A service whose name has a part of over 63 bytes has none.
    pub fn new(domain: Domain, table: &Table) -> Self {
        let mut services: BTreeMap<String, Vec<Replica>> = BTreeMap::new();
        for route in &table.services {
            let service = route.service.to_ascii_lowercase();
            let ready = route.endpoints.iter().filter(|one| one.state == EndpointState::Ready);
            let replicas = ready.filter_map(|endpoint| {
                let label = replica_label(&endpoint.id);
                let name = format!("{label}.{service}.{}", domain.text).parse().ok()?;
                Some(Replica { name, addr: endpoint.addr })
            });
            let replicas: Vec<Replica> = replicas.collect();
            services.entry(service).or_default().extend(replicas);
        }
        // Only the last digits count, as with any serial number of a zone (RFC 1982).
        let serial = u32::try_from(table.version & u64::from(u32::MAX)).unwrap_or(0);
        Self { domain, serial, services }
    }

    /// What a name stands for. `Err(true)`: no such name in the domain; `Err(false)`: the name is
    /// outside the domain.
    pub fn find(&self, name: &str) -> Result<Found<'_>, bool> {
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        let below = name.strip_suffix(&self.domain.text).ok_or(false)?;
        if below.is_empty() {
            return Ok(Found::Domain);
        }
        let below = below.strip_suffix('.').ok_or(false)?;
        if below == "_tcp" {
            return Ok(Found::Parent);
        }
        let all = |service: &str| self.services.get(service).map(Vec::as_slice);
        let by_port = below.strip_prefix('_').and_then(|rest| rest.strip_suffix("._tcp"));
        if let Some(service) = by_port {
            return all(service).map(Found::Ports).ok_or(true);
        }
        if let Some(replicas) = all(below) {
            return Ok(Found::Addresses(replicas));
        }
        let (label, service) = below.split_once('.').ok_or(true)?;
        let replicas = all(service).ok_or(true)?;
        let is_it = |one: &Replica| one.name.first().as_slice() == label.as_bytes();
        let at = replicas.iter().position(is_it).ok_or(true)?;
        Ok(Found::Addresses(&replicas[at..=at]))
    }
}

/// The replica's own part of its name: `worker-0` for `worker/0.3`, the third attempt in place 0.
fn replica_label(id: &str) -> String {
    let place = id.rsplit_once('.').map_or(id, |(place, _)| place);
    place.replace(['/', '.'], "-").to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(services: &str) -> Zone {
        let text = format!(r#"{{"version":4294967299,"services":[{services}]}}"#);
        Zone::new(Domain::new("Kant.internal").unwrap(), &serde_json::from_str(&text).unwrap())
    }

    const CHAT: &str = r#"{"service":"Chat","listen":"0.0.0.0:8000","endpoints":[
        {"id":"worker/0.3","addr":"10.0.0.1:9000","state":"ready"},
        {"id":"worker/1.1","addr":"10.0.0.2:9001","state":"draining"},
        {"id":"worker/2.1","addr":"10.0.0.3:9002","state":"ready"}]}"#;

    fn ports(found: &Result<Found<'_>, bool>) -> Vec<u16> {
        match found {
            Ok(Found::Addresses(replicas) | Found::Ports(replicas)) => {
                replicas.iter().map(|one| one.addr.port()).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn names_are_those_of_services_and_of_ready_replicas_in_any_case() {
        let zone = zone(CHAT);
        assert_eq!(zone.serial, 3);
        for name in ["chat.kant.internal", "CHAT.kant.INTERNAL.", "_chat._tcp.kant.internal"] {
            assert_eq!(ports(&zone.find(name)), [9000, 9002], "{name}");
        }
        assert_eq!(ports(&zone.find("worker-2.chat.kant.internal")), [9002]);
        assert_eq!(zone.find("kant.internal"), Ok(Found::Domain));
        assert_eq!(zone.find("_tcp.kant.internal"), Ok(Found::Parent));
    }

    #[test]
    fn other_names_do_not_exist_or_are_outside_the_domain() {
        let zone = zone(CHAT);
        for name in ["x", "worker-1.chat", "_x._tcp", "a.b", "", "."] {
            assert_eq!(zone.find(&format!("{name}.kant.internal")), Err(true), "{name}");
        }
        for name in ["chat", "internal", "notkant.internal", "chat.kant.internal.org", ""] {
            assert_eq!(zone.find(name), Err(false), "{name}");
        }
    }

    #[test]
    fn a_service_with_dots_has_its_name_and_one_with_too_long_a_part_has_no_replica() {
        let route = |service: &str, port: u16| {
            CHAT.replace("Chat", service).replace("8000", &port.to_string())
        };
        let long = "x".repeat(64);
        let zone = zone(&format!("{},{}", route("a.b", 1), route(&long, 2)));
        assert_eq!(ports(&zone.find("a.b.kant.internal")), [9000, 9002]);
        assert_eq!(ports(&zone.find("worker-0.a.b.kant.internal")), [9000]);
        assert_eq!(zone.services[&long], []);
    }

    #[test]
    fn a_domain_has_a_name() {
        for bad in ["", ".", "a..b", &"x".repeat(64)] {
            assert!(Domain::new(bad).is_none(), "{bad}");
        }
    }
}
