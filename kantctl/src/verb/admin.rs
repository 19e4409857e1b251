//! `kantctl admin`: what operators do to the cluster itself. Never touches jobs.

use super::ask::Answer;
use crate::failure::{Failure, OK};
use crate::output::screen::note;
use crate::output::time::local;
use crate::output::{Screen, controllers};
use crate::server::{Again, PATIENCE, Server};
use anyhow::Context;
use clap::Subcommand;
use common::time::Span;
use common::wire::api::{ControllerList, InviteAnswer, InviteRequest};
use serde_json::{Value, json};
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  kantctl admin controller status
  kantctl admin controller invite
  kantctl admin controller transfer 2
  kantctl admin controller remove 3
  kantctl admin backup /var/backups/kant-monday

A controller is added on its own host, by an invitation: `KANT_INVITATION=SECRET kantctld join --to
HOST:PORT`. Operators only.";

const CONTROLLER_EXAMPLES: &str = "\
Examples:
  kantctl admin controller status
  kantctl admin controller promote 4";

const STATUS_EXAMPLES: &str = "\
Examples:
  kantctl admin controller status
  kantctl admin controller status --wait          # after a restart, before the next one
  kantctl --json admin controller status";

const INVITE_EXAMPLES: &str = "\
Examples:
  kantctl admin controller invite
  kantctl admin controller invite --expires 10m
  kantctl --json admin controller invite

On the host of the controller that leads, by its own socket. What is printed lets one controller in,
once: hand it over as a password. To be given to `kantctld join` or `kantctld rebuild`.";

const PROMOTE_EXAMPLES: &str = "\
Examples:
  kantctl admin controller promote 4
  kantctl --json admin controller promote 4";

const REMOVE_EXAMPLES: &str = "\
Examples:
  kantctl admin controller remove 3
  kantctl --json admin controller remove 3";

const TRANSFER_EXAMPLES: &str = "\
Examples:
  kantctl admin controller transfer 2
  kantctl --json admin controller transfer 2";

const BACKUP_EXAMPLES: &str = "\
Examples:
  kantctl admin backup kant-monday
  kantctl --json admin backup /var/backups/kant-monday";

const CONTROLLERS: &str = "/v1/controllers";
const INVITE: &str = "/v1/controllers/invite";
/// How long a controller that reads a long log may be away.
const WAIT_PATIENCE: Duration = Duration::from_secs(600);
const WAIT_PAUSE: Duration = Duration::from_millis(500);

/// Arguments of `admin`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    pub what: What,
}

/// What to do to.
#[derive(Subcommand, Debug)]
pub enum What {
    /// See and change who keeps the cluster's log
    #[command(subcommand, after_help = CONTROLLER_EXAMPLES)]
    Controller(Controller),
    /// Save all that the controllers know in one file, for `kantctld restore`
    #[command(after_help = BACKUP_EXAMPLES)]
    Backup(Backup),
}

