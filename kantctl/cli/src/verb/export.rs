//! `kantctl export`: past jobs and the nodes of the cluster, as files that `kant-sim simulate`
//! replays.

use crate::clock::to_time;
use crate::failure::{Failure, OK};
use crate::output::Screen;
use crate::output::screen::note;
use crate::server::{PATIENCE, Server};
use anyhow::Context;
use common::time::{Span, Time};
use jiff::civil::DateTime;
use jiff::{Timestamp, Zoned};
use net::http::HeaderMap;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  kantctl export --jobs jobs.csv --nodes nodes.csv
  kantctl export --jobs jobs.csv --since 7d

To replay them with another configuration:
`kant-sim simulate --jobs jobs.csv --nodes nodes.csv --policy tomorrow.toml`

Exported are finished jobs, as long as the controller keeps them (`done_jobs_kept_seconds` in its
configuration, a day by default), and running jobs with their run time so far.";

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Write the jobs to this file, as CSV
    #[arg(long, value_name = "FILE", required_unless_present = "nodes")]
    pub jobs: Option<PathBuf>,
    /// Write the nodes to this file, as CSV
    #[arg(long, value_name = "FILE")]
    pub nodes: Option<PathBuf>,
    /// Only jobs submitted since then: an age (7d, 12h) or a date (2030-01-31T08:00)
    #[arg(long, value_name = "TIME", requires = "jobs", value_parser = read_since)]
    pub since: Option<Time>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SinceError {
    #[error("write an age (7d, 12h) or a date (2030-01-31, 2030-01-31T08:00)")]
    Shape,
    #[error("this time is in the future")]
    Future,
}

/// Reads a time in the past.
pub fn read_since(text: &str) -> Result<Time, SinceError> {
    parse_since(text, &Zoned::now())
}

/// Reads a time in the past or the future.
pub fn read_until(text: &str) -> Result<Time, SinceError> {
    parse_point_in_time(text, &Zoned::now())
}

/// Reads `--since` relative to `now`, in its time zone.
fn parse_since(text: &str, now: &Zoned) -> Result<Time, SinceError> {
    let at = parse_point_in_time(text, now)?;
    if at > to_time(now.timestamp()) { Err(SinceError::Future) } else { Ok(at) }
}

fn parse_point_in_time(text: &str, now: &Zoned) -> Result<Time, SinceError> {
    let text = text.trim();
    let present = to_time(now.timestamp());
    if let Ok(back) = text.parse::<Span>() {
        return Ok(Time(present.0.saturating_sub(back.0)));
    }
    let at = match text.parse::<Timestamp>() {
        Ok(at) => at,
        Err(_) => {
            let local: DateTime = text.parse().map_err(|_| SinceError::Shape)?;
            local.to_zoned(now.time_zone().clone()).map_err(|_| SinceError::Shape)?.timestamp()
        }
    };
    Ok(to_time(at))
}

/// Exports the requested files.
///
/// # Errors
/// [`Failure`] when the controller does not answer, or a file cannot be written.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let mut answer = serde_json::Map::new();
    if let Some(file) = &args.jobs {
        let query = args.since.map_or_else(String::new, |since| format!("?since={}", since.0));
        let headers = fetch(server, &format!("/v1/accounting/jobs{query}"), file).await?;
        let (jobs, left_out) = (count(&headers, "x-kant-jobs"), count(&headers, "x-kant-left-out"));
        answer.insert("jobs".to_owned(), file_json(file, jobs, Some(left_out)));
        if jobs == 0 {
            note("no job has run that the controller still keeps: see `done_jobs_kept_seconds`");
        }
        if !screen.json {
            let left = format!("left out: {left_out} waiting or never started");
            screen.print_line(&format!("Wrote {jobs} jobs to {} ({left})", file.display()))?;
        }
    }
    if let Some(file) = &args.nodes {
        let headers = fetch(server, "/v1/accounting/nodes", file).await?;
        let nodes = count(&headers, "x-kant-nodes");
        answer.insert("nodes".to_owned(), file_json(file, nodes, None));
        if !screen.json {
            screen.print_line(&format!("Wrote {nodes} nodes to {}", file.display()))?;
        }
    }
    if screen.json {
        screen.print_answer_json(&answer)?;
    }
    Ok(OK)
}

/// Requests a file and writes it to disk.
async fn fetch(server: &Server, path: &str, file: &Path) -> Result<HeaderMap, Failure> {
    let (headers, bytes) = server.get_bytes_retrying(path, PATIENCE).await?;
    let written = std::fs::write(file, &bytes);
    written.with_context(|| format!("failed to write {}", file.display()))?;
    Ok(headers)
}

/// A number from the response headers.
fn count(headers: &HeaderMap, name: &str) -> u64 {
    let text = headers.get(name).and_then(|value| value.to_str().ok());
    text.and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn file_json(file: &Path, written: u64, left_out: Option<u64>) -> Value {
    let mut about = json!({ "file": file, "written": written });
    if let Some(left_out) = left_out {
        about["left_out"] = json!(left_out);
    }
    about
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn since_is_an_age_or_a_date() {
        let noon = jiff::civil::date(2030, 6, 1).at(12, 0, 0, 0);
        let noon = noon.to_zoned(jiff::tz::TimeZone::UTC).unwrap();
        let read = |text: &str| parse_since(text, &noon).map(|at| at.to_string());
        for (text, at) in [
            ("7d", "2030-05-25T12:00:00Z"),
            ("12h", "2030-06-01T00:00:00Z"),
            ("2030-05-01", "2030-05-01T00:00:00Z"),
            ("2030-05-01T08:30", "2030-05-01T08:30:00Z"),
            ("2030-05-01T08:30+02:00", "2030-05-01T06:30:00Z"),
        ] {
            assert_eq!(read(text).as_deref(), Ok(at), "{text}");
        }
        assert_eq!(read("last month"), Err(SinceError::Shape));
        assert_eq!(read("2030-06-02"), Err(SinceError::Future));
    }
}
