//! `kantctl service endpoints`: the addresses of ready replicas, in the formats that routers of
//! others read.

use crate::failure::{Failure, OK};
use crate::output::Screen;
use crate::server::Server;
use anyhow::Context as _;
use clap::ValueEnum;
use common::id::{PortName, RoleName, ServiceName};
use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The time between two looks at a service that is followed.
const LOOK: Duration = Duration::from_secs(1);

#[derive(clap::Args, Debug)]
pub struct Endpoints {
    /// Name of the service
    #[arg(value_name = "NAME")]
    pub name: ServiceName,
    /// The format of the addresses
    #[arg(long, value_enum, default_value_t = Format::HttpSd)]
    pub format: Format,
    /// Only replicas of this role
    #[arg(long, value_name = "ROLE")]
    pub role: Option<RoleName>,
    /// Only ports of this name
    #[arg(long, value_name = "PORT")]
    pub port: Option<PortName>,
    /// Write them to this file, which is replaced as a whole
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write the file again whenever they change, until the command is ended
    #[arg(long, requires = "output")]
    pub follow: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Prometheus' HTTP service discovery, with labels
    HttpSd,
    /// host:port, one per line
    Plain,
    /// Lines `server NAME host:port` of a HAProxy backend
    Haproxy,
    /// A file of Traefik's file provider (JSON, which is YAML too)
    Traefik,
    /// A file of Envoy's endpoint discovery (EDS)
    Envoy,
}

/// One group of targets of the controller's answer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Group {
    targets: Vec<String>,
    labels: Labels,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Labels {
    #[serde(rename = "kant_role")]
    role: Option<RoleName>,
    #[serde(rename = "kant_port")]
    port: Option<PortName>,
    #[serde(rename = "kant_job")]
    job: Option<String>,
}

/// Prints or writes the addresses.
///
/// # Errors
/// [`Failure`] when the controller refuses or does not answer, or the file cannot be written.
pub async fn run(args: &Endpoints, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let mut written = None;
    loop {
        let text = match text(args, server).await {
            Ok(text) => text,
            // The addresses of a service that was stopped may soon be those of another one.
            Err(failure) if args.follow && failure.error_code() == Some("unknown_service") => {
                let file = args.output.as_deref().filter(|_| written.is_some());
                file.map_or(Ok(()), |file| replace(file, &format(args, Vec::new())?))?;
                return Err(failure);
            }
            // The routers go on with what they have until a controller answers again.
            Err(failure) if args.follow && written.is_some() => {
                crate::output::screen::note(&failure.to_string());
                tokio::time::sleep(LOOK).await;
                continue;
            }
            Err(failure) => return Err(failure),
        };
        let Some(file) = &args.output else {
            if !text.is_empty() {
                screen.print_line(text.trim_end())?;
            }
            return Ok(OK);
        };
        if written.as_ref() != Some(&text) {
            replace(file, &text)?;
            written = Some(text);
        }
        if !args.follow {
            return Ok(OK);
        }
        tokio::time::sleep(LOOK).await;
    }
}

async fn text(args: &Endpoints, server: &Server) -> Result<String, Failure> {
    let raw: Value = server.get(&format!("/v1/services/{}/endpoints", args.name)).await?;
    let all: Vec<Value> = serde_json::from_value(raw).context("failed to read the answer")?;
    format(args, all)
}

/// The text for these groups of targets.
fn format(args: &Endpoints, all: Vec<Value>) -> Result<String, Failure> {
    let mut chosen = Vec::new();
    for raw in all {
        let group: Group =
            serde_json::from_value(raw.clone()).context("failed to read the answer")?;
        let is_role = args.role.is_none() || args.role == group.labels.role;
        if is_role && (args.port.is_none() || args.port == group.labels.port) {
            chosen.push((raw, group));
        }
    }
    let (raw, groups): (Vec<Value>, Vec<Group>) = chosen.into_iter().unzip();
    Ok(match args.format {
        Format::HttpSd => format!("{:#}\n", Value::Array(raw)),
        Format::Plain => lines(&groups, |_, address| address.to_owned()),
        Format::Haproxy => lines(&groups, |name, address| format!("server {name} {address}")),
        Format::Traefik => format!("{:#}\n", traefik(&args.name, &groups)),
        Format::Envoy => format!("{:#}\n", envoy(&args.name, &groups)?),
    })
}