/// Where to.
#[derive(clap::Args, Debug)]
pub struct Backup {
    /// The file; one that is there is not overwritten. It holds every job's script and environment,
    /// so only you may read it
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

/// What to do to controllers.
#[derive(Subcommand, Debug)]
pub enum Controller {
    /// List the controllers: who leads, who is behind
    #[command(after_help = STATUS_EXAMPLES)]
    Status(Status),
    /// Let one more controller join
    #[command(after_help = INVITE_EXAMPLES)]
    Invite(Invite),
    /// Give a learner a vote
    #[command(after_help = PROMOTE_EXAMPLES)]
    Promote(One),
    /// Take a controller out for good; its number is never given again
    #[command(after_help = REMOVE_EXAMPLES)]
    Remove(One),
    /// Let another controller lead
    #[command(after_help = TRANSFER_EXAMPLES)]
    Transfer(One),
}

/// When to list them.
#[derive(clap::Args, Debug)]
pub struct Status {
    /// Only once one leads, hears all the others, and none of them is behind or still joins
    #[arg(long)]
    pub wait: bool,
}

/// For how long to invite.
#[derive(clap::Args, Debug)]
pub struct Invite {
    /// How long the invitation is good, at most a week: minutes, h:m:s, 90m, 2h
    #[arg(long, value_name = "TIME", default_value = "1h")]
    pub expires: Span,
}

/// Which controller.
#[derive(clap::Args, Debug)]
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
    let controller = match &args.what {
        What::Controller(controller) => controller,
        What::Backup(backup) => return save(&backup.file, server, screen).await,
    };
    let raw: Value = match controller {
        Controller::Status(Status { wait: true }) => settled(server).await?,
        Controller::Status(_) => server.get(CONTROLLERS).await?,
        Controller::Invite(Invite { expires }) => return invite(*expires, server, screen).await,
        Controller::Promote(one) => ask(server, one, "promote").await?,
        Controller::Remove(one) => ask(server, one, "remove").await?,
        Controller::Transfer(one) => ask(server, one, "transfer").await?,
    };
    let answer: Answer<ControllerList> = raw.try_into()?;
    if screen.json {
        screen.answer(&answer.raw)?;
        return Ok(OK);
    }
    screen.record(&controllers::summary(&answer.typed))?;
    screen.line("")?;
    screen.table(&controllers::table(&answer.typed.controllers))?;
    Ok(OK)
}

/// How the controllers stand, once all are there. Says what is waited for, whenever that changes.
async fn settled(server: &Server) -> Result<Value, Failure> {
    let mut told = None;
    loop {
        let raw: Value = server.get_for(CONTROLLERS, WAIT_PATIENCE).await?;
        let answer: Answer<ControllerList> = raw.try_into()?;
        let Some(why) = controllers::unsettled_reason(&answer.typed) else { return Ok(answer.raw) };
        if told.as_ref() != Some(&why) {
            note(&format!("waiting: {why}"));
            told = Some(why);
        }
        tokio::time::sleep(WAIT_PAUSE).await;
    }
}

/// Has one more controller invited, and shows what to type on its host.
async fn invite(lasts: Span, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let request = InviteRequest { lasts };
    let raw: Value = server.post(INVITE, &request, Again::IfUnsent).await?;
    let answer: Answer<InviteAnswer> = raw.try_into()?;
    if screen.json {
        screen.answer(&answer.raw)?;
        return Ok(OK);
    }
    let InviteAnswer { invitation, until, address } = &answer.typed;
    let to = if address.is_empty() { "HOST:PORT" } else { address };
    let until = local(*until, &screen.zone);
    note(&format!("one controller joins by this, once, before {until}, on its own host:"));
    screen.line(&format!("KANT_INVITATION={invitation} kantctld join --to {to}"))?;
    Ok(OK)
}

async fn ask(server: &Server, One { id }: &One, verb: &str) -> Result<Value, Failure> {
    let path = format!("/v1/controllers/{id}/{verb}");
    server.post(&path, &Value::Null, Again::IfUnsent).await
}

/// Makes the file first: what cannot be kept need not be asked for.
async fn save(path: &Path, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let name = path.display();
    let opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let mut file = opened.map_err(|error| {
        let is_there = error.kind() == ErrorKind::AlreadyExists;
        let failure =
            Failure::from(anyhow::Error::from(error).context(format!("failed to make {name}")));
        match is_there {
            true => failure.hint("a backup is not overwritten: name another file, or move it away"),
            false => failure,
        }
    })?;
    let written = async {
        let (_, bytes) = server.get_bytes_for("/v1/backup", PATIENCE).await?;
        file.write_all(&bytes).with_context(|| format!("failed to write {name}"))?;
        file.sync_all().with_context(|| format!("failed to write {name}"))?;
        Ok::<_, Failure>(bytes.len())
    };
    let bytes = match written.await {
        Ok(bytes) => bytes,
        Err(failure) => {
            // An empty file would pass for a backup.
            let _ = std::fs::remove_file(path);
            return Err(failure);
        }
    };
    if screen.json {
        screen.answer(&json!({ "file": path, "bytes": bytes }))?;
    } else {
        screen.line(&format!("saved {name}, {bytes} bytes"))?;
    }
    Ok(OK)
}
