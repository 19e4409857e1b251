//! The settings of services: the router on this node, and the ports of replicas.

use super::{SettingsError, require_absolute, unless_empty};
use router::TlsFiles;
use std::net::IpAddr;
use std::ops::RangeInclusive;

/// The router on this node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouterSettings {
    /// The address on which it listens.
    pub bind: IpAddr,
    /// Clients must use TLS with this certificate.
    pub tls: Option<TlsFiles>,
}

/// The settings of the router; `None` if none runs here.
pub(super) fn router(
    address: String,
    certificate: String,
    key: String,
) -> Result<Option<RouterSettings>, SettingsError> {
    let tls = match (unless_empty(certificate), unless_empty(key)) {
        (None, None) => None,
        (Some(certificate), Some(key)) => Some(TlsFiles {
            certificate: require_absolute("router_certificate", certificate)?,
            key: require_absolute("router_key", key)?,
        }),
        (Some(_), None) => return Err(SettingsError::RouterTls("router_key")),
        (None, Some(_)) => return Err(SettingsError::RouterTls("router_certificate")),
    };
    let Some(address) = unless_empty(address) else { return Ok(None) };
    let bind = address.parse().map_err(|_| SettingsError::Router(address))?;
    Ok(Some(RouterSettings { bind, tls }))
}

pub(super) fn port_range(text: &str) -> Result<RangeInclusive<u16>, SettingsError> {
    let ends = text.split_once('-').and_then(|(from, to)| {
        Some((from.trim().parse::<u16>().ok()?, to.trim().parse::<u16>().ok()?))
    });
    match ends.filter(|(from, to)| *from >= 1024 && from <= to) {
        Some((from, to)) => Ok(from..=to),
        None => Err(SettingsError::ServicePorts(text.to_owned())),
    }
}
