//! The names of services and their replicas below the domain of the router.

use common::service::table::{Endpoint, EndpointState, Table};
use domain::base::Name;
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// The longest domain, in bytes. Names below it may be as long again, of 255 bytes.
const DOMAIN_BYTES_MAX: usize = 120;

/// The domain below which services have names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Domain {
    name: Name<Vec<u8>>,
    /// In lower case, without a dot at the end.
    text: String,
}

impl Domain {
    /// `None` if the text is not the name of a domain, is that of the root, or is too long for
    /// names below it.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let name: Name<Vec<u8>> = text.parse().ok().filter(|name: &Name<_>| !name.is_root())?;
        if text.len() > DOMAIN_BYTES_MAX {
            return None;
        }
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
    /// Names this attempt alone: `worker-0-9001`. During an update, two replicas share a place, and
    /// each of them has ports of its own. `None`: it would be too long.
    pub name: Option<Name<Vec<u8>>>,
    /// `worker-0-9001` and `worker-0`, below the name of the service.
    labels: [String; 2],
    pub addr: SocketAddr,
}

/// What a name has records of.
#[derive(Debug, PartialEq, Eq)]
pub enum Found<'a> {
    /// The domain itself.
    Domain,
    /// Addresses: those of a service, or of the replicas in one place.
    Addresses(Vec<&'a Replica>),
    /// `_service._tcp`: the replicas with their ports.
    Ports(Vec<&'a Replica>),
    /// Nothing, but there are names below it.
    Parent,
}

/// Why nothing was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// There is no such name in the domain.
    Name,
    /// The name is outside the domain.
    Domain,
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
    /// The names of a table, without its loopback addresses if clients may be on other hosts.
    ///
    /// Some services have no name: one with an access token, which is checked by the router alone;
    /// one with a dot in its name; and those whose names differ only in case.
    pub fn new(domain: Domain, table: &Table, with_loopback: bool) -> Self {
        let mut counts: BTreeMap<String, u32> = BTreeMap::new();
        for route in &table.services {
            *counts.entry(route.service.to_ascii_lowercase()).or_default() += 1;
        }
        let mut services = BTreeMap::new();
        for route in &table.services {
            let service = route.service.to_ascii_lowercase();
            if route.token.is_some() || service.contains('.') || counts[&service] > 1 {
                continue;
            }
            let is_listed = |endpoint: &&Endpoint| {
                endpoint.state == EndpointState::Ready
                    && (with_loopback || !endpoint.addr.ip().is_loopback())
            };
            let listed = route.endpoints.iter().filter(is_listed);
            let replicas: Vec<Replica> =
                listed.map(|one| Replica::new(one, &service, &domain)).collect();
            services.insert(service, replicas);
        }
        // Only the last digits count, as with any serial number of a zone (RFC 1982).
        let serial = u32::try_from(table.version & u64::from(u32::MAX)).unwrap_or(0);
        Self { domain, serial, services }
    }

    /// What a name stands for.
    pub fn find(&self, name: &str) -> Result<Found<'_>, Missing> {
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        let below = name.strip_suffix(&self.domain.text).ok_or(Missing::Domain)?;
        if below.is_empty() {
            return Ok(Found::Domain);
        }
        let below = below.strip_suffix('.').ok_or(Missing::Domain)?;
        if below == "_tcp" {
            return Ok(Found::Parent);
        }
        let all = |service: &str| self.services.get(service).ok_or(Missing::Name);
        let by_port = below.strip_prefix('_').and_then(|rest| rest.strip_suffix("._tcp"));
        if let Some(service) = by_port {
            return Ok(Found::Ports(all(service)?.iter().collect()));
        }
        let Some((label, service)) = below.split_once('.') else {
            return Ok(Found::Addresses(all(below)?.iter().collect()));
        };
        let is_it = |one: &&Replica| one.labels.iter().any(|own| own == label);
        let found: Vec<&Replica> = all(service)?.iter().filter(is_it).collect();
        if found.is_empty() { Err(Missing::Name) } else { Ok(Found::Addresses(found)) }
    }
}

