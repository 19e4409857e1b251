//! The settings of services: the router on this node, and the ports of replicas.

use super::{SettingsError, require_absolute, unless_empty};
use common::config::NodeConfig;
use router::{DnsConfig, Domain, TlsFiles};
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;

/// The router on this node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouterSettings {
    /// The address on which it listens.
    pub bind: IpAddr,
    /// Clients must use TLS with this certificate.
    pub tls: Option<TlsFiles>,
    /// Services have names in DNS.
    pub dns: Option<DnsConfig>,
}

/// The settings of the router; `None` if none runs here.
pub(super) fn router(config: &NodeConfig) -> Result<Option<RouterSettings>, SettingsError> {
    let certificate = unless_empty(config.router_certificate.clone());
    let tls = match (certificate, unless_empty(config.router_key.clone())) {
        (None, None) => None,
        (Some(certificate), Some(key)) => Some(TlsFiles {
            certificate: require_absolute("router_certificate", certificate)?,
            key: require_absolute("router_key", key)?,
        }),
        (Some(_), None) => return Err(SettingsError::RouterTls("router_key")),
        (None, Some(_)) => return Err(SettingsError::RouterTls("router_certificate")),
    };
    let dns = dns(config)?;
    let Some(address) = unless_empty(config.router.clone()) else {
        return if dns.is_some() { Err(SettingsError::RouterDnsAlone) } else { Ok(None) };
    };
    let bind = address.parse().map_err(|_| SettingsError::Router(address))?;
    Ok(Some(RouterSettings { bind, tls, dns }))
}

fn dns(config: &NodeConfig) -> Result<Option<DnsConfig>, SettingsError> {
    let domain = Domain::new(&config.router_dns_domain)
        .ok_or_else(|| SettingsError::RouterDomain(config.router_dns_domain.clone()))?;
    let Some(address) = unless_empty(config.router_dns.clone()) else { return Ok(None) };
    let addr: Option<SocketAddr> = address.parse().ok();
    // The unit of the router may not bind lower ones.
    let addr = addr.filter(|addr| addr.port() >= 1024);
    let addr = addr.ok_or(SettingsError::RouterDns(address))?;
    Ok(Some(DnsConfig { addr, domain }))
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
