//! `kantctl admin`: administration of the controllers, and backups.

mod invitation;
mod key;
mod node;
mod upgrade;

use crate::failure::{Failure, OK};
use crate::fetch::Answer;
use crate::output::screen::note;
use crate::output::time::local;
use crate::output::{Screen, controllers};
use crate::server::{PATIENCE, Retry, Server};
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
  kantctl admin node invite 'g[001-064]'
  kantctl admin node revoke g017
  kantctl admin key rotate
  kantctl admin upgrade status
  kantctl admin backup /var/backups/kant-monday

To add a controller, invite it here and run on its own host:
`KANT_INVITATION=... kantctld setup --to HOST:PORT`. To add nodes, invite them and run on each:
`KANT_INVITATION=... kantd setup --to HOST:PORT`. Operators only.";

const CONTROLLER_EXAMPLES: &str = "\
Examples:
  kantctl admin controller status
  kantctl admin controller promote 4";

const STATUS_EXAMPLES: &str = "\
Examples:
  kantctl admin controller status
  kantctl admin controller status --wait          # after a restart, before restarting the next
  kantctl --json admin controller status";

const INVITE_EXAMPLES: &str = "\
Examples:
  kantctl admin controller invite
  kantctl admin controller invite --expires 10m
  kantctl --json admin controller invite

Run it on the host of the leader, over the leader's own socket. The invitation admits one
controller, once: treat it like a password. Pass it to `kantctld setup`, `join` or `rebuild`.";

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
/// How long a controller that reads a long log may be unreachable.
const WAIT_PATIENCE: Duration = Duration::from_secs(600);
const WAIT_PAUSE: Duration = Duration::from_millis(500);

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    pub what: What,
}

#[derive(Subcommand, Debug)]
pub enum What {
    /// List and change the controllers that keep the cluster's log
    #[command(subcommand, after_help = CONTROLLER_EXAMPLES)]
    Controller(Controller),
    /// Invite nodes to the cluster, and revoke their certificates
    #[command(subcommand, after_help = node::EXAMPLES)]
    Node(node::Node),
    /// List and withdraw invitations
    #[command(subcommand, after_help = invitation::EXAMPLES)]
    Invitation(invitation::Invitation),
    /// Replace the cluster key while the cluster runs
    #[command(subcommand, after_help = key::EXAMPLES)]
    Key(key::Key),
    /// Show what an upgrade has reached, and its next step
    #[command(subcommand, after_help = upgrade::EXAMPLES)]
    Upgrade(upgrade::Upgrade),
    /// Save the whole state of the cluster in one file, for `kantctld restore`
    #[command(after_help = BACKUP_EXAMPLES)]
    Backup(Backup),
}

#[derive(clap::Args, Debug)]
pub struct Backup {
    /// The file to create; an existing file is not overwritten. It contains the script and the
    /// environment of every job, so only you can read it
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

#[derive(Subcommand, Debug)]
pub enum Controller {
    /// List the controllers, with their roles and their positions in the log
    #[command(after_help = STATUS_EXAMPLES)]
    Status(Status),
    /// Invite one more controller
    #[command(after_help = INVITE_EXAMPLES)]
    Invite(Invite),
    /// Promote a learner to a voting member
    #[command(after_help = PROMOTE_EXAMPLES)]
    Promote(One),
    /// Remove a controller permanently; its id is never reused
    #[command(after_help = REMOVE_EXAMPLES)]
    Remove(One),
    /// Transfer leadership to another controller
    #[command(after_help = TRANSFER_EXAMPLES)]
    Transfer(One),
}

#[derive(clap::Args, Debug)]
pub struct Status {
    /// Wait until there is a leader that reaches all others, and none of them lags or is joining
    #[arg(long)]
    pub wait: bool,
}

#[derive(clap::Args, Debug)]
pub struct Invite {
    /// How long the invitation is valid, at most a week: minutes, h:m:s, 90m, 2h
    #[arg(long, value_name = "TIME", default_value = "1h")]
    pub expires: Span,
}

#[derive(clap::Args, Debug)]
pub struct One {
    /// Id of the controller, as shown by `kantctl admin controller status`
    #[arg(value_name = "ID")]
    pub id: u64,
}

/// Runs the command, and shows the state of the controllers.
///
/// # Errors
/// [`Failure`] when the controller refuses or does not answer.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let controller = match &args.what {
        What::Controller(controller) => controller,
        What::Invitation(asked) => return invitation::run(asked, server, screen).await,
        What::Node(node) => return node::run(node, server, screen).await,
        What::Key(asked) => return key::run(asked, server, screen).await,
        What::Upgrade(asked) => return upgrade::run(asked, server, screen).await,
        What::Backup(backup) => return save_backup(&backup.file, server, screen).await,
    };
    let raw: Value = match controller {
        Controller::Status(Status { wait: true }) => wait_until_all_ready(server).await?,
        Controller::Status(_) => server.get(CONTROLLERS).await?,
        Controller::Invite(Invite { expires }) => return invite(*expires, server, screen).await,
        Controller::Promote(one) => request_controller_action(server, one, "promote").await?,
        Controller::Remove(one) => request_controller_action(server, one, "remove").await?,
        Controller::Transfer(one) => request_controller_action(server, one, "transfer").await?,
    };
    let answer: Answer<ControllerList> = raw.try_into()?;
    if screen.json {
        screen.print_answer_json(&answer.raw)?;
        return Ok(OK);
    }
    screen.print_record(&controllers::summary(&answer.typed))?;
    screen.print_line("")?;
    screen.print_table(&controllers::table(&answer.typed.controllers))?;
    Ok(OK)
}

