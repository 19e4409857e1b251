//! `kantctl watch`: events in the cluster, as they happen. When the connection is lost or silent,
//! it continues at another controller with the event after the last one. A gap is always reported.

use super::export::read_since;
use crate::failure::{Failure, OK};
use crate::keys::{self, Keys};
use crate::output::Screen;
use crate::output::screen::note;
use crate::output::time::{local, localized};
use crate::server::{PATIENCE, Server, encoded};
use anyhow::Context;
use common::text::{escape_hidden, escape_hidden_json};
use common::wire::api::Since;
use futures_util::StreamExt;
use net::Body;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::time::Duration;

/// The time between two heartbeats that the controller is asked for.
const HEARTBEAT_SECONDS: u64 = 2;
/// After this many heartbeats that did not arrive, the connection is taken for dead.
const HEARTBEATS_MISSED: u32 = 3;
/// The time for the first line, which a controller sends at once.
const FIRST_LINE_MAX: Duration = Duration::from_secs(10);

/// `detail` is read only of "Watching"; programs get the raw line.
type Happened = common::wire::api::Happened<Option<Box<RawValue>>>;

/// The detail of "Watching".
#[derive(Deserialize, Default)]
#[serde(default)]
struct Detail {
    heartbeat_seconds: u64,
}

const EXAMPLES: &str = "\
Examples:
  kantctl watch
  kantctl watch 42 43_7
  kantctl watch --me --since 10m
  kantctl watch --me --json | jq -r 'select(.event == \"JobDone\") | .job'
  kantctl watch --json --since 5120-3

With --json, each line is an event: {\"sequence\", \"at\", \"event\", \"job\", \"user\", \"text\",
\"detail\"}; \"at\" is in milliseconds since 1970. The first event is \"Watching\": later events are
complete. If a controller is lost, watching continues at the next one, and no event is lost or
repeated. --since with the last \"sequence\" does the same after kantctl was stopped. Controllers
keep the latest 32 MiB of events; a line \"Gap\" says that some are missing.";

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
    /// Begin after the event with this sequence (5120-3), or at a time: an age (10m, 2h) or a date
    #[arg(short = 'S', long, value_name = "SEQUENCE|TIME", value_parser = read_point)]
    pub since: Option<Since>,
    /// Exit after COUNT events
    #[arg(long, value_name = "COUNT")]
    pub count: Option<u64>,
}

fn read_point(text: &str) -> Result<Since, String> {
    match text.parse() {
        Ok(sequence) => Ok(Since::After(sequence)),
        Err(_) => read_since(text).map(Since::At).map_err(|error| error.to_string()),
    }
}

impl Args {
    /// The request, without the point where it begins.
    fn path(&self) -> Result<String, Failure> {
        let keys: Vec<String> = keys::flatten(&self.keys).iter().map(ToString::to_string).collect();
        let mut users = self.user.clone();
        if self.me {
            let own = nix::unistd::User::from_uid(nix::unistd::getuid()).ok().flatten();
            let unknown =
                || Failure::from_message("failed to find your user name on this host".to_owned());
            users.push(own.map(|user| user.name).ok_or_else(unknown)?);
        }
        let (keys, users) = (encoded(&keys.join(",")), encoded(&users.join(",")));
        Ok(format!("/v1/watch?jobs={keys}&users={users}&heartbeat_seconds={HEARTBEAT_SECONDS}"))
    }
}

/// What one connection after the other gets.
struct Watch<'a> {
    screen: &'a Screen,
    /// The number of events to print.
    left: u64,
    /// Where the next connection begins.
    since: Option<Since>,
    is_reconnected: bool,
}

/// Why a connection brought no more events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The requested number was printed.
    Enough,
    Lost,
    /// Not even heartbeats came.
    Silent,
}

