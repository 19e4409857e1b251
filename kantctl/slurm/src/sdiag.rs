//! `sdiag`: statistics of the controller and its scheduler, under Slurm's headings where they mean
//! the same. Statistics of Slurm's internals (threads, RPCs by type) do not exist here.
//! Source: man sdiag.

use super::shared_options::Common;
use cli::failure::{Failure, OK};
use cli::output::Screen;
use cli::server::Server;
use cli::slurm_time::format_time;
use common::wire::api::{MetricsView, Status};

/// Show statistics of the controller, as Slurm's sdiag does
#[derive(clap::Parser, Debug)]
#[command(name = "sdiag", disable_help_flag = true, disable_version_flag = true)]
pub struct Args {
    #[command(flatten)]
    pub common: Common,
    /// Show everything (always)
    #[arg(short = 'a', long)]
    pub all: bool,
    /// Sort RPCs by id (ignored: there are no RPC statistics)
    #[arg(short = 'i', long = "sort-by-id")]
    pub by_id: bool,
    /// Sort RPCs by time (ignored: there are no RPC statistics)
    #[arg(short = 't', long = "sort-by-time")]
    pub by_time: bool,
}

/// Shows the statistics.
///
/// # Errors
/// [`Failure`] when the controller does not answer.
pub async fn run(_: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let status: Status = server.get("/v1/status").await?;
    let metrics: MetricsView = server.get("/v1/metrics").await?;
    let rule = "*".repeat(55);
    let at = |time| format_time(time, &screen.zone);
    let as_of = metrics.as_of;
    let mut lines = vec![
        rule.clone(),
        format!("sdiag output at {} ({})", at(as_of), as_of.0 / 1000),
        format!("Data since      {} ({})", at(metrics.sor_from), metrics.sor_from.0 / 1000),
        rule,
        format!("Controller:        kantctld {} of cluster {}", status.version, status.cluster),
        format!("Log entries:       {}", status.applied),
        String::new(),
    ];
    let started: u32 = metrics.waits.iter().map(|bucket| bucket.started).sum();
    for (title, value) in [
        ("Jobs started:  ", started.to_string()),
        ("Jobs pending:  ", status.jobs_pending.to_string()),
        ("Jobs running:  ", status.jobs_running.to_string()),
        ("Jobs finished and kept:", status.jobs_done.to_string()),
        ("Nodes connected:", format!("{} of {}", status.nodes_connected, status.nodes)),
    ] {
        lines.push(format!("{title} {value}"));
    }
    lines.push(String::new());
    lines.push("Waiting times in seconds by GPUs of a job (mean, median, 90th percentile):".into());
    let number = |seconds: Option<u64>| seconds.map_or_else(|| "-".to_owned(), |s| s.to_string());
    for bucket in metrics.waits.iter().filter(|bucket| bucket.started + bucket.waiting > 0) {
        let [mean, p50, p90] =
            [bucket.mean_seconds, bucket.p50_seconds, bucket.p90_seconds].map(number);
        let counts = format!("started {}, waiting {}", bucket.started, bucket.waiting);
        lines.push(format!("\t{:<8} {counts}: {mean} {p50} {p90}", bucket.gpus));
    }
    lines.push(String::new());
    lines
        .push("`kantctl metrics` shows GPU usage; more metrics are exported to Prometheus.".into());
    for line in lines {
        screen.print_line(&line)?;
    }
    Ok(OK)
}
