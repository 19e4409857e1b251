//! The metrics of a cluster, as a record and as a table by job size.

use super::record::Record;
use super::sizes::{count_with_noun, format_gpu_milli};
use super::table::{Cell, Column, Table};
use super::time::local;
use common::time::Span;
use common::wire::api::{MetricsView, SpanBucket};
use jiff::tz::TimeZone;

const COLUMNS: [Column; 9] = [
    Column::new("GPUS"),
    Column::new("WAITING").right_aligned(),
    Column::new("STARTED").right_aligned(),
    Column::new("MEAN").right_aligned(),
    Column::new("P50").right_aligned(),
    Column::new("P90").right_aligned(),
    Column::new("P99").right_aligned(),
    Column::new("NODES/MIN").right_aligned().with_drop_order(1),
    Column::new("GROUPS/MIN").right_aligned().with_drop_order(0),
];

/// The metrics as percentages, each with its meaning.
#[must_use]
pub fn record(view: &MetricsView, zone: &TimeZone) -> String {
    let mut record = Record::default();
    record.fact("as of", local(view.as_of, zone));
    let in_use = format!("{} of {} GPUs in use", format_gpu_milli(view.gpus_used_milli), view.gpus);
    record.fact("GAR", format!("{}  {in_use}", percent(view.gar)));
    for kind in &view.kinds {
        let used = format_gpu_milli(kind.used_milli);
        record.fact("", format!("        {}: {used} of {}", kind.kind, kind.gpus));
    }
    let since = local(view.sor_from, zone);
    record.fact("SOR", format!("{}  of GPU-time since {since}", percent(view.sor)));
    let of_used = percent(view.gfr_of_used);
    let gfr = format!("of {} partly used ({} of those in use)", nodes(view), of_used.trim());
    record.fact("GFR", format!("{}  {gfr}", percent(view.gfr)));
    let fr_8 = "of free GPUs not usable by another 8-GPU job";
    record.fact("FR_8", format!("{}  {fr_8}", percent(view.fr_8)));
    record.add_optional_fact(
        "FGD",
        view.fgd.map(|fgd| format!("{}  of free GPUs not usable by the typical job", percent(fgd))),
    );
    let groups =
        format!("{} of {}", view.leaf_groups_free, count_with_noun(view.leaf_groups, "leaf group"));
    record.fact("all free", format!("{} of {}, {groups}", view.nodes_free, nodes(view)));
    record.text()
}

fn nodes(view: &MetricsView) -> String {
    count_with_noun(view.nodes.0, "node")
}

/// Waiting times by job size, one size per row.
#[must_use]
pub fn table(view: &MetricsView) -> Table {
    let mut table = Table::new(&COLUMNS, &[]);
    for bucket in &view.waits {
        let seconds = |seconds: Option<u64>| {
            Cell::from(seconds.map_or_else(dash, |s| Span::from_seconds(s).to_string()))
        };
        let span = view.spans.iter().find(|span| span.gpus == bucket.gpus);
        let ratio = |of: fn(&SpanBucket) -> Option<f64>| {
            Cell::from(span.and_then(of).map_or_else(dash, |ratio| format!("{ratio:.2}")))
        };
        table.add_row(vec![
            Cell::from(&bucket.gpus),
            Cell::from(bucket.waiting),
            Cell::from(bucket.started),
            seconds(bucket.mean_seconds),
            seconds(bucket.p50_seconds),
            seconds(bucket.p90_seconds),
            seconds(bucket.p99_seconds),
            ratio(|span| span.nodes_ratio),
            ratio(|span| span.groups_ratio),
        ]);
    }
    table
}

fn dash() -> String {
    "-".to_owned()
}

/// `  6.3%`, aligned; values outside 0 to 100 are shown unchanged.
fn percent(fraction: f64) -> String {
    format!("{:>5.1}%", fraction * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn view() -> MetricsView {
        let answer = json!({
            "as_of": 1_700_000_000_000_u64, "gpus": 24, "gpus_used_milli": 18_500,
            "kinds": [{ "kind": "h100", "gpus": 24, "used_milli": 18_500 }],
            "gar": 0.7708, "sor": 0.5, "sor_from": 1_699_996_400_000_u64,
            "gfr": 0.333, "gfr_of_used": 0.5, "fr_8": 1.0,
            "nodes": 3, "nodes_free": 0, "leaf_groups": 1, "leaf_groups_free": 0,
            "waits": [
                { "gpus": "1", "started": 10, "waiting": 2, "mean_seconds": 90,
                  "p50_seconds": 60, "p90_seconds": 200, "p99_seconds": 90_000 },
                { "gpus": ">=1024" }
            ],
            "spans": [{ "gpus": "1", "jobs": 10, "nodes_ratio": 1.0, "groups_ratio": null }],
            "of a later version": 1
        });
        serde_json::from_value(answer).unwrap()
    }

    #[test]
    fn each_metric_is_shown_with_its_meaning() {
        let text = record(&view(), &TimeZone::UTC);
        let expected = "\
as of       2023-11-14 22:13:20
GAR          77.1%  18.5 of 24 GPUs in use
                    h100: 18.5 of 24
SOR          50.0%  of GPU-time since 2023-11-14 21:13:20
GFR          33.3%  of 3 nodes partly used (50.0% of those in use)
FR_8        100.0%  of free GPUs not usable by another 8-GPU job
all free    0 of 3 nodes, 0 of 1 leaf group
";
        assert_eq!(anstream::adapter::strip_str(&text).to_string(), expected);
    }

    #[test]
    fn waiting_times_are_by_job_size_and_unknown_ones_are_dashes() {
        let expected = "\
GPUS    WAITING  STARTED   MEAN    P50    P90         P99  NODES/MIN  GROUPS/MIN
1             2       10  01:30  01:00  03:20  1-01:00:00       1.00           -
>=1024        0        0      -      -      -           -          -           -
";
        let table = table(&view()).render(Some(100), false);
        assert_eq!(table, expected);
    }
}
