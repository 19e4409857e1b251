//! Time limits compared with run times, as a table and CSV.

use super::report::{Key, csv_names, csv_values, dash, exact_hours, grouping_keys, hours};
use super::table::{Cell, Column, Table};
use common::wire::api::{EstimatesRow, EstimatesView};

/// One row per group.
#[must_use]
pub fn table(by: &str, view: &EstimatesView) -> Table {
    let keys = grouping_keys(by);
    let has_gpus = view.rows.iter().any(|row| row.gpu_milliseconds_unused > 0);
    let mut columns: Vec<Column> = keys.iter().map(|(_, title, _)| Column::new(title)).collect();
    let unused = if has_gpus { "GPU-HOURS UNUSED" } else { "CPU-HOURS UNUSED" };
    let numbers = ["RUNS", "TIMEOUTS", "LIMIT", "RUN", "HALF USED", "95% USED", unused];
    columns.extend(numbers.map(|title| Column::new(title).right_aligned()));
    let mut table = Table::new(&columns, &[]);
    for row in &view.rows {
        table.add_row(cells(&keys, row, has_gpus));
    }
    table
}

fn cells(keys: &[&'static Key], row: &EstimatesRow, has_gpus: bool) -> Vec<Cell> {
    let (gpu, cpu) = (row.gpu_milliseconds_unused, row.cpu_milliseconds_unused);
    let mut cells: Vec<Cell> =
        keys.iter().map(|(.., of)| Cell::from(dash(of(&row.group)))).collect();
    let mean = |sum: u64| hours(sum / row.runs.max(1));
    cells.extend([
        Cell::from(row.runs),
        Cell::from(row.timeouts),
        Cell::from(mean(row.limit_milliseconds)),
        Cell::from(mean(row.run_milliseconds)),
        Cell::from(format!("{}%", row.used_percent_p50)),
        Cell::from(format!("{}%", row.used_percent_p95)),
        Cell::from(hours(if has_gpus { gpu } else { cpu })),
    ]);
    cells
}

/// All numbers as CSV.
#[must_use]
pub fn csv(by: &str, view: &EstimatesView) -> String {
    let keys = grouping_keys(by);
    let mut text = csv_names(&keys);
    text.push_str(
        "runs,timeouts,limit_hours,run_hours,used_percent_p50,used_percent_p95,\
         gpu_hours_unused,cpu_hours_unused\n",
    );
    for row in &view.rows {
        let numbers = [
            row.runs.to_string(),
            row.timeouts.to_string(),
            exact_hours(row.limit_milliseconds),
            exact_hours(row.run_milliseconds),
            row.used_percent_p50.to_string(),
            row.used_percent_p95.to_string(),
            exact_hours(row.gpu_milliseconds_unused),
            exact_hours(row.cpu_milliseconds_unused),
        ];
        text.push_str(&format!("{}{}\n", csv_values(&keys, &row.group), numbers.join(",")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::wire::api::RunGroup;

    const HOUR: u64 = 3_600_000;

    fn view() -> EstimatesView {
        let row = EstimatesRow {
            group: RunGroup { user: Some("ada".to_owned()), ..RunGroup::default() },
            runs: 4,
            timeouts: 1,
            limit_milliseconds: 40 * HOUR,
            run_milliseconds: 6 * HOUR,
            used_percent_p50: 10,
            used_percent_p95: 100,
            gpu_milliseconds_unused: 272 * HOUR,
            cpu_milliseconds_unused: 34 * HOUR,
        };
        EstimatesView { rows: vec![row], ..EstimatesView::default() }
    }

    #[test]
    fn the_table_shows_means_and_csv_shows_sums() {
        let text = table("user", &view()).render(None, false);
        let expected = "\
USER  RUNS  TIMEOUTS  LIMIT  RUN  HALF USED  95% USED  GPU-HOURS UNUSED
ada      4         1   10.0  1.5        10%      100%             272.0
";
        assert_eq!(text, expected);
        let expected = "user,runs,timeouts,limit_hours,run_hours,used_percent_p50,\
                        used_percent_p95,gpu_hours_unused,cpu_hours_unused\n\
                        ada,4,1,40.000,6.000,10,100,272.000,34.000\n";
        assert_eq!(csv("user", &view()), expected);
    }
}
