//! The file that describes a service, and the request that deploys it. Each role has the options
//! and the script of a submission, so a replica can ask for whatever a job can.

use crate::failure::Failure;
use crate::submission::environment::to_text;
use crate::submission::options::Options;
use crate::verb::batch::LineReader;
use anyhow::Context;
use common::autoscale::Policy;
use common::blob::BlobHash;
use common::id::{PortName, RoleName, ServiceName};
use common::job::{Probe, ProbeAction, Probes};
use common::service::table::{FieldName, Hold, TokenHash};
use common::service::{Bounds, RoleSpec, ServiceSpec, UpdatePolicy};
use common::time::Span;
use common::wire::api::DeployRequest;
use serde::{Deserialize, Deserializer};
use std::path::Path;

/// The longest file that is read, in bytes.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Time from leaving the discovery to SIGTERM, if a service has ports and says nothing.
const DRAIN_DELAY: Span = Span::from_seconds(5);

/// Requests that a router holds while no replica is ready, if a service says nothing.
const HELD_MAX: u32 = 100;

/// How long it holds each of them.
const HOLD_TIME: Span = Span::from_seconds(30);

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ServiceFile {
    pub name: ServiceName,
    pub port: Option<u16>,
    pub entry: Option<RoleName>,
    /// A header by which requests stay with one replica.
    pub affinity: Option<FieldName>,
    pub hold: Option<HoldFile>,
    pub token: Option<TokenHash>,
    #[serde(default, deserialize_with = "span")]
    pub drain_delay: Option<Span>,
    pub update: Option<UpdateFile>,
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
    #[serde(default)]
    pub ports: Vec<PortName>,
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

/// A probe: one of `http`, `tcp` and `command`, and its timing.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProbeFile {
    /// The path of a GET.
    pub http: Option<String>,
    /// The name of the port, for `http`: the only one if there is one.
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
    requests: Option<u32>,
    #[serde(default, deserialize_with = "span")]
    time: Option<Span>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UpdateFile {
    max_parallel: Option<u32>,
    max_surge: Option<u32>,
    canary: Option<u32>,
    #[serde(default, deserialize_with = "span")]
    min_healthy: Option<Span>,
    #[serde(default, deserialize_with = "span")]
    healthy_deadline: Option<Span>,
    #[serde(default, deserialize_with = "span")]
    progress_deadline: Option<Span>,
    auto_revert: Option<bool>,
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
        Failure::refused(error).hint(
            "give a file like chat.toml, or a name and, after --, the arguments of a submission",
        )
    })?;
    if metadata.len() > FILE_BYTES_MAX {
        let text = format!("{}: it is larger than {FILE_BYTES_MAX} bytes", failed());
        return Err(Failure::message(text));
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

/// The request that deploys a service.
///
/// # Errors
/// [`Failure`] when a part of it is invalid.
pub(super) fn request(file: ServiceFile) -> Result<DeployRequest, Failure> {
    let mut reader = LineReader::new(&Options::default())?;
    let (mut roles, mut texts) = (Vec::new(), Vec::new());
    for role in file.role {
        roles.push(role_spec(role, &mut reader, &mut texts)?);
    }
    let has_ports = roles.iter().any(|role| !role.ports.is_empty());
    let drain_delay = if has_ports { DRAIN_DELAY } else { Span(0) };
    let spec = ServiceSpec {
        roles,
        port: file.port,
        entry: file.entry,
        affinity: file.affinity,
        hold: hold(file.hold.as_ref()),
        token: file.token,
        drain_delay: file.drain_delay.unwrap_or(drain_delay),
        update: update_policy(file.update.unwrap_or_default()),
    };
    for warning in reader.warnings() {
        crate::output::screen::warn(warning);
    }
    let request = DeployRequest { name: file.name, spec, texts, force: false, dry_run: false };
    request.check().map_err(|error| Failure::usage(anyhow::Error::new(error)))?;
    Ok(request)
}

fn role_spec(
    role: RoleFile,
    reader: &mut LineReader,
    texts: &mut Vec<String>,
) -> Result<RoleSpec, Failure> {
    let name = role.name.clone();
    let submitted = match &role.submit {
        SubmitWords::Line(line) => reader.request(line)?,
        SubmitWords::Words(words) => Some(reader.of_words(words.clone())?),
    };
    let none = || format!("role {name}: `submit` is empty: give a script, or --wrap COMMAND");
    let submitted = submitted.ok_or_else(|| Failure::usage(anyhow::Error::msg(none())))?;
    let environment = to_text(&submitted.environment);
    let hashes = [&submitted.script, &environment].map(|text| BlobHash::of(text.as_bytes()));
    for text in [submitted.script, environment] {
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    let probe = |probe: Option<ProbeFile>| {
        probe.map(|probe| read_probe(&name, probe, &role.ports)).transpose()
    };
    let probes = Probes {
        startup: probe(role.startup)?,
        readiness: probe(role.readiness)?,
        liveness: probe(role.liveness)?,
        startup_max: role.startup_max.unwrap_or(Probes::STARTUP_MAX),
    };
    let replicas = Bounds { min: role.min, max: role.max.unwrap_or(role.min) };
    let autoscale = role.autoscale.map(|table| policy(&name, table, replicas)).transpose()?;
    let (ask, ports) = (submitted.ask, role.ports);
    let [script, environment] = hashes;
    Ok(RoleSpec { name, ask, script, environment, replicas, ports, probes, autoscale })
}

fn policy(role: &RoleName, mut table: toml::Table, bounds: Bounds) -> Result<Policy, Failure> {
    for (key, value) in [("min", bounds.min), ("max", bounds.max)] {
        if table.insert(key.to_owned(), i64::from(value).into()).is_some() {
            let text = format!("role {role}: give `{key}` for the role, not for `autoscale`");
            return Err(Failure::usage(anyhow::Error::msg(text)));
        }
    }
    let failed = |error| Failure::usage(anyhow::anyhow!("role {role}, `autoscale`: {error}"));
    toml::Value::Table(table).try_into().map_err(|error: toml::de::Error| failed(error))
}

fn read_probe(role: &RoleName, probe: ProbeFile, ports: &[PortName]) -> Result<Probe, Failure> {
    let usage = |text: &str| Failure::usage(anyhow::anyhow!("role {role}: {text}"));
    let action = match (probe.http, probe.tcp, probe.command) {
        (Some(path), None, None) => {
            let port = match (probe.port, ports) {
                (Some(port), _) => port,
                (None, [port]) => port.clone(),
                (None, []) => return Err(usage("an http probe needs a port: add `ports`")),
                (None, _) => return Err(usage("name the `port` of the http probe")),
            };
            ProbeAction::Http { port, path }
        }
        (None, Some(port), None) => ProbeAction::Tcp { port },
        (None, None, Some(line)) => ProbeAction::Command { line },
        _ => return Err(usage("a probe needs exactly one of `http`, `tcp` and `command`")),
    };
    let usual = Probe::new(action);
    Ok(Probe {
        period: probe.period.unwrap_or(usual.period),
        timeout: probe.timeout.unwrap_or(usual.timeout),
        failures: probe.failures.unwrap_or(usual.failures),
        successes: probe.successes.unwrap_or(usual.successes),
        ..usual
    })
}

fn hold(file: Option<&HoldFile>) -> Hold {
    let requests_max = file.and_then(|file| file.requests).unwrap_or(HELD_MAX);
    let time = file.and_then(|file| file.time).unwrap_or(HOLD_TIME);
    Hold { requests_max, seconds_max: u32::try_from(time.seconds()).unwrap_or(u32::MAX) }
}

fn update_policy(file: UpdateFile) -> UpdatePolicy {
    let usual = UpdatePolicy::default();
    let max_parallel = file.max_parallel.unwrap_or(usual.max_parallel);
    UpdatePolicy {
        max_parallel,
        max_surge: file.max_surge.unwrap_or(usual.max_surge.min(max_parallel)),
        canary: file.canary.unwrap_or(usual.canary),
        min_healthy: file.min_healthy.unwrap_or(usual.min_healthy),
        healthy_deadline: file.healthy_deadline.unwrap_or(usual.healthy_deadline),
        progress_deadline: file.progress_deadline.unwrap_or(usual.progress_deadline),
        auto_revert: file.auto_revert.unwrap_or(usual.auto_revert),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHAT: &str = r#"
        name = "chat"
        port = 8000
        drain_delay = "2s"

        [update]
        max_parallel = 2

        [[role]]
        name = "worker"
        submit = "--cpus-per-task 2 --wrap 'echo serve'"
        max = 3
        ports = ["http"]
        readiness = { http = "/health", period = "1s" }
        liveness = { tcp = "http" }
    "#;

    fn read_text(text: &str) -> Result<DeployRequest, String> {
        let file: ServiceFile = toml::from_str(text).map_err(|error| error.to_string())?;
        request(file).map_err(|failure| failure.to_string())
    }

    #[test]
    fn a_file_describes_a_service_by_the_arguments_of_a_submission() {
        let request = read_text(CHAT).unwrap();
        let spec = &request.spec;
        let role = &spec.roles[0];
        assert_eq!((spec.port, spec.drain_delay), (Some(8000), Span::from_seconds(2)));
        assert_eq!((spec.update.max_parallel, spec.update.max_surge), (2, 1));
        assert_eq!(role.replicas, Bounds { min: 1, max: 3 });
        assert_eq!(role.ask.request.cpus_per_task.0, 2);
        let readiness = role.probes.readiness.as_ref().unwrap();
        assert_eq!(readiness.action.to_string(), "GET /health on port http");
        assert_eq!((readiness.period, readiness.failures), (Span::from_seconds(1), 3));
        let hashes: Vec<BlobHash> =
            request.texts.iter().map(|text| BlobHash::of(text.as_bytes())).collect();
        assert!(spec.texts().all(|hash| hashes.contains(&hash)), "no text is missing");
    }

    #[test]
    fn mistakes_in_a_file_are_named() {
        let problem = |from: &str, to: &str| read_text(&CHAT.replace(from, to)).unwrap_err();
        assert!(problem("port = 8000", "prot = 8000").contains("prot"));
        assert!(problem("\"2s\"", "\"soon\"").contains("`soon`"));
        assert!(problem("tcp = \"http\"", "period = \"1s\"").contains("exactly one"));
        assert!(problem("tcp = \"http\"", "tcp = \"grpc\"").contains("grpc"));
        assert!(problem("ports = [\"http\"]", "ports = []").contains("add `ports`"));
        assert!(problem("max = 3", "max = 0").contains("min 1 is more than max 0"));
        assert!(problem("--wrap 'echo serve'", "").contains("script"));
    }
}
