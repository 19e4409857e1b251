//! Jobs with idle GPUs as a table.

use super::jobs;
use super::table::{Cell, Column, Table, Tint};
use super::time::elapsed;
use super::user_names;
use common::hostlist::compress;
use common::wire::api::IdleGpuList;

const COLUMNS: [Column; 8] = [
    Column::new("ID").with_min_width(12),
    Column::new("NAME").with_min_width(10),
    Column::new("USER").with_min_width(8),
    Column::new("QUEUE").with_min_width(8).with_drop_order(0),
    Column::new("GPUS").right_aligned(),
    Column::new("IDLE").right_aligned(),
    Column::new("IDLE FOR").right_aligned(),
    Column::new("NODES").with_min_width(8),
];

/// Jobs with idle GPUs, one per row.
#[must_use]
pub fn table(list: &IdleGpuList) -> Table {
    let mut table = Table::new(&COLUMNS, &["NODES", "NAME", "USER", "QUEUE", "ID"]);
    for one in &list.jobs {
        let job = &one.job;
        table.add_row(vec![
            Cell::from(job.name().to_string()),
            Cell::from(&job.ask.name),
            Cell::from(user_names::owner(&job.owner)),
            Cell::from(job.ask.queue.as_ref().map_or("-", |queue| queue.as_str())),
            Cell::from(jobs::gpus(job)),
            Cell::from(one.idle_gpus.to_string()).with_tint(Tint::Bad),
            Cell::from(elapsed(Some(one.idle_since), None, list.as_of)),
            Cell::from(compress(&one.idle_nodes)),
        ]);
    }
    table
}
