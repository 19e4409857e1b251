//! The checks of a whole routing table.

use super::{Route, Table};
use crate::text::is_all_shown;
use std::collections::BTreeSet;

/// The longest name of a service or an endpoint, in bytes.
const NAME_BYTES_MAX: usize = 255;

/// Why a table cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    #[error(
        "failed to use the routing table: `{0}` is not the name of a service: use 1 to 255 visible \
         characters"
    )]
    Service(String),
    #[error("failed to use the routing table: the service `{0}` occurs twice")]
    ServiceTwice(String),
    #[error(
        "failed to use the routing table: the services `{first}` and `{second}` have the same \
         address {listen}"
    )]
    ListenTwice { first: String, second: String, listen: String },
    #[error(
        "failed to use the routing table: `{id}` in the service `{service}` is not the id of an \
         endpoint: write role/ordinal.attempt, such as decode/0.1"
    )]
    Endpoint { service: String, id: String },
    #[error("failed to use the routing table: the endpoint `{id}` of `{service}` occurs twice")]
    EndpointTwice { service: String, id: String },
    #[error(
        "failed to use the routing table: the endpoint `{id}` of `{service}` has the address \
         {addr}, to which no connection is possible"
    )]
    EndpointAddress { service: String, id: String, addr: String },
}

impl Table {
    /// Checks what a router relies on. Read a table with serde first, then check it.
    ///
    /// # Errors
    /// The first fault found.
    pub fn check(&self) -> Result<(), TableError> {
        let mut names = BTreeSet::new();
        for (index, route) in self.services.iter().enumerate() {
            if !is_name(&route.service) {
                return Err(TableError::Service(route.service.clone()));
            }
            if !names.insert(route.service.as_str()) {
                return Err(TableError::ServiceTwice(route.service.clone()));
            }
            let is_same = |other: &&Route| other.listen == route.listen && route.listen.port() != 0;
            if let Some(first) = self.services[..index].iter().find(is_same) {
                return Err(TableError::ListenTwice {
                    first: first.service.clone(),
                    second: route.service.clone(),
                    listen: route.listen.to_string(),
                });
            }
            check_endpoints(route)?;
        }
        Ok(())
    }
}

fn check_endpoints(route: &Route) -> Result<(), TableError> {
    let mut ids = BTreeSet::new();
    for endpoint in &route.endpoints {
        let (service, id) = (route.service.clone(), endpoint.id.clone());
        if !is_endpoint_id(&endpoint.id) {
            return Err(TableError::Endpoint { service, id });
        }
        if !ids.insert(endpoint.id.as_str()) {
            return Err(TableError::EndpointTwice { service, id });
        }
        if endpoint.addr.port() == 0 || endpoint.addr.ip().is_unspecified() {
            let addr = endpoint.addr.to_string();
            return Err(TableError::EndpointAddress { service, id, addr });
        }
    }
    Ok(())
}

fn is_name(text: &str) -> bool {
    (1..=NAME_BYTES_MAX).contains(&text.len()) && is_all_shown(text)
}

/// `role/ordinal.attempt`; a role may have a `/` or a `.` itself.
fn is_endpoint_id(id: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let parts = id.rsplit_once('/').and_then(|(role, rest)| Some((role, rest.split_once('.')?)));
    is_name(id)
        && parts.is_some_and(|(role, (ordinal, attempt))| {
            !role.is_empty() && is_number(ordinal) && is_number(attempt)
        })
}