/// Prints events until it is interrupted.
///
/// # Errors
/// [`Failure`] when the controller is unreachable for longer than the retry time.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let path = args.path()?;
    let left = args.count.unwrap_or(u64::MAX);
    let mut watch = Watch { screen, left, since: args.since, is_reconnected: false };
    let mut first = 0;
    loop {
        let since = watch.since.map(|since| format!("&since={since}")).unwrap_or_default();
        let body = server.stream(&format!("{path}{since}"), PATIENCE, first).await?;
        match watch.follow(body).await? {
            End::Enough => return Ok(OK),
            End::Lost => note("the connection to the controller was lost"),
            End::Silent => {
                note("the controller is silent: trying the next one");
                first += 1;
            }
        }
        watch.is_reconnected = true;
    }
}

impl Watch<'_> {
    /// Prints events as they arrive.
    async fn follow(&mut self, body: Body) -> Result<End, Failure> {
        let (mut body, mut rest) = (body.into_data_stream(), Vec::new());
        let mut silence_max = Some(FIRST_LINE_MAX);
        loop {
            let data = match silence_max {
                Some(limit) => match tokio::time::timeout(limit, body.next()).await {
                    Ok(data) => data,
                    Err(_) => return Ok(End::Silent),
                },
                None => body.next().await,
            };
            let Some(Ok(data)) = data else { return Ok(End::Lost) };
            rest.extend_from_slice(&data);
            while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = rest.drain(..=end).collect();
                let happened: Happened = serde_json::from_slice(&line).context(
                    "failed to understand the controller: does it have the same version as \
                     kantctl?",
                )?;
                if happened.event == "Watching" {
                    let seconds = heartbeat_seconds(&happened);
                    silence_max =
                        (seconds > 0).then(|| Duration::from_secs(seconds) * HEARTBEATS_MISSED);
                }
                self.print(&line, &happened)?;
                if let Some(sequence) = happened.sequence {
                    self.since = Some(Since::After(sequence));
                }
                self.left -= u64::from(!happened.is_notice());
                if self.left == 0 {
                    return Ok(End::Enough);
                }
            }
        }
    }

    fn print(&self, line: &[u8], happened: &Happened) -> Result<(), Failure> {
        if happened.event == "Watching" && self.is_reconnected {
            note(self.resumption_note(happened));
        }
        if happened.event == "Heartbeat" {
            return Ok(());
        }
        if self.screen.json {
            return self.screen.print(&escape_hidden_json(&String::from_utf8_lossy(line)));
        }
        let text = localized(&escape_hidden(&happened.text), &self.screen.zone);
        match happened.event.as_str() {
            "Watching" if self.is_reconnected => {}
            "Watching" => note("watching; press Ctrl-C to stop"),
            "Gap" | "Missed" => note(&text),
            _ => {
                let at = local(happened.at, &self.screen.zone);
                return self.screen.print_line(&format!("{at}  {text}"));
            }
        }
        Ok(())
    }

    /// What the first line of another connection says about the events in between.
    fn resumption_note(&self, watching: &Happened) -> &'static str {
        match (self.since, watching.sequence) {
            (Some(Since::After(last)), Some(sequence)) if last == sequence => {
                "watching again: no event was missed"
            }
            (Some(Since::At(_)), Some(_)) => "watching again",
            _ => "watching again: events were missed meanwhile",
        }
    }
}

/// The time between two heartbeats, as the controller promises it; 0: it sends none, as in earlier
/// releases.
fn heartbeat_seconds(watching: &Happened) -> u64 {
    let detail = watching.detail.as_ref().and_then(|raw| serde_json::from_str(raw.get()).ok());
    detail.map_or(0, |Detail { heartbeat_seconds }| heartbeat_seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::time::Time;

    #[test]
    fn a_point_is_a_sequence_an_age_or_a_date() {
        assert_eq!(read_point("5120-3"), Ok(Since::After("5120-3".parse().unwrap())));
        for time in ["10m", "2h", "2026-01-01"] {
            assert!(matches!(read_point(time), Ok(Since::At(Time(at))) if at > 0), "{time}");
        }
        assert!(read_point("then").is_err());
    }
}
