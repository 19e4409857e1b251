//! `kantctl service deploy`: reads a specification from a file or from options, and deploys it.

use super::deploy_request;
use super::follow::{Wait, until_updated};
use super::spec_file::{self, ProbeFile, RoleFile, ServiceFile};
use crate::failure::{Failure, OK};
use crate::fetch::Answer;
use crate::output::Screen;
use crate::server::{Retry, Server};
use common::id::{PortName, RoleName, ServiceName};
use common::service::Base;
use common::service::table::Protocol;
use common::wire::api::DeployAnswer;
use serde_json::Value;

#[derive(clap::Args, Debug)]
pub struct Deploy {
    /// A file that describes the service (NAME.toml), or the name of a service that the options
    /// describe
    #[arg(value_name = "FILE|NAME")]
    pub what: String,
    /// Name of the service, instead of the file's
    #[arg(long, value_name = "NAME")]
    pub name: Option<ServiceName>,
    /// Port of the service on nodes that run a router
    #[arg(long, value_name = "PORT")]
    pub port: Option<u16>,
    /// Fewest replicas [default: 1]
    #[arg(long, value_name = "COUNT")]
    pub min: Option<u32>,
    /// Most replicas [default: as many as --min]
    #[arg(long, value_name = "COUNT")]
    pub max: Option<u32>,
    /// A replica is ready when GET of this path succeeds
    #[arg(long, value_name = "PATH")]
    pub http: Option<String>,
    /// Say what would change, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Deploy it even if a replica fits no node
    #[arg(long)]
    pub force: bool,
    /// Wait until all replicas are healthy
    #[arg(long)]
    pub wait: bool,
    /// Without a file: options and script of a replica, as for `kantctl submit`
    #[arg(value_name = "SUBMIT ARGUMENTS", last = true)]
    pub submit: Vec<String>,
}

/// Deploys a service.
///
/// # Errors
/// [`Failure`] when the specification is invalid, or the controller refuses or does not answer.
pub async fn run(args: &Deploy, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let file =
        if args.submit.is_empty() { spec_file::read(&args.what)? } else { from_options(args)? };
    let mut request = deploy_request::request(file)?;
    if let Some(name) = &args.name {
        request.name = name.clone();
    }
    (request.dry_run, request.force) = (args.dry_run, args.force);
    let raw: Value = server.post("/v1/services", &request, Retry::IfUnsent).await?;
    let Answer { raw, typed }: Answer<DeployAnswer> = raw.try_into()?;
    let DeployAnswer { name, revision, plan } = typed;
    if screen.json {
        screen.print_answer_json(&raw)?;
    } else if args.dry_run {
        screen.print_line(&format!("Plan for {name}, revision {revision}:"))?;
        plan.iter().try_for_each(|line| screen.print_line(&format!("  {line}")))?;
    } else {
        screen.print_line(&format!("Deployed {name}, revision {revision}"))?;
    }
    if !args.wait || args.dry_run {
        return Ok(OK);
    }
    match until_updated(&name, revision, server).await? {
        Wait::Complete => Ok(OK),
        Wait::Failed(why) => {
            Err(Failure::from_message(why)
                .with_hint(format!("see `kantctl service events {name}`")))
        }
    }
}

/// A service of one role that the options describe.
fn from_options(args: &Deploy) -> Result<ServiceFile, Failure> {
    let usage = |text: String| Failure::usage(anyhow::Error::msg(text));
    let name: ServiceName = args.what.parse().map_err(|error| usage(format!("{error}")))?;
    let port: PortName = "http".parse().map_err(|error| usage(format!("{error}")))?;
    let role: RoleName = "worker".parse().map_err(|error| usage(format!("{error}")))?;
    let min = args.min.unwrap_or(1);
    let probe =
        args.http.clone().map(|path| ProbeFile { http: Some(path), ..ProbeFile::default() });
    let role = RoleFile {
        spread_max_per_node: 0,
        spread: None,
        name: role,
        submit: spec_file::SubmitWords::Words(args.submit.clone()),
        min,
        max: Some(args.max.unwrap_or(min)),
        ports: vec![port],
        metrics: None,
        autoscale: None,
        startup: None,
        readiness: probe,
        liveness: None,
        startup_max: None,
    };
    Ok(ServiceFile {
        name,
        port: args.port,
        entry: None,
        base: Base::default(),
        affinity: None,
        hold: None,
        token: None,
        drain_delay: None,
        update: None,
        ratio: None,
        near: None,
        protocol: Protocol::default(),
        role: vec![role],
    })
}