impl Replica {
    fn new(endpoint: &Endpoint, service: &str, domain: &Domain) -> Self {
        let label = |id: &str| id.replace(['/', '.'], "-").to_ascii_lowercase();
        let labels = [label(&endpoint.id), label(endpoint.id_without_attempt())];
        let name = format!("{}.{service}.{}", labels[0], domain.text).parse().ok();
        Self { name, labels, addr: endpoint.addr }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone_of(services: &str, with_loopback: bool) -> Zone {
        let text = format!(r#"{{"version":4294967299,"services":[{services}]}}"#);
        let domain = Domain::new("Kant.internal").unwrap();
        Zone::new(domain, &serde_json::from_str(&text).unwrap(), with_loopback)
    }

    const CHAT: &str = r#"{"service":"Chat","listen":"0.0.0.0:8000","endpoints":[
        {"id":"worker/0.3","addr":"10.0.0.1:9000","state":"ready"},
        {"id":"worker/0.4","addr":"10.0.0.4:9004","state":"ready"},
        {"id":"worker/1.1","addr":"10.0.0.2:9001","state":"draining"},
        {"id":"worker/2.1","addr":"127.0.0.1:9002","state":"ready"}]}"#;

    fn ports(found: &Result<Found<'_>, Missing>) -> Vec<u16> {
        match found {
            Ok(Found::Addresses(replicas) | Found::Ports(replicas)) => {
                replicas.iter().map(|one| one.addr.port()).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn names_are_those_of_services_and_of_ready_replicas_in_any_case() {
        let zone = zone_of(CHAT, true);
        assert_eq!(zone.serial, 3);
        for name in ["chat.kant.internal", "CHAT.kant.INTERNAL.", "_chat._tcp.kant.internal"] {
            assert_eq!(ports(&zone.find(name)), [9000, 9004, 9002], "{name}");
        }
        assert_eq!(ports(&zone.find("worker-2.chat.kant.internal")), [9002]);
        assert_eq!(zone.find("kant.internal"), Ok(Found::Domain));
        assert_eq!(zone.find("_tcp.kant.internal"), Ok(Found::Parent));
    }

    #[test]
    fn two_replicas_in_one_place_have_a_name_together_and_one_each() {
        let zone = zone_of(CHAT, true);
        assert_eq!(ports(&zone.find("worker-0.chat.kant.internal")), [9000, 9004]);
        assert_eq!(ports(&zone.find("worker-0-4.chat.kant.internal")), [9004]);
        let Ok(Found::Ports(replicas)) = zone.find("_chat._tcp.kant.internal") else { panic!() };
        let names = replicas.iter().map(|one| one.name.as_ref().unwrap().to_string());
        let first: Vec<String> = names.take(2).collect();
        assert_eq!(first, ["worker-0-3.chat.kant.internal", "worker-0-4.chat.kant.internal"]);
    }

    #[test]
    fn loopback_addresses_are_for_clients_on_this_host() {
        let zone = zone_of(CHAT, false);
        assert_eq!(ports(&zone.find("chat.kant.internal")), [9000, 9004]);
    }

    #[test]
    fn other_names_do_not_exist_or_are_outside_the_domain() {
        let zone = zone_of(CHAT, true);
        for name in ["x", "worker-1.chat", "_x._tcp", "a.b", "", "."] {
            let found = zone.find(&format!("{name}.kant.internal"));
            assert_eq!(found, Err(Missing::Name), "{name}");
        }
        for name in ["chat", "internal", "notkant.internal", "chat.kant.internal.org", ""] {
            assert_eq!(zone.find(name), Err(Missing::Domain), "{name}");
        }
    }

    #[test]
    fn services_that_a_name_would_expose_or_confuse_have_none() {
        let named = |service: &str| CHAT.replace("Chat", service);
        let token = format!(r#""token":"{}","endpoints""#, "0".repeat(64));
        let with_token = named("secret").replace(r#""endpoints""#, &token);
        let all = [named("chat"), named("CHAT"), named("a.b"), with_token, named("x")].join(",");
        let zone = zone_of(&all, true);
        assert_eq!(zone.services.keys().collect::<Vec<_>>(), ["x"]);
    }

    #[test]
    fn a_replica_with_too_long_a_name_counts_for_its_service() {
        let zone = zone_of(&CHAT.replace("worker", &"x".repeat(63)), true);
        let found = zone.find("chat.kant.internal");
        assert_eq!(ports(&found), [9000, 9004, 9002]);
        let Ok(Found::Addresses(replicas)) = found else { panic!() };
        assert!(replicas.iter().all(|one| one.name.is_none()));
    }

    #[test]
    fn a_domain_has_a_name_that_leaves_room_for_others() {
        let long = ["x"; 61].join(".");
        for bad in ["", ".", "a..b", &"x".repeat(64), &long] {
            assert!(Domain::new(bad).is_none(), "{bad}");
        }
    }
}
