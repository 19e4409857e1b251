//! The file that describes a service: its keys, as users write them.

use crate::failure::Failure;
use anyhow::Context;
use common::autoscale::Fraction;
use common::id::{PortName, RoleName, ServiceName};
use common::resource::Spread;
use common::service::Base;
use common::service::table::{FieldName, Protocol, TokenHash};
use common::time::Span;
use common::topology::Level;
use serde::{Deserialize, Deserializer};
use std::path::Path;

/// The longest file that is read, in bytes.
const FILE_BYTES_MAX: u64 = 1 << 20;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ServiceFile {
    pub name: ServiceName,
    pub port: Option<u16>,
    pub entry: Option<RoleName>,
    /// How the first `min` replicas of each role start.
    #[serde(default)]
    pub base: Base,
    /// The base starts below one switch of this level, if that is possible.
    pub near: Option<Level>,
    /// What the replicas that get the requests speak.
    #[serde(default)]
    pub protocol: Protocol,
    /// A header by which requests stay with one replica.
    pub affinity: Option<FieldName>,
    pub hold: Option<HoldFile>,
    pub token: Option<TokenHash>,
    #[serde(default, deserialize_with = "span")]
    pub drain_delay: Option<Span>,
    pub update: Option<UpdateFile>,
    /// Two roles that need each other.
    pub ratio: Option<RatioFile>,
    pub role: Vec<RoleFile>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RoleFile {
    pub name: RoleName,
    pub submit: SubmitWords,
    #[serde(default = "one")]
    pub min: u32,
    pub max: Option<u32>,
    /// How many of its replicas may be on a node; 0: any number.
    #[serde(default)]
    pub spread_max_per_node: u32,
    /// Which places its replicas do not share if that can be avoided.
    pub spread: Option<Spread>,
    #[serde(default)]
    pub ports: Vec<PortName>,
    /// The path of each replica's metrics, or the path and the name of the port.
    pub metrics: Option<MetricsFile>,
    /// An autoscaling policy; its bounds are those of the role.
    pub autoscale: Option<toml::Table>,
    pub startup: Option<ProbeFile>,
    pub readiness: Option<ProbeFile>,
    pub liveness: Option<ProbeFile>,
    #[serde(default, deserialize_with = "span")]
    pub startup_max: Option<Span>,
}

/// The arguments of a submission: a line as a shell reads it, or a list of words.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum SubmitWords {
    Line(String),
    Words(Vec<String>),
}

/// Where a replica's engine reports its metrics.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum MetricsFile {
    Path(String),
    Source(MetricsTable),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MetricsTable {
    pub path: Option<String>,
    pub port: Option<PortName>,
}

/// The permitted numbers of replicas of one role for each of another.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RatioFile {
    pub prefill: RoleName,
    pub decode: RoleName,
    pub min: Fraction,
    pub max: Fraction,
}

/// A probe: one of `http`, `https`, `tcp` and `command`, and its timing.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProbeFile {
    /// The path of a GET.
    pub http: Option<String>,
    /// The path of a GET with TLS.
    pub https: Option<String>,
    /// The name of the port, for `http` and `https`: the only one if there is one.
    pub port: Option<PortName>,
    /// The name of a port to connect to.
    pub tcp: Option<PortName>,
    pub command: Option<String>,
    #[serde(default, deserialize_with = "span")]
    pub period: Option<Span>,
    #[serde(default, deserialize_with = "span")]
    pub timeout: Option<Span>,
    pub failures: Option<u32>,
    pub successes: Option<u32>,
}

/// What routers do with requests while no replica is ready.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HoldFile {
    pub requests: Option<u32>,
    #[serde(default, deserialize_with = "span")]
    pub time: Option<Span>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UpdateFile {
    pub max_parallel: Option<u32>,
    pub max_surge: Option<u32>,
    pub canary: Option<u32>,
    #[serde(default, deserialize_with = "span")]
    pub min_healthy: Option<Span>,
    #[serde(default, deserialize_with = "span")]
    pub healthy_deadline: Option<Span>,
    #[serde(default, deserialize_with = "span")]
    pub progress_deadline: Option<Span>,
    pub auto_revert: Option<bool>,
}

const fn one() -> u32 {
    1
}

/// A length of time as in other options, `10s` or `5m`, or in milliseconds, `200ms`.
fn span<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Span>, D::Error> {
    let text = String::deserialize(from)?;
    if let Some(Ok(milliseconds)) = text.strip_suffix("ms").map(str::parse) {
        return Ok(Some(Span(milliseconds)));
    }
    text.parse().map(Some).map_err(serde::de::Error::custom)
}

/// Reads a file. Paths in it are relative to its directory, in which replicas also run.
///
/// # Errors
/// [`Failure`] when it cannot be read, or is not the description of a service.
pub(super) fn read(path: &str) -> Result<ServiceFile, Failure> {
    let failed = || format!("failed to read the service file {path}");
    let metadata = std::fs::metadata(path).with_context(failed).map_err(|error| {
        Failure::refused(error).with_hint(
            "give a file like chat.toml, or a name and, after --, the arguments of a submission",
        )
    })?;
    if metadata.len() > FILE_BYTES_MAX {
        let text = format!("{}: it is larger than {FILE_BYTES_MAX} bytes", failed());
        return Err(Failure::from_message(text));
    }
    let text = std::fs::read_to_string(path).with_context(failed)?;
    let file: ServiceFile = toml::from_str(&text)
        .map_err(|error| Failure::usage(anyhow::anyhow!("{}: {error}", failed())))?;
    let directory = Path::new(path).parent().filter(|dir| !dir.as_os_str().is_empty());
    if let Some(directory) = directory {
        std::env::set_current_dir(directory)
            .with_context(|| format!("failed to enter {}", directory.display()))?;
    }
    Ok(file)
}
