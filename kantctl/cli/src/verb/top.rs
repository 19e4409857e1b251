//! `kantctl top`: the cluster and its jobs on a live screen. A guard restores the terminal on every
//! exit path.

use super::filter::Filter;
use crate::failure::{Failure, Kind, OK};
use crate::full_screen::{FullScreen, Key};
use crate::output::top::{self, Shows, View};
use crate::output::{Screen, screen::note};
use crate::server::Server;
use common::wire::api::{JobList, MetricsView, Status};
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  kantctl top
  kantctl top --me --interval 5

Keys:
  q  quit           m  only your jobs    arrows, PgUp, PgDn  scroll
  a  all jobs       r  running jobs      w  waiting jobs";

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Seconds between updates
    #[arg(short, long, value_name = "SECONDS", default_value_t = 2,
          value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub interval: u64,
    #[command(flatten)]
    pub filter: Filter,
}

/// Shows the cluster until `q`, or a signal.
///
/// # Errors
/// [`Failure`] when there is no terminal, or the controller does not answer the first request.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    if screen.json {
        let refused = Failure::usage(anyhow::anyhow!("`top` is a live screen without JSON output"));
        return Err(refused.with_hint("`kantctl watch --json` prints events as JSON lines"));
    }
    // The first request precedes full-screen mode, so that its errors stay visible.
    let mut seen = fetch_state(args, server).await?;
    let mut terminal = FullScreen::enter()?;
    let mut view = View { shows: Shows::All, mine: args.filter.me, first: 0 };
    let period = Duration::from_secs(args.interval);
    let mut next = tokio::time::Instant::now() + period;
    loop {
        let (width, height) = terminal.size();
        let frame = top::frame(&seen, &mut view, width, height, screen);
        terminal.draw(&frame)?;
        match tokio::time::timeout_at(next, terminal.key()).await {
            Ok(Key::Quit) => break,
            Ok(Key::Letter('m')) => (view.mine, view.first) = (!view.mine, 0),
            Ok(Key::Letter('a')) => (view.shows, view.first) = (Shows::All, 0),
            Ok(Key::Letter('r')) => (view.shows, view.first) = (Shows::Running, 0),
            Ok(Key::Letter('w')) => (view.shows, view.first) = (Shows::Waiting, 0),
            Ok(Key::Up) => view.first = view.first.saturating_sub(1),
            Ok(Key::Down) => view.first = view.first.saturating_add(1),
            Ok(Key::PageUp) => view.first = view.first.saturating_sub(height / 2),
            Ok(Key::PageDown) => view.first = view.first.saturating_add(height / 2),
            Ok(Key::Resized | Key::Letter(_)) => {}
            Err(_) => {
                next = tokio::time::Instant::now() + period;
                match refresh_state(args, server).await {
                    Ok(now) => seen = now,
                    // During an election or a restart the old data stays, with its age.
                    Err(failure) => seen.trouble = Some(failure.to_string()),
                }
            }
        }
    }
    drop(terminal);
    if let Some(trouble) = seen.trouble {
        note(&trouble);
        return Ok(Kind::Unreachable.exit_code());
    }
    Ok(OK)
}

async fn fetch_state(args: &Args, server: &Server) -> Result<top::Seen, Failure> {
    let status: Status = server.get("/v1/status").await?;
    let metrics: MetricsView = server.get("/v1/metrics").await?;
    let list: JobList = args.filter.fetch_typed(server, false).await?;
    Ok(top::Seen { status, metrics, jobs: list.jobs, as_of: list.as_of, trouble: None })
}

/// Without messages on stderr, which is the same terminal.
async fn refresh_state(args: &Args, server: &Server) -> Result<top::Seen, Failure> {
    fetch_state(args, &server.without_retries()).await
}
