//! The request that deploys a service, from its file. Each role has the options and the script of a
//! submission, so a replica can ask for whatever a job can.

use super::spec_file::{
    HoldFile, MetricsFile, MetricsTable, ProbeFile, RatioFile, RoleFile, ServiceFile, SubmitWords,
    UpdateFile,
};
use crate::failure::Failure;
use crate::submission::environment::to_text;
use crate::submission::options::Options;
use crate::verb::batch::LineReader;
use common::autoscale::{Policy, RatioBand};
use common::blob::BlobHash;
use common::id::{PortName, RoleName};
use common::job::{MetricsSource, Probe, ProbeAction, Probes};
use common::resource::Apart;
use common::service::engine::METRICS_PATH;
use common::service::table::Hold;
use common::service::{Bounds, RatioSpec, RoleSpec, ServiceSpec, UpdatePolicy};
use common::time::Span;
use common::wire::api::DeployRequest;

/// Time from leaving the discovery to SIGTERM, if a service has ports and says nothing.
const DRAIN_DELAY: Span = Span::from_seconds(5);

/// Requests that a router holds while no replica is ready, if a service says nothing.
const HELD_MAX: u32 = 100;

/// How long it holds each of them.
const HOLD_TIME: Span = Span::from_seconds(30);

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
        base: file.base,
        near: file.near,
        protocol: file.protocol,
        ratio: file.ratio.map(|RatioFile { prefill, decode, min, max }| RatioSpec {
            prefill,
            decode,
            band: RatioBand { min, max },
        }),
        affinity: file.affinity,
        hold: hold_settings(file.hold.as_ref()),
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
        SubmitWords::Words(words) => Some(reader.request_from_words(words.clone())?),
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
    let metrics = role.metrics.map(|file| metrics_source(&name, file, &role.ports)).transpose()?;
    let (mut ask, ports) = (submitted.ask, role.ports);
    if role.spread.is_some() || role.spread_max_per_node > 0 {
        let apart = ask
            .request
            .apart
            .get_or_insert_with(|| Apart { group: name.to_string(), ..Apart::default() });
        apart.spread = role.spread;
        apart.per_node_max =
            Some(role.spread_max_per_node).filter(|most| *most > 0).or(apart.per_node_max);
    }
    let [script, environment] = hashes;
    Ok(RoleSpec { name, ask, script, environment, replicas, ports, probes, metrics, autoscale })
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

fn metrics_source(
    role: &RoleName,
    file: MetricsFile,
    ports: &[PortName],
) -> Result<MetricsSource, Failure> {
    let (path, port) = match file {
        MetricsFile::Path(path) => (Some(path), None),
        MetricsFile::Source(MetricsTable { path, port }) => (path, port),
    };
    let port = the_port(role, port, ports, "`metrics`")?;
    Ok(MetricsSource { port, path: path.unwrap_or_else(|| METRICS_PATH.to_owned()) })
}

/// The named port, or the only one.
fn the_port(
    role: &RoleName,
    port: Option<PortName>,
    ports: &[PortName],
    user: &str,
) -> Result<PortName, Failure> {
    let usage = |text: String| Failure::usage(anyhow::anyhow!("role {role}: {text}"));
    match (port, ports) {
        (Some(port), _) => Ok(port),
        (None, [port]) => Ok(port.clone()),
        (None, []) => Err(usage(format!("{user} needs a port: add `ports`"))),
        (None, _) => Err(usage(format!("name the `port` of {user}"))),
    }
}

fn read_probe(role: &RoleName, probe: ProbeFile, ports: &[PortName]) -> Result<Probe, Failure> {
    let usage = |text: &str| Failure::usage(anyhow::anyhow!("role {role}: {text}"));
    let port = |name: Option<PortName>| the_port(role, name, ports, "the probe");
    let action = match (probe.http, probe.https, probe.tcp, probe.command) {
        (Some(path), None, None, None) => ProbeAction::Http { port: port(probe.port)?, path },
        (None, Some(path), None, None) => ProbeAction::Https { port: port(probe.port)?, path },
        (None, None, Some(port), None) => ProbeAction::Tcp { port },
        (None, None, None, Some(line)) => ProbeAction::Command { line },
        _ => return Err(usage("a probe needs exactly one of `http`, `https`, `tcp`, `command`")),
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

fn hold_settings(file: Option<&HoldFile>) -> Hold {
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
    use common::resource::Spread;
    use common::service::Base;

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
        assert!(spec.blob_hashes().all(|hash| hashes.contains(&hash)), "no text is missing");
    }

    #[test]
    fn replicas_keep_apart_and_the_base_starts_together() {
        let keys = "max = 3\nspread = \"leaf\"\nspread_max_per_node = 2";
        let text = CHAT.replace("max = 3", keys).replace("port = 8000", "base = \"gang\"");
        let spec = read_text(&text).unwrap().spec;
        let request = &spec.roles[0].ask.request;
        assert_eq!(request.spread(), Some(("worker", Spread::Leaf)));
        assert_eq!(request.per_node_max(), Some(("worker", 2)));
        assert_eq!((spec.base, spec.gang().count()), (Base::Gang, 1));
        let spec = read_text(CHAT).unwrap().spec;
        assert_eq!((&spec.roles[0].ask.request.apart, spec.base), (&None, Base::Single));
        let large = text.replace("max = 3", "min = 129\nmax = 200");
        let problem = read_text(&large).unwrap_err();
        assert!(problem.contains("at most 128 can start together"), "{problem}");
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
