//! The figures of a run that the table shows.

use crate::table::Column;
use sim::day_night::{BelowQuota, Figures};

pub const COLUMNS: &[Column<Figures>] = &[
    Column { title: "GAR %", decimals: 1, value: |run| percent(run.gar.p50) },
    Column { title: "SOR %", decimals: 1, value: |run| percent(run.sor) },
    Column { title: "wait h", decimals: 2, value: |run| hours(run.training.wait_mean_seconds) },
    Column { title: "P90 h", decimals: 2, value: |run| hours(run.training.wait_p90_seconds) },
    Column { title: "training", decimals: 0, value: |run| run.training.gpu_hours },
    Column { title: "lost", decimals: 0, value: |run| run.training.lost_gpu_hours },
    Column { title: "done", decimals: 0, value: |run| run.training.done as f64 },
    Column { title: "left", decimals: 0, value: |run| run.training.unfinished as f64 },
    Column { title: "stops", decimals: 0, value: |run| run.training.preemptions as f64 },
    Column { title: "service", decimals: 0, value: |run| run.service.gpu_hours },
    Column { title: "no place %", decimals: 2, value: |run| run.service.without_place * 100.0 },
    Column {
        title: "below min",
        decimals: 1,
        value: |run| most_minutes_of_queues(run, |one| one.longest_seconds),
    },
    Column {
        title: "beyond min",
        decimals: 1,
        value: |run| most_minutes_of_queues(run, |one| one.beyond_protection_seconds),
    },
];

fn percent(ratio: Option<f64>) -> f64 {
    ratio.map_or(f64::NAN, |ratio| ratio * 100.0)
}

fn hours(seconds: Option<f64>) -> f64 {
    seconds.map_or(f64::NAN, |seconds| seconds / 3600.0)
}

/// The largest of all queues, in minutes.
fn most_minutes_of_queues(run: &Figures, seconds: fn(&BelowQuota) -> f64) -> f64 {
    run.below_quota.iter().map(seconds).fold(0.0, f64::max) / 60.0
}
