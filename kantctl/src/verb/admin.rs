//! `kantctl admin`: what operators do to the cluster itself. Never touches jobs.

use super::ask::Answer;
use crate::failure::{Failure, OK};
use crate::output::{Screen, controllers};
use crate::server::{Again, Server};
use clap::Subcommand;
use common::wire::api::ControllerList;
use serde_json::Value;

const EXAMPLES: &str = "\
Examples:
  kantctl admin controller status
  kantctl admin controller transfer 2
  kantctl admin controller remove 3

A controller is added on its own host: `kantctld join --to HOST:PORT`. Operators only.";

/// Arguments of `admin`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
#[allow(missing_docs)] // its comment is its help
pub struct Args {
    #[command(subcommand)]
    pub what: What,
}

/// What to do to.
#[derive(Subcommand, Debug)]
pub enum What {
    /// See and change who keeps the cluster's log
    #[command(subcommand)]
    Controller(Controller),
}

/// What to do to controllers.
#[derive(Subcommand, Debug)]
pub enum Controller {
    /// List the controllers: who leads, who is behind
    Status,
    /// Give a learner a vote
    Promote(One),
    /// Take a controller out for good; its number is never given again
    Remove(One),
    /// Let another controller lead
    Transfer(One),
}

/// Which controller.
#[derive(clap::Args, Debug)]
#[allow(missing_docs)] // its comment is its help
pub struct One {
    /// Its number, as `kantctl admin controller status` shows it
    #[arg(value_name = "ID")]
    pub id: u64,
}

/// Does it, and shows how the controllers stand.
///
/// # Errors
/// [`Failure`] when it is refused, or nobody answers.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let What::Controller(controller) = &args.what;
    let raw: Value = match controller {
        Controller::Status => server.get("/v1/controllers").await?,
        Controller::Promote(one) => ask(server, one, "promote").await?,
        Controller::Remove(one) => ask(server, one, "remove").await?,
        Controller::Transfer(one) => ask(server, one, "transfer").await?,
    };
    let answer: Answer<ControllerList> = raw.try_into()?;
    if screen.json {
        screen.answer(&answer.raw)?;
        return Ok(OK);
    }
    screen.print(&controllers::summary(&answer.typed))?;
    screen.line("")?;
    screen.table(&controllers::table(&answer.typed.controllers))?;
    Ok(OK)
}

async fn ask(server: &Server, One { id }: &One, verb: &str) -> Result<Value, Failure> {
    let path = format!("/v1/controllers/{id}/{verb}");
    server.post(&path, &Value::Null, Again::IfUnsent).await
}
