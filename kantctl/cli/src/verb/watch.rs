//! `kantctl watch`: events in the cluster, as they happen. A possible gap is always reported.

use crate::failure::{Failure, OK};
use crate::keys::{self, Keys};
use crate::output::Screen;
use crate::output::screen::note;
use crate::output::time::{local, localized};
use crate::server::{PATIENCE, Server, encoded};
use anyhow::Context;
use common::text::{shown, shown_json};
use futures_util::StreamExt;
use net::Body;
use serde::de::IgnoredAny;

/// `detail` is only for programs, which get the raw line.
type Happened = common::wire::api::Happened<IgnoredAny>;

const EXAMPLES: &str = "\
Examples:
  kantctl watch
  kantctl watch 42 43_7
  kantctl watch --me --json | jq -r 'select(.event == \"JobDone\") | .job'

With --json, each line is an event: {\"at\", \"event\", \"job\", \"user\", \"text\", \"detail\"}; \"at\" is in
milliseconds since 1970. The first event is \"Watching\": later events are complete. If a controller
is lost, watching continues with the next leader, and a note on stderr reports the gap.";

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Only events of these jobs: 42, 42_7, 42_[0-3]
    #[arg(value_name = "JOB")]
    pub keys: Vec<Keys>,
    /// Only events of your own jobs
    #[arg(long)]
    pub me: bool,
    /// Only events of jobs of these users
    #[arg(short, long, value_name = "USER", value_delimiter = ',', conflicts_with = "me")]
    pub user: Vec<String>,
    /// Exit after COUNT events
    #[arg(long, value_name = "COUNT")]
    pub count: Option<u64>,
}

impl Args {
    fn path(&self) -> Result<String, Failure> {
        let keys: Vec<String> = keys::flatten(&self.keys).iter().map(ToString::to_string).collect();
        let mut users = self.user.clone();
        if self.me {
            let own = nix::unistd::User::from_uid(nix::unistd::getuid()).ok().flatten();
            let unknown =
                || Failure::message("failed to find your user name on this host".to_owned());
            users.push(own.map(|user| user.name).ok_or_else(unknown)?);
        }
        let (keys, users) = (encoded(&keys.join(",")), encoded(&users.join(",")));
        Ok(format!("/v1/watch?jobs={keys}&users={users}"))
    }
}

/// Prints events until it is interrupted.
///
/// # Errors
/// [`Failure`] when the controller is unreachable for longer than the retry time.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let path = args.path()?;
    let mut left = args.count.unwrap_or(u64::MAX);
    loop {
        let body = server.stream(&path, PATIENCE).await?;
        if follow(body, &mut left, screen).await? {
            return Ok(OK);
        }
        note("the connection to the controller was lost: events are missed until it answers again");
    }
}

/// Prints events as they arrive; true when the requested number is reached.
async fn follow(body: Body, left: &mut u64, screen: &Screen) -> Result<bool, Failure> {
    let (mut body, mut rest) = (body.into_data_stream(), Vec::new());
    while let Some(Ok(data)) = body.next().await {
        rest.extend_from_slice(&data);
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = rest.drain(..=end).collect();
            let happened: Happened = serde_json::from_slice(&line).context(
                "failed to understand the controller: does it have the same version as kantctl?",
            )?;
            let first = happened.event == "Watching";
            print(&line, &happened, screen)?;
            *left -= u64::from(!first);
            if *left == 0 {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

fn print(line: &[u8], happened: &Happened, screen: &Screen) -> Result<(), Failure> {
    if screen.json {
        return screen.print(&shown_json(&String::from_utf8_lossy(line)));
    }
    let text = localized(&shown(&happened.text), &screen.zone);
    if happened.event == "Watching" {
        note("watching; press Ctrl-C to stop");
        return Ok(());
    }
    screen.line(&format!("{}  {text}", local(happened.at, &screen.zone)))
}
