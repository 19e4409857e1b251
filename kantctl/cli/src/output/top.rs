//! The screen of `kantctl top`: the cluster and its jobs in a frame of the terminal's size.

use super::Screen;
use super::columns::{self, Line};
use super::sizes::format_gpu_milli;
use super::time::local;
use common::job::Phase;
use common::text::escape_hidden;
use common::time::Time;
use common::wire::api::{JobView, MetricsView, Status};

/// The columns of the table, some of which are omitted on a narrow terminal.
const FORMAT: &str = "id,name,user,queue,state,time,limit,nodes,gpus,where";
/// The lines above the table.
const HEAD_LINES: usize = 4;

/// The data of the last refresh.
#[derive(Debug)]
pub struct Seen {
    pub status: Status,
    pub metrics: MetricsView,
    /// Jobs that have not ended.
    pub jobs: Vec<JobView>,
    pub as_of: Time,
    /// Why the last refresh failed.
    pub trouble: Option<String>,
}

/// Which jobs are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shows {
    /// All jobs that have not ended.
    All,
    /// Jobs with an allocation.
    Running,
    Waiting,
}

/// The user's view of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    pub shows: Shows,
    pub mine: bool,
    /// The index of the first job on the screen.
    pub first: usize,
}

/// The lines of a frame. A view past the end of the table is moved back.
pub fn frame(
    seen: &Seen,
    view: &mut View,
    width: usize,
    height: usize,
    screen: &Screen,
) -> Vec<String> {
    let uid = nix::unistd::getuid().as_raw();
    let takes = |job: &&JobView| {
        let waits = job.phase == Phase::Pending;
        let shown = match view.shows {
            Shows::All => true,
            Shows::Running => !waits,
            Shows::Waiting => waits,
        };
        shown && (!view.mine || job.owner.uid.0 == uid)
    };
    let jobs: Vec<&JobView> = seen.jobs.iter().filter(takes).collect();
    let room = height.saturating_sub(HEAD_LINES + 2).max(1);
    view.first = view.first.min(jobs.len().saturating_sub(room));
    let shown = jobs.iter().skip(view.first).take(room);
    let line = |job| Line { job, run: None, expected: None, as_of: seen.as_of };
    let lines: Vec<Line<'_>> = shown.map(|job| line(*job)).collect();
    let fields = columns::select(FORMAT).unwrap_or_default();
    let table =
        columns::table_fitting(&fields, &lines, &screen.zone).render(Some(width), screen.colour);
    let mut frame = head(seen, width, screen);
    frame.extend(table.lines().map(str::to_owned));
    frame.truncate(height.saturating_sub(1));
    frame.resize(height.saturating_sub(1), String::new());
    frame.push(cut(&foot(seen, view, jobs.len(), lines.len()), width));
    frame
}

fn head(seen: &Seen, width: usize, screen: &Screen) -> Vec<String> {
    let Seen { status, metrics, as_of, trouble, .. } = seen;
    let first = format!(
        "{}  {}  {} of {} nodes  {} running, {} waiting",
        escape_hidden(&status.cluster),
        local(*as_of, &screen.zone),
        status.nodes_connected,
        status.nodes,
        status.jobs_running,
        status.jobs_pending,
    );
    let used = format_gpu_milli(metrics.gpus_used_milli);
    let kinds: Vec<String> = metrics
        .kinds
        .iter()
        .map(|kind| {
            format!(
                "{} {}/{}",
                escape_hidden(&kind.kind.0),
                format_gpu_milli(kind.used_milli),
                kind.gpus
            )
        })
        .collect();
    let label = format!("GPUs {used}/{} ", metrics.gpus);
    let bar = bar(metrics.gar, width.saturating_sub(label.chars().count()).min(40));
    let second = format!("{label}{bar}");
    let third = match trouble {
        Some(trouble) => escape_hidden(trouble.lines().next().unwrap_or_default()).into_owned(),
        None => kinds.join("  "),
    };
    [first, second, third, String::new()].map(|line| cut(&line, width)).to_vec()
}

/// `[#####.....]`: the fraction of GPUs in use.
fn bar(part: f64, width: usize) -> String {
    let room = width.saturating_sub(2);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    // Between 0 and the width of the terminal.
    let full = ((part.clamp(0.0, 1.0) * room as f64).round() as usize).min(room);
    format!("[{}{}]", "#".repeat(full), ".".repeat(room - full))
}

fn foot(seen: &Seen, view: &View, all: usize, shown: usize) -> String {
    let which = match view.shows {
        Shows::All => "all",
        Shows::Running => "running",
        Shows::Waiting => "waiting",
    };
    let mine = if view.mine { ", mine" } else { "" };
    let from = if shown == 0 { 0 } else { view.first + 1 };
    let stale = if seen.trouble.is_some() { "  (not up to date)" } else { "" };
    let until = view.first + shown;
    format!("{from}-{until} of {all} ({which}{mine}){stale}  q quit  a/r/w all/run/wait  m mine")
}

fn cut(line: &str, width: usize) -> String {
    line.chars().take(width).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::tz::TimeZone;

    fn seen() -> Seen {
        let status = serde_json::json!({
            "cluster": "lab", "version": "0", "leader": true, "applied": 1, "jobs_pending": 2,
            "jobs_running": 1, "jobs_done": 0, "nodes_connected": 3, "nodes": 4
        });
        let metrics = serde_json::json!({
            "gpus": 16, "gpus_used_milli": 12000, "gar": 0.75,
            "kinds": [{ "kind": "h100", "gpus": 16, "used_milli": 12000 }]
        });
        Seen {
            status: serde_json::from_value(status).unwrap(),
            metrics: serde_json::from_value(metrics).unwrap(),
            jobs: Vec::new(),
            as_of: Time(1_700_000_000_000),
            trouble: None,
        }
    }

    fn screen() -> Screen {
        Screen { json: false, width: Some(80), colour: false, zone: TimeZone::UTC.into() }
    }

    #[test]
    fn a_frame_has_the_size_of_the_terminal() {
        let mut view = View { shows: Shows::All, mine: false, first: 7 };
        for (width, height) in [(80, 24), (40, 10), (200, 60), (10, 3), (1, 1)] {
            let frame = frame(&seen(), &mut view, width, height, &screen());
            assert_eq!(frame.len(), height, "{width}x{height}");
            let heads = frame.iter().take(4).chain(frame.last());
            assert!(heads.into_iter().all(|line| line.chars().count() <= width), "{frame:?}");
            assert_eq!(view.first, 0, "there is nothing to scroll");
        }
    }

    #[test]
    fn the_head_shows_the_cluster_and_the_last_error() {
        let mut view = View { shows: Shows::Waiting, mine: true, first: 0 };
        let shown = frame(&seen(), &mut view, 80, 8, &screen());
        assert_eq!(shown[0], "lab  2023-11-14 22:13:20  3 of 4 nodes  1 running, 2 waiting");
        assert_eq!(shown[1], "GPUs 12/16 [#############################.........]");
        assert_eq!(shown[2], "h100 12/16");
        assert!(shown[7].starts_with("0-0 of 0 (waiting, mine)  q quit"), "{}", shown[7]);
        let stale = Seen { trouble: Some("no controller\nleads".to_owned()), ..seen() };
        let shown = frame(&stale, &mut view, 80, 8, &screen());
        assert_eq!(shown[2], "no controller");
        assert!(shown[7].contains("(not up to date)"), "{}", shown[7]);
    }
}
