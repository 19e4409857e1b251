//! `kantctl admin key`: the replacement of the cluster key while the cluster runs.

use crate::failure::{Failure, OK};
use crate::fetch::Answer;
use crate::output::Screen;
use crate::output::record::Record;
use crate::output::screen::note;
use crate::output::time::local;
use crate::output::user_names::user;
use crate::output::zone::Zone;
use crate::server::{PATIENCE, Retry, Server};
use clap::Subcommand;
use common::hostlist;
use common::wire::api::{ClusterKeyView, KeyGeneration, RotationStep};
use serde_json::Value;
use std::time::{Duration, Instant};

pub const EXAMPLES: &str = "\
Examples:
  kantctl admin key rotate
  kantctl admin key status
  kantctl admin key advance          # leave behind the hosts that have not followed

Run it on the host of the leader, over the leader's own socket. No daemon restarts and no job is
disturbed: first all hosts trust the new key as well, then it issues all certificates, then it is
the only one. Each step waits for all controllers, and for all nodes that have joined.";

const ROTATE_EXAMPLES: &str = "\
Examples:
  kantctl admin key rotate
  kantctl admin key rotate --no-wait
  kantctl --json admin key rotate --no-wait

Replace the key regularly, and whenever a stranger may have read it. Open invitations end with the old
key. A host that is off makes the next step wait: start it, or revoke it
(`kantctl admin node revoke`, `kantctl admin controller remove`).";

const STATUS_EXAMPLES: &str = "\
Examples:
  kantctl admin key status
  kantctl --json admin key status";

const ADVANCE_EXAMPLES: &str = "\
Examples:
  kantctl admin key advance
  kantctl --json admin key advance

For a key that was stolen, when there is no time to wait for all hosts. It prints the hosts that it
leaves behind; they must join again: `kantd join`, `kantctld rebuild` (without the old key file).";

const CANCEL_EXAMPLES: &str = "\
Examples:
  kantctl admin key cancel
  kantctl --json admin key cancel

Only in the first step, in which the old key still issues all certificates.";

const ADOPT_EXAMPLES: &str = "\
Examples:
  kantctl admin key adopt
  kantctl --json admin key adopt

After `kantctld found-key`, when all controllers run with the key that it made. It ends a replacement
that was in progress.";

const KEY: &str = "/v1/cluster-key";
const PAUSE: Duration = Duration::from_millis(500);
/// How long to wait in the last step for hosts, some of which may have been left behind.
const LAST_STEP: Duration = Duration::from_secs(15);

#[derive(Subcommand, Debug)]
pub enum Key {
    /// Replace the cluster key, and wait until all hosts use the new one
    #[command(after_help = ROTATE_EXAMPLES)]
    Rotate(Rotate),
    /// Show the cluster key's fingerprint, and which hosts do not follow its replacement yet
    #[command(after_help = STATUS_EXAMPLES)]
    Status,
    /// Begin the next step of the replacement without the hosts that have not followed
    #[command(after_help = ADVANCE_EXAMPLES)]
    Advance,
    /// Record that the controllers have another key, made with `kantctld found-key`
    #[command(after_help = ADOPT_EXAMPLES)]
    Adopt,
    /// Go back to the old key
    #[command(after_help = CANCEL_EXAMPLES)]
    Cancel,
}

#[derive(clap::Args, Debug)]
pub struct Rotate {
    /// Begin only; the leader goes on by itself
    #[arg(long)]
    pub no_wait: bool,
}

/// # Errors
/// [`Failure`] when the controller refuses or does not answer.
pub async fn run(asked: &Key, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let ask = |verb: &'static str| async move {
        server.post::<_, Value>(&format!("{KEY}/{verb}"), &Value::Null, Retry::IfUnsent).await
    };
    let raw = match asked {
        Key::Status => server.get(KEY).await?,
        Key::Advance => advance(server).await?,
        Key::Adopt => ask("adopt").await?,
        Key::Cancel => ask("cancel").await?,
        Key::Rotate(Rotate { no_wait: true }) => ask("rotate").await?,
        Key::Rotate(_) => wait_until_complete(server, ask("rotate").await?).await?,
    };
    let answer: Answer<ClusterKeyView> = raw.try_into()?;
    if screen.json {
        screen.print_answer_json(&answer.raw)?;
        return Ok(OK);
    }
    screen.print_record(&summary(&answer.typed, &screen.zone))?;
    Ok(OK)
}

