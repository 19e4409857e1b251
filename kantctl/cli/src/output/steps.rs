//! Steps of jobs as a table.

use super::table::{Cell, Column, Table, Tint};
use super::time::{elapsed, local};
use common::job::StepRecord;
use common::time::Time;
use common::wire::api::HistoryRun;
use jiff::tz::TimeZone;

const COLUMNS: [Column; 9] = [
    Column::new("STEP"),
    Column::new("NAME").with_min_width(10),
    Column::new("TASKS").right_aligned(),
    Column::new("CPUS").right_aligned().with_drop_order(0),
    Column::new("GPUS").right_aligned(),
    Column::new("STARTED").with_drop_order(1),
    Column::new("TIME").right_aligned(),
    Column::new("EXIT").right_aligned(),
    Column::new("WHERE").with_min_width(12),
];

/// The steps of runs, one per row.
#[must_use]
pub fn table(runs: &[HistoryRun], as_of: Time, zone: &TimeZone) -> Table {
    let mut table = Table::new(&COLUMNS, &["WHERE", "NAME"]);
    for run in runs {
        for step in &run.steps {
            let gpus = step.gpus.unwrap_or(run.job.gpus.0);
            table.add_row(vec![
                Cell::from(format!("{}.{}", run.job.key, step.number)),
                Cell::from(&step.name),
                Cell::from(step.tasks),
                Cell::from(step.cpus),
                Cell::from(gpus),
                Cell::from(local(step.started_at, zone)),
                Cell::from(elapsed(Some(step.started_at), step.ended_at, as_of)),
                exit(step),
                Cell::from(&step.nodes),
            ]);
        }
    }
    table
}

fn exit(step: &StepRecord) -> Cell {
    match step.exit {
        None => Cell::from("-"),
        Some(exit) if exit.is_success() => Cell::from(exit),
        Some(exit) => Cell::from(exit).with_tint(Tint::Bad),
    }
}
