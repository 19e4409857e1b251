//! The metrics of one or several replays for a terminal of 100 columns, without colours.

use super::{SizeClass, Summary};
use common::time::Span;

/// Longer names of policies, which may be file names, are cut.
const POLICY_MAX: usize = 14;

const PLACEMENT_MAX: usize = 10;

/// Three tables: allocation, waiting, and waiting by size. With several queues, a fourth: what they
/// hold of their fair shares.
#[must_use]
pub fn table(summaries: &[Summary]) -> String {
    let mut parts = vec![allocation(summaries), waiting(summaries), by_size(summaries)];
    if summaries.iter().any(|summary| !summary.teams.is_empty()) {
        parts.push(shares(summaries));
    }
    parts.iter().map(|rows| layout(rows)).collect::<Vec<String>>().join("\n")
}

type Row = Vec<String>;

fn head(names: &[&str]) -> Row {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn names(summary: &Summary) -> Row {
    vec![cut(&summary.policy, POLICY_MAX), cut(&summary.placement, PLACEMENT_MAX)]
}

fn allocation(summaries: &[Summary]) -> Vec<Row> {
    let mut rows = vec![head(&[
        "policy",
        "placement",
        "SOR %",
        "GAR %",
        "GARq %",
        "GFR %",
        "GFRq %",
        "FR8 %",
        "makespan",
        "starts/s",
    ])];
    for summary in summaries {
        let ratios = [
            summary.sor,
            summary.gar_mean,
            summary.gar_queued_mean,
            summary.gfr_mean,
            summary.gfr_queued_mean,
            summary.fr8_mean,
        ];
        let mut row = names(summary);
        row.extend(ratios.map(percent));
        row.push(format_seconds(summary.makespan_seconds));
        row.push(summary.starts_per_cpu_second.map_or_else(dash, |starts| format!("{starts:.0}")));
        rows.push(row);
    }
    rows
}

fn waiting(summaries: &[Summary]) -> Vec<Row> {
    let mut rows = vec![head(&[
        "policy",
        "placement",
        "wait mean",
        "P50",
        "P90",
        "P99",
        "slowdown",
        "queue max",
        "jobs",
        "preempted",
    ])];
    for summary in summaries {
        let wait = &summary.wait;
        let mut row = names(summary);
        row.extend([wait.mean, wait.p50, wait.p90, wait.p99].map(format_seconds));
        row.push(summary.bounded_slowdown_mean.map_or_else(dash, |mean| format!("{mean:.2}")));
        row.push(summary.queue_max.to_string());
        row.push(summary.jobs.to_string());
        row.push(summary.preemptions.to_string());
        rows.push(row);
    }
    rows
}

/// The wait that 90 % do not exceed, for every class that some replay shows.
fn by_size(summaries: &[Summary]) -> Vec<Row> {
    let classes = shown_classes(summaries);
    let mut title = head(&["P90 wait by GPUs", ""]);
    title.extend(classes.iter().map(|class| class.name().to_owned()));
    let mut rows = vec![title];
    for summary in summaries {
        let mut row = names(summary);
        for class in &classes {
            let waits = summary.wait_by_size.iter().find(|(shown, _)| shown == class);
            row.push(format_seconds(waits.and_then(|(_, waits)| waits.p90)));
        }
        rows.push(row);
    }
    rows
}

/// How even the shares were, and the longest time in which a job waited that its queue's quota
/// allowed: of any size, and of one GPU.
fn shares(summaries: &[Summary]) -> Vec<Row> {
    let mut rows =
        vec![head(&["policy", "queue", "quota", "below it", "by 1 GPU", "Jain", "error %"])];
    for summary in summaries {
        for (at, team) in summary.teams.iter().enumerate() {
            let name = if at == 0 { cut(&summary.policy, POLICY_MAX) } else { String::new() };
            let of_all = |text: String| if at == 0 { text } else { String::new() };
            let span = |span: Span| format_seconds(Some(super::waits::seconds(span.0)));
            let quota = team.quota.map(|quota| f64::from(quota.0) / 1000.0);
            rows.push(vec![
                name,
                cut(team.queue.as_str(), POLICY_MAX),
                quota.map_or_else(dash, |gpus| gpus.to_string()),
                span(team.below),
                span(team.below_by_one),
                of_all(summary.jain_mean.map_or_else(dash, |jain| format!("{jain:.3}"))),
                of_all(percent(summary.share_error_mean)),
            ]);
        }
    }
    rows
}

/// The classes that some replay shows, smallest first.
pub(super) fn shown_classes(summaries: &[Summary]) -> Vec<SizeClass> {
    let shows = |class: &SizeClass| {
        summaries.iter().any(|summary| summary.wait_by_size.iter().any(|(shown, _)| shown == class))
    };
    SizeClass::ALL.into_iter().filter(shows).collect()
}

/// Aligned columns: the first two to the left, numbers to the right.
fn layout(rows: &[Row]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |at: usize| {
        rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..columns).map(|at| width(at).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (at, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let cell = if at < 2 { format!("{cell:<width$}") } else { format!("{cell:>width$}") };
            line.push_str(if at == 0 { "" } else { "  " });
            line.push_str(&cell);
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn cut(name: &str, most: usize) -> String {
    if name.chars().count() <= most {
        return name.to_owned();
    }
    name.chars().take(most - 1).chain(['…']).collect()
}

fn dash() -> String {
    "-".to_owned()
}

/// A ratio as a percentage with one decimal.
pub(super) fn percent(ratio: Option<f64>) -> String {
    ratio.map_or_else(dash, |ratio| format!("{:.1}", ratio * 100.0))
}

/// Seconds in the largest unit that leaves at least one: `45s`, `12.5m`, `4.2h`, `3.1d`.
pub(super) fn format_seconds(seconds: Option<f64>) -> String {
    let Some(seconds) = seconds else { return dash() };
    match seconds {
        s if s <= 0.0 => "0".to_owned(),
        s if s < 60.0 => format!("{s:.0}s"),
        s if s < 3600.0 => format!("{:.1}m", s / 60.0),
        s if s < 172_800.0 => format!("{:.1}h", s / 3600.0),
        s => format!("{:.1}d", s / 86_400.0),
    }
}

#[cfg(test)]
mod tests {
    use super::super::stretch::tests::two_nodes;
    use super::*;

    #[test]
    fn the_table_of_the_worked_example_reads_so() {
        let mut summary = Summary::of(&two_nodes());
        summary.starts_per_cpu_second = None;
        let expected = "\
policy  placement  SOR %  GAR %  GARq %  GFR %  GFRq %  FR8 %  makespan  starts/s
fifo    first       75.0   75.0    61.1   16.7    22.2   33.3      2.5m         -

policy  placement  wait mean  P50   P90   P99  slowdown  queue max  jobs  preempted
fifo    first            30s    0  1.5m  1.5m      1.60          1     3          0

P90 wait by GPUs         1  2-7  8  9-32  >32
fifo              first  -    0  0  1.5m    -
";
        assert_eq!(table(&[summary]), expected);
    }

    #[test]
    fn long_names_and_large_numbers_stay_within_a_hundred_columns() {
        let mut summary = Summary::of(&two_nodes());
        summary.policy = "tomorrows-policy-with-a-name-that-goes-on.toml".into();
        summary.placement = summary.policy.clone();
        summary.starts_per_cpu_second = Some(1e8);
        summary.makespan_seconds = Some(4e8);
        summary.wait.mean = Some(1e8);
        summary.bounded_slowdown_mean = Some(123_456.78);
        summary.jobs = 100_000_000;
        let text = table(&[summary, Summary::of(&two_nodes())]);
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        assert!(text.contains("tomorrows-pol…"));
    }

    #[test]
    fn lengths_are_shown_in_the_unit_that_fits() {
        let shown =
            [0.0, 45.0, 90.0, 7200.0, 864_000.0].map(|seconds| format_seconds(Some(seconds)));
        assert_eq!(shown, ["0", "45s", "1.5m", "2.0h", "10.0d"]);
    }
}
