//! `kantctl service`: deploys, lists, scales, updates and stops services.

mod deploy;
mod deploy_request;
mod endpoints;
mod examples;
mod follow;
mod spec_file;

use crate::failure::{Failure, OK};
use crate::fetch::{self, Answer};
use crate::output::screen::note;
use crate::output::{Screen, services};
use crate::server::{Retry, Server};
use clap::Subcommand;
use common::id::{JobKey, Ordinal, Revision, RoleName, ServiceName};
use common::service::ServiceEventKind;
use common::wire::api::{
    DeployRequest, RollbackRequest, ScaleRequest, ServiceExplanation, ServiceList, ServiceView,
};
use deploy::Deploy;
use endpoints::Endpoints;
use serde::Serialize;
use serde_json::Value;

/// The request for the text of a service file.
///
/// # Errors
/// [`Failure`] when it is not the description of a service.
#[doc(hidden)]
pub fn read_text(text: &str) -> Result<DeployRequest, Failure> {
    deploy_request::request(toml::from_str(text).map_err(anyhow::Error::from)?)
}

/// The lines of output that are shown of a replica that failed too often.
const HELD_LINES: usize = 50;

#[derive(clap::Args, Debug)]
#[command(after_help = examples::EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    pub what: What,
}

#[derive(Subcommand, Debug)]
pub enum What {
    /// Deploy a service, or a new revision of one
    #[command(after_help = examples::DEPLOY_EXAMPLES, visible_alias = "update")]
    Deploy(Box<Deploy>),
    /// List services
    #[command(after_help = examples::LIST_EXAMPLES)]
    List,
    /// Show a service: its replicas, revisions and last events
    #[command(after_help = examples::SHOW_EXAMPLES)]
    Show(Named),
    /// Explain why a service has the replicas that it has, and what would change that
    #[command(after_help = examples::EXPLAIN_EXAMPLES)]
    Explain(Named),
    /// Print the last events of a service
    #[command(after_help = examples::EVENTS_EXAMPLES)]
    Events(Named),
    /// Change the number of replicas of a role
    #[command(after_help = examples::SCALE_EXAMPLES)]
    Scale(Scale),
    /// Return to an earlier revision
    #[command(after_help = examples::ROLLBACK_EXAMPLES)]
    Rollback(Rollback),
    /// Replace no replica by one of another revision until it is resumed
    #[command(after_help = examples::PAUSE_EXAMPLES)]
    Pause(Named),
    /// End a pause, and start replicas again that failed too often
    #[command(after_help = examples::RESUME_EXAMPLES)]
    Resume(Named),
    /// Let the other replicas follow the canaries
    #[command(after_help = examples::PROMOTE_EXAMPLES)]
    Promote(Named),
    /// Stop all replicas, and remove the service
    #[command(after_help = examples::STOP_EXAMPLES)]
    Stop(Stop),
    /// Print the output of a replica
    #[command(after_help = examples::LOGS_EXAMPLES)]
    Logs(Logs),
    /// Print the addresses of ready replicas, for Prometheus and for routers of others
    #[command(after_help = examples::ENDPOINTS_EXAMPLES)]
    Endpoints(Endpoints),
}

/// The name of a service.
#[derive(clap::Args, Debug)]
pub struct Named {
    /// Name of the service
    #[arg(value_name = "NAME")]
    pub name: ServiceName,
}

#[derive(clap::Args, Debug)]
pub struct Scale {
    /// Name of the service
    #[arg(value_name = "NAME")]
    pub name: ServiceName,
    /// The number of replicas
    #[arg(value_name = "REPLICAS")]
    pub replicas: u32,
    /// The role [default: the only one]
    #[arg(long, value_name = "ROLE")]
    pub role: Option<RoleName>,
}

#[derive(clap::Args, Debug)]
pub struct Rollback {
    /// Name of the service
    #[arg(value_name = "NAME")]
    pub name: ServiceName,
    /// The revision to return to [default: the last healthy one]
    #[arg(long, value_name = "REVISION")]
    pub to: Option<u32>,
}

#[derive(clap::Args, Debug)]
pub struct Stop {
    /// Name of the service
    #[arg(value_name = "NAME")]
    pub name: ServiceName,
    /// Wait until all replicas have ended
    #[arg(long)]
    pub wait: bool,
}

#[derive(clap::Args, Debug)]
pub struct Logs {
    /// Name of the service
    #[arg(value_name = "NAME")]
    pub name: ServiceName,
    /// The replica, e.g. worker.0 [default: the first one]
    #[arg(value_name = "REPLICA")]
    pub replica: Option<String>,
    /// Follow the output until the replica ends
    #[arg(short, long)]
    pub follow: bool,
    /// Only the last LINES lines of the existing output
    #[arg(short = 'n', long, value_name = "LINES")]
    pub tail: Option<usize>,
}

