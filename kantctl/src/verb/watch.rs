//! `kantctl watch`: what happens in the cluster, as it happens. Never what was before: lists have
//! that; and never silent about what it may have missed.

use crate::failure::{Failure, OK};
use crate::keys::{self, Keys};
use crate::output::Screen;
use crate::output::screen::note;
use crate::output::time::{local, localized};
use crate::server::{PATIENCE, Server, encoded};
use anyhow::Context;
use axum::body::HttpBody;
use common::text::{shown, shown_json};
use serde::de::IgnoredAny;
use std::pin::Pin;

/// Its own fields are for programs.
type Happened = common::wire::api::Happened<IgnoredAny>;

const EXAMPLES: &str = "\
Examples:
  kantctl watch
  kantctl watch 42 43_7
  kantctl watch --me --json | jq -r 'select(.event == \"JobDone\") | .job'

With --json a line is an event: {\"at\", \"event\", \"job\", \"user\", \"text\", \"detail\"}; \"at\" is in
milliseconds since 1970. The first is \"Watching\": from there on nothing is missed. Where a
controller is lost, watching goes on with the next, and a note on stderr says so.";

/// Arguments of `watch`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Only of these jobs: 42, 42_7, 42_[0-3]
    #[arg(value_name = "JOB")]
    pub keys: Vec<Keys>,
    /// Only of my jobs
    #[arg(long)]
    pub me: bool,
    /// Only of jobs of these users
    #[arg(short, long, value_name = "USER", value_delimiter = ',', conflicts_with = "me")]
    pub user: Vec<String>,
    /// End after so many events
    #[arg(long, value_name = "COUNT")]
    pub count: Option<u64>,
}

impl Args {
    fn path(&self) -> Result<String, Failure> {
        let keys: Vec<String> = keys::all(&self.keys).iter().map(ToString::to_string).collect();
        let mut users = self.user.clone();
        if self.me {
            let own = nix::unistd::User::from_uid(nix::unistd::getuid()).ok().flatten();
            let unknown = || Failure::message("this host does not know your name".to_owned());
            users.push(own.map(|user| user.name).ok_or_else(unknown)?);
        }
        let (keys, users) = (encoded(&keys.join(",")), encoded(&users.join(",")));
        Ok(format!("/v1/watch?jobs={keys}&users={users}"))
    }
}

/// Tells events until it is interrupted.
///
/// # Errors
/// [`Failure`] when the controller stays away.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let path = args.path()?;
    let mut left = args.count.unwrap_or(u64::MAX);
    loop {
        let body = server.stream(&path, PATIENCE).await?;
        if follow(body, &mut left, screen).await? {
            return Ok(OK);
        }
        note("the controller broke off: what happens until it answers again is not told");
    }
}

/// Tells what comes; true: that was all that was asked for.
async fn follow(body: axum::body::Body, left: &mut u64, screen: &Screen) -> Result<bool, Failure> {
    let (mut body, mut rest) = (body, Vec::new());
    loop {
        let frame = std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await;
        let Some(Ok(frame)) = frame else { return Ok(false) };
        let Ok(data) = frame.into_data() else { continue };
        rest.extend_from_slice(&data);
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = rest.drain(..=end).collect();
            let happened: Happened = serde_json::from_slice(&line)
                .context("failed to understand the controller: is it of the same version?")?;
            let first = happened.event == "Watching";
            tell(&line, &happened, screen)?;
            *left -= u64::from(!first);
            if *left == 0 {
                return Ok(true);
            }
        }
    }
}

fn tell(line: &[u8], happened: &Happened, screen: &Screen) -> Result<(), Failure> {
    if screen.json {
        return screen.print(&shown_json(&String::from_utf8_lossy(line)));
    }
    let text = localized(&shown(&happened.text), &screen.zone);
    if happened.event == "Watching" {
        note("watching; interrupt it to end");
        return Ok(());
    }
    screen.line(&format!("{}  {text}", local(happened.at, &screen.zone)))
}