/// The state of the controllers, once all are ready. Prints what it waits for whenever that
/// changes.
async fn wait_until_all_ready(server: &Server) -> Result<Value, Failure> {
    let mut printed = None;
    loop {
        let raw: Value = server.get_retrying(CONTROLLERS, WAIT_PATIENCE).await?;
        let answer: Answer<ControllerList> = raw.try_into()?;
        let Some(why) = controllers::unsettled_reason(&answer.typed) else { return Ok(answer.raw) };
        if printed.as_ref() != Some(&why) {
            note(&format!("waiting: {why}"));
            printed = Some(why);
        }
        tokio::time::sleep(WAIT_PAUSE).await;
    }
}

/// Requests an invitation, and shows the command to run on the new controller's host.
async fn invite(lasts: Span, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let request = InviteRequest { lasts };
    let raw: Value = server.post(INVITE, &request, Retry::IfUnsent).await?;
    show_invitation(
        raw,
        "kantctld",
        "on the new controller's host; it admits one controller, once",
        screen,
    )
}

/// Shows the command by which a host joins: which program runs, and where.
fn show_invitation(raw: Value, program: &str, place: &str, screen: &Screen) -> Result<u8, Failure> {
    let answer: Answer<InviteAnswer> = raw.try_into()?;
    if screen.json {
        screen.print_answer_json(&answer.raw)?;
        return Ok(OK);
    }
    let InviteAnswer { invitation, until, address } = &answer.typed;
    let to = if address.is_empty() { "HOST:PORT" } else { address };
    note(&format!("run this {place}, until {}:", local(*until, &screen.zone)));
    screen.print_line(&format!("KANT_INVITATION={} {program} setup --to {to}", invitation.0))?;
    Ok(OK)
}

async fn request_controller_action(
    server: &Server,
    One { id }: &One,
    verb: &str,
) -> Result<Value, Failure> {
    let path = format!("/v1/controllers/{id}/{verb}");
    server.post(&path, &Value::Null, Retry::IfUnsent).await
}

/// Creates the file before it requests the backup, so that nothing is sent that cannot be saved.
async fn save_backup(path: &Path, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let name = path.display();
    let opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let mut file = opened.map_err(|error| {
        let is_there = error.kind() == ErrorKind::AlreadyExists;
        let failure =
            Failure::from(anyhow::Error::from(error).context(format!("failed to create {name}")));
        match is_there {
            true => failure.with_hint(
                "a backup is never overwritten: choose another file name, or move the old file",
            ),
            false => failure,
        }
    })?;
    let written = async {
        let (_, bytes) = server.get_bytes_retrying("/v1/backup", PATIENCE).await?;
        file.write_all(&bytes).with_context(|| format!("failed to write {name}"))?;
        file.sync_all().with_context(|| format!("failed to write {name}"))?;
        Ok::<_, Failure>(bytes.len())
    };
    let bytes = match written.await {
        Ok(bytes) => bytes,
        Err(failure) => {
            // An empty file could be taken for a backup.
            let _ = std::fs::remove_file(path);
            return Err(failure);
        }
    };
    if screen.json {
        screen.print_answer_json(&json!({ "file": path, "bytes": bytes }))?;
    } else {
        screen.print_line(&format!("saved {name}, {bytes} bytes"))?;
    }
    Ok(OK)
}
