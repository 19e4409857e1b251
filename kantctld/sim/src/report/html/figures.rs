//! The table at the top of the page: one row per policy, with the best value of each column marked
//! if there are several rows.

use super::escape;
use crate::report::Summary;
use crate::report::table::{format_seconds, percent};
use std::cmp::Ordering;
use std::fmt::Write;

/// A column: its head, its tooltip, its value, how it is shown, and which direction is better.
struct Figure {
    head: &'static str,
    means: &'static str,
    value: fn(&Summary) -> Option<f64>,
    show: fn(Option<f64>) -> String,
    better: Ordering,
}

const fn percent_figure(
    head: &'static str,
    means: &'static str,
    value: fn(&Summary) -> Option<f64>,
    better: Ordering,
) -> Figure {
    Figure { head, means, value, show: percent, better }
}

const fn duration_figure(
    head: &'static str,
    means: &'static str,
    value: fn(&Summary) -> Option<f64>,
) -> Figure {
    Figure { head, means, value, show: format_seconds, better: Ordering::Less }
}

const FIGURES: [Figure; 12] = [
    percent_figure("SOR %", "GPU time allocated while jobs arrive", |s| s.sor, Ordering::Greater),
    percent_figure("GAR %", "GPUs allocated, mean", |s| s.gar_mean, Ordering::Greater),
    percent_figure("queued", "GAR while jobs wait", |s| s.gar_queued_mean, Ordering::Greater),
    percent_figure("GFR %", "nodes partly used, mean", |s| s.gfr_mean, Ordering::Less),
    percent_figure("queued", "GFR while jobs wait", |s| s.gfr_queued_mean, Ordering::Less),
    percent_figure("FR8 %", "free GPUs of no use to 8-GPU jobs", |s| s.fr8_mean, Ordering::Less),
    duration_figure("wait", "mean wait", |s| s.wait.mean),
    duration_figure("P50", "wait that half do not exceed", |s| s.wait.p50),
    duration_figure("P90", "wait that 90 % do not exceed", |s| s.wait.p90),
    duration_figure("P99", "wait that 99 % do not exceed", |s| s.wait.p99),
    Figure {
        head: "slowdown",
        means: "bounded slowdown, mean",
        value: |s| s.bounded_slowdown_mean,
        show: |value| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}")),
        better: Ordering::Less,
    },
    duration_figure("makespan", "first submission to last end", |s| s.makespan_seconds),
];

pub fn figures(summaries: &[Summary]) -> String {
    let mut html = "<table><thead><tr><th>policy</th>".to_owned();
    for figure in &FIGURES {
        // Writing into a String cannot fail, here and below.
        let _ = write!(html, "<th title=\"{}\">{}</th>", figure.means, figure.head);
    }
    html.push_str("</tr></thead><tbody>");
    for (index, summary) in summaries.iter().enumerate() {
        let _ = write!(
            html,
            "<tr><td><i style=\"background:var(--c{})\"></i>{} <span>{}</span></td>",
            index % 8,
            escape(&summary.policy),
            escape(&summary.placement)
        );
        for figure in &FIGURES {
            let class = if is_best(figure, summary, summaries) { " class=\"best\"" } else { "" };
            let _ = write!(html, "<td{class}>{}</td>", (figure.show)((figure.value)(summary)));
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table>");
    html
}

/// Whether no other value is better and some other is worse, as shown.
fn is_best(figure: &Figure, summary: &Summary, all: &[Summary]) -> bool {
    let Some(own) = (figure.value)(summary) else { return false };
    let shown = (figure.show)(Some(own));
    let others = || all.iter().filter_map(figure.value);
    let beaten = others()
        .any(|other| other.total_cmp(&own) == figure.better && (figure.show)(Some(other)) != shown);
    !beaten && others().any(|other| (figure.show)(Some(other)) != shown)
}

#[cfg(test)]
mod tests {
    use super::super::super::stretch::tests::two_nodes;
    use super::*;

    #[test]
    fn the_best_of_a_column_is_marked_and_equals_are_not() {
        let first = Summary::of(&two_nodes());
        let mut second = first.clone();
        second.sor = Some(0.8);
        second.gfr_mean = Some(0.5);
        let html = figures(&[first.clone(), second]);
        assert_eq!(html.matches("class=\"best\"").count(), 2);
        assert!(html.contains("<td class=\"best\">80.0</td>"), "higher occupancy is better");
        assert!(html.contains("<td class=\"best\">16.7</td>"), "less fragmentation is better");
        assert!(!figures(&[first]).contains("best"));
    }
}