fn lines(groups: &[Group], line: impl Fn(&str, &str) -> String) -> String {
    let mut text = String::new();
    for group in groups {
        let Labels { role, port, job } = &group.labels;
        let role = role.as_ref().map_or("replica", RoleName::as_str);
        let port = port.as_ref().map_or("port", PortName::as_str);
        // Not the place: during an update two replicas may have the same.
        let name = format!("{role}-{}-{port}", job.as_deref().unwrap_or("0"));
        for address in &group.targets {
            let _ = writeln!(text, "{}", line(&name, address));
        }
    }
    text
}

/// Source: Traefik's documentation, "File" provider, `http.services.NAME.loadBalancer`.
fn traefik(name: &ServiceName, groups: &[Group]) -> Value {
    let addresses = groups.iter().flat_map(|group| &group.targets);
    let servers: Vec<Value> =
        addresses.map(|address| json!({ "url": format!("http://{address}") })).collect();
    json!({ "http": { "services": { name.as_str(): { "loadBalancer": { "servers": servers } } } } })
}

/// Source: Envoy's documentation, "EDS" by files, `config.endpoint.v3.ClusterLoadAssignment`.
fn envoy(name: &ServiceName, groups: &[Group]) -> Result<Value, Failure> {
    let mut endpoints = Vec::new();
    for address in groups.iter().flat_map(|group| &group.targets) {
        let (host, port) = match address.parse::<SocketAddr>() {
            Ok(address) => (address.ip().to_string(), address.port()),
            Err(_) => {
                let split = address.rsplit_once(':');
                let split = split.and_then(|(host, port)| Some((host, port.parse().ok()?)));
                let (host, port) =
                    split.with_context(|| format!("`{address}` in the answer is not host:port"))?;
                (host.to_owned(), port)
            }
        };
        let address = json!({ "socket_address": { "address": host, "port_value": port } });
        endpoints.push(json!({ "endpoint": { "address": address } }));
    }
    Ok(json!({
        "resources": [{
            "@type": "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment",
            "cluster_name": name,
            "endpoints": [{ "lb_endpoints": endpoints }],
        }],
    }))
}

/// Replaces a file as a whole: readers see the old one or the new one.
fn replace(file: &Path, text: &str) -> Result<(), Failure> {
    let failed = || format!("failed to write {}", file.display());
    let mut new = file.as_os_str().to_owned();
    new.push(".new");
    std::fs::write(&new, text).with_context(failed)?;
    std::fs::rename(&new, file).with_context(failed)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups() -> Vec<Group> {
        // Two replicas of one place, as during an update.
        let group = |job: u32, address: &str| {
            json!({ "targets": [address], "labels": {
                "kant_role": "worker", "kant_replica": "0", "kant_port": "http",
                "kant_job": job.to_string(),
            } })
        };
        let all = json!([group(17, "10.0.0.1:20001"), group(18, "gpu7:20002")]);
        serde_json::from_value(all).unwrap()
    }

    #[test]
    fn each_format_has_all_addresses() {
        let name: ServiceName = "chat".parse().unwrap();
        let servers = lines(&groups(), |name, address| format!("server {name} {address}"));
        let expected = "server worker-17-http 10.0.0.1:20001\nserver worker-18-http gpu7:20002\n";
        assert_eq!(servers, expected);
        let traefik = traefik(&name, &groups());
        let servers = &traefik["http"]["services"]["chat"]["loadBalancer"]["servers"];
        assert_eq!(servers[1]["url"], "http://gpu7:20002");
        let envoy = envoy(&name, &groups()).unwrap();
        let first = &envoy["resources"][0]["endpoints"][0]["lb_endpoints"][1]["endpoint"];
        let expected = json!({ "address": "gpu7", "port_value": 20002 });
        assert_eq!(first["address"]["socket_address"], expected);
    }
}