/// Carries out a command about services.
///
/// # Errors
/// [`Failure`] when the controller refuses or does not answer.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    match &args.what {
        What::Deploy(args) => deploy::run(args, server, screen).await,
        What::List => {
            let answer: Answer<ServiceList> = fetch::get(server, "/v1/services").await?;
            print(screen, &answer, |screen, list| screen.print_table(&services::table(list)))
        }
        What::Show(Named { name }) => print(screen, &get(server, name).await?, |screen, list| {
            list.services.iter().try_for_each(|one| services::print_one(screen, one))
        }),
        What::Explain(Named { name }) => {
            let path = format!("/v1/services/{name}/explain");
            let answer: Answer<ServiceExplanation> = fetch::get(server, &path).await?;
            if screen.json {
                screen.print_answer_json(&answer.raw)?;
            } else {
                services::print_explanation(screen, &answer.typed)?;
            }
            Ok(OK)
        }
        What::Events(Named { name }) => print_events(name, server, screen).await,
        What::Scale(Scale { name, replicas, role }) => {
            let request = ScaleRequest { role: role.clone(), replicas: *replicas };
            change(name, "scale", &request, "Scaled", server, screen).await
        }
        What::Rollback(Rollback { name, to }) => {
            let request = RollbackRequest { to: to.map(Revision) };
            change(name, "rollback", &request, "Rolled back", server, screen).await
        }
        What::Pause(Named { name }) => act(name, "pause", "Paused", server, screen).await,
        What::Resume(Named { name }) => act(name, "resume", "Resumed", server, screen).await,
        What::Promote(Named { name }) => act(name, "promote", "Promoted", server, screen).await,
        What::Stop(Stop { name, wait }) => {
            let code = act(name, "stop", "Stopping", server, screen).await?;
            if *wait {
                follow::until_gone(name, server).await?;
            }
            Ok(code)
        }
        What::Logs(logs) => print_logs(logs, server, screen).await,
        What::Endpoints(args) => endpoints::run(args, server, screen).await,
    }
}

async fn get(server: &Server, name: &ServiceName) -> Result<Answer<ServiceList>, Failure> {
    fetch::get(server, &format!("/v1/services/{name}")).await
}

/// Prints an answer raw, or as `text` does.
fn print(
    screen: &Screen,
    answer: &Answer<ServiceList>,
    text: impl FnOnce(&Screen, &ServiceList) -> Result<(), Failure>,
) -> Result<u8, Failure> {
    if screen.json {
        screen.print_answer_json(&answer.raw)?;
    } else {
        text(screen, &answer.typed)?;
    }
    Ok(OK)
}

async fn act(
    name: &ServiceName,
    verb: &str,
    done: &str,
    server: &Server,
    screen: &Screen,
) -> Result<u8, Failure> {
    change(name, verb, &Value::Null, done, server, screen).await
}

async fn change<B: Serialize + Sync>(
    name: &ServiceName,
    verb: &str,
    body: &B,
    done: &str,
    server: &Server,
    screen: &Screen,
) -> Result<u8, Failure> {
    let path = format!("/v1/services/{name}/{verb}");
    let raw: Value = server.post(&path, body, Retry::IfUnsent).await?;
    let answer: Answer<ServiceList> = raw.try_into()?;
    print(screen, &answer, |screen, list| {
        let now = list.services.first().map(services::summary);
        let now = now.map_or_else(|| ": it is gone".to_owned(), |now| format!(": {now}"));
        screen.print_line(&format!("{done} {name}{now}"))
    })
}

/// Prints the last events, and the end of the output of a replica that was held last.
async fn print_events(name: &ServiceName, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let answer = get(server, name).await?;
    let code = print(screen, &answer, |screen, list| {
        list.services.iter().try_for_each(|one| services::print_events(screen, one))
    })?;
    let mut events = answer.typed.services.iter().flat_map(|one| &one.events).rev();
    let held = events.find_map(|event| match event.event.kind {
        ServiceEventKind::ReplicaHeld { job, .. } => job,
        _ => None,
    });
    let Some(job) = held.filter(|_| !screen.json) else { return Ok(code) };
    screen.print_line(&format!("\nThe last lines of job {job}:"))?;
    let output = print_output(JobKey::single(job), false, Some(HELD_LINES), server, screen).await;
    if let Err(failure) = output {
        note(&failure.to_string());
    }
    Ok(code)
}

/// Prints the output of a replica, which is that of its job.
async fn print_logs(args: &Logs, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let list = get(server, &args.name).await?.typed;
    let found = list.services.iter().find_map(|one| job_of_replica(one, args.replica.as_deref()));
    let Some(job) = found else {
        let wanted = args.replica.as_deref().unwrap_or("any replica");
        let text = format!("service {} does not run {wanted}", args.name);
        return Err(Failure::from_message(text).with_hint("see `kantctl service show`"));
    };
    print_output(job, args.follow, args.tail, server, screen).await
}

async fn print_output(
    job: JobKey,
    follow: bool,
    tail: Option<usize>,
    server: &Server,
    screen: &Screen,
) -> Result<u8, Failure> {
    let key = crate::keys::Keys(vec![job]);
    let logs = crate::verb::logs::Args { key, follow, stderr: false, tail };
    crate::verb::logs::run(&logs, server, screen).await
}

/// The job of a replica, which is named `role.ordinal`.
fn job_of_replica(service: &ServiceView, wanted: Option<&str>) -> Option<JobKey> {
    let named = |role: &RoleName, ordinal: Ordinal| format!("{role}.{ordinal}");
    service.roles.iter().find_map(|role| {
        let is_it = |ordinal| wanted.is_none_or(|wanted| wanted == named(&role.name, ordinal));
        role.replicas.iter().find(|one| is_it(one.ordinal)).map(|one| one.job)
    })
}