/// Begins the next step after the one that is shown.
async fn advance(server: &Server) -> Result<Value, Failure> {
    let shown: Answer<ClusterKeyView> = server.get::<Value>(KEY).await?.try_into()?;
    let left = describe_hosts_behind(&shown.typed);
    if !left.is_empty() {
        note(&format!("left behind: {}", left.join("; ")));
    }
    let request = KeyGeneration { generation: shown.typed.generation };
    server.post(&format!("{KEY}/advance"), &request, Retry::IfUnsent).await
}

/// Waits until the replacement is complete. Prints what it waits for whenever that changes.
async fn wait_until_complete(server: &Server, begun: Value) -> Result<Value, Failure> {
    let mut answer: Answer<ClusterKeyView> = begun.try_into()?;
    let new = answer.typed.rotation.as_ref().map(|rotation| rotation.new.clone());
    let (mut printed, mut settled_at) = (None, None);
    loop {
        let view = &answer.typed;
        let behind = describe_hosts_behind(view);
        if view.rotation.is_none() {
            let since = *settled_at.get_or_insert_with(Instant::now);
            if behind.is_empty() || since.elapsed() > LAST_STEP {
                break;
            }
        }
        let step = step(view);
        let why = match behind.is_empty() {
            true => format!("{step}: all hosts have followed"),
            false => format!("{step}: waiting for {}", behind.join("; ")),
        };
        if printed.as_ref() != Some(&why) {
            note(&why);
            printed = Some(why);
        }
        tokio::time::sleep(PAUSE).await;
        // The leader may change meanwhile.
        let raw: Value = server.get_retrying(KEY, PATIENCE).await?;
        answer = raw.try_into()?;
    }
    if new.is_some_and(|new| new != answer.typed.authority) {
        let failure = Failure::from(anyhow::anyhow!("the cluster key was not replaced"));
        return Err(failure.with_hint("another operator cancelled that: see `kantctl audit`"));
    }
    Ok(answer.raw)
}

fn step(view: &ClusterKeyView) -> &'static str {
    match view.rotation.as_ref().map(|rotation| rotation.step) {
        Some(RotationStep::Trust) => "step 1 of 3, trust the new key too",
        Some(RotationStep::Issue) => "step 2 of 3, issue certificates with the new key",
        None => "step 3 of 3, trust the new key only",
    }
}

fn describe_hosts_behind(view: &ClusterKeyView) -> Vec<String> {
    let ids = view.controllers_behind.iter().map(ToString::to_string).collect::<Vec<_>>();
    let controllers = (!ids.is_empty()).then(|| format!("controllers {}", ids.join(", ")));
    let nodes = &view.nodes_behind;
    let nodes = (!nodes.is_empty()).then(|| match nodes.len() {
        1 => format!("node {}", nodes[0]),
        count => format!("{count} nodes: {}", hostlist::compress(nodes)),
    });
    controllers.into_iter().chain(nodes).collect()
}

fn summary(view: &ClusterKeyView, zone: &Zone) -> String {
    let mut record = Record::default();
    record.fact("authority", &view.authority);
    record.fact("generation", view.generation);
    match &view.rotation {
        None => record.fact("step", "no replacement is in progress"),
        Some(rotation) => {
            let (at, by) = (local(rotation.begun_at, zone), rotation.by);
            record.fact("begun", format!("{at} by {}", user(by.0)));
            record.fact("new", &rotation.new);
            record.fact("step", step(view));
        }
    }
    let behind = describe_hosts_behind(view);
    record.fact("behind", if behind.is_empty() { "no host".to_owned() } else { behind.join("; ") });
    record.text()
}
