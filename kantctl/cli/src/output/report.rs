//! A usage report as tables and CSV.

use super::columns::quoted;
use super::record::Record;
use super::table::{Cell, Column, Table};
use super::time::local;
use common::wire::api::{NodeStretch, NodeUse, ReportView, RunGroup};
use jiff::tz::TimeZone;

/// A grouping of a report's rows: its name, its title, and the value of a group.
pub(super) type Key = (&'static str, &'static str, fn(&RunGroup) -> String);

const KEYS: &[Key] = &[
    ("user", "USER", |group| group.user.clone().unwrap_or_default()),
    ("account", "ACCOUNT", |group| group.account.clone().unwrap_or_default()),
    ("queue", "QUEUE", |group| group.queue.clone().unwrap_or_default()),
    ("qos", "QOS", |group| group.qos.clone().unwrap_or_default()),
    ("state", "STATE", |group| group.state.clone().unwrap_or_default()),
    ("gpus", "GPUS", |group| number(group.gpus)),
    ("cpus", "CPUS", |group| number(group.cpus)),
    ("nodes", "NODES", |group| number(group.nodes)),
];

fn number(number: Option<u32>) -> String {
    number.map(|number| number.to_string()).unwrap_or_default()
}

/// The groupings with these names.
pub(super) fn grouping_keys(by: &str) -> Vec<&'static Key> {
    let words = by.split(',').map(str::trim);
    words.filter_map(|word| KEYS.iter().find(|(name, ..)| *name == word)).collect()
}

/// Hours with one decimal.
#[must_use]
pub fn hours(milliseconds: u64) -> String {
    let tenths = milliseconds / 360_000;
    format!("{}.{}", tenths / 10, tenths % 10)
}

/// Hours with three decimals.
pub(super) fn exact_hours(milliseconds: u64) -> String {
    format!("{}.{:03}", milliseconds / 3_600_000, milliseconds % 3_600_000 / 3600)
}

/// The cluster's capacity and its usage.
#[must_use]
pub fn cluster(report: &ReportView, zone: &TimeZone) -> String {
    let mut record = Record::default();
    let (since, until) = (local(report.since, zone), local(report.until, zone));
    record.fact("from", format!("{since} to {until}"));
    let sum = Sums::of(report);
    for (label, of) in
        [("GPU-hours", Sums::gpus as fn(&Sums) -> Amounts), ("CPU-hours", Sums::cpus)]
    {
        let amounts = of(&sum);
        if amounts.all > 0 || amounts.used > 0 {
            record.fact(label, amounts.sentence());
        }
    }
    record.text()
}

/// The cluster's GPU and CPU time by state of the nodes.
#[derive(Debug, Default)]
pub struct Sums {
    used: NodeStretch,
    up: NodeStretch,
    drained: NodeStretch,
    down: NodeStretch,
}

/// The time of GPUs or of CPUs, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Amounts {
    pub used: u64,
    /// On nodes that were down.
    pub down: u64,
    /// On drained nodes, without what running jobs used there.
    pub drained: u64,
    pub idle: u64,
    pub all: u64,
}

impl Sums {
    #[must_use]
    pub fn of(report: &ReportView) -> Self {
        let mut sums = Self::default();
        for row in &report.rows {
            sums.used.gpu_milliseconds += row.gpu_milliseconds;
            sums.used.cpu_milliseconds += row.cpu_milliseconds;
        }
        for NodeUse { up, drained, down, .. } in &report.nodes {
            for (sum, more) in
                [(&mut sums.up, up), (&mut sums.drained, drained), (&mut sums.down, down)]
            {
                sum.gpu_milliseconds += more.gpu_milliseconds;
                sum.cpu_milliseconds += more.cpu_milliseconds;
            }
        }
        sums
    }

    #[must_use]
    pub fn gpus(&self) -> Amounts {
        self.amounts(|stretch| stretch.gpu_milliseconds)
    }

    #[must_use]
    pub fn cpus(&self) -> Amounts {
        self.amounts(|stretch| stretch.cpu_milliseconds)
    }

    /// Jobs keep running while their node is drained or down: usage counts first against the time
    /// up, then against the rest.
    fn amounts(&self, of: impl Fn(&NodeStretch) -> u64) -> Amounts {
        let [used, up, drained, down] = [&self.used, &self.up, &self.drained, &self.down].map(of);
        let beyond = used.saturating_sub(up);
        let left = drained.saturating_sub(beyond);
        Amounts {
            used,
            down: down.saturating_sub(beyond.saturating_sub(drained)),
            drained: left,
            idle: up.saturating_sub(used),
            all: (up + drained + down).max(used),
        }
    }
}

impl Amounts {
    fn sentence(&self) -> String {
        let part = |label: &str, amount: u64| {
            format!("{} {label} ({})", hours(amount), percent(amount, self.all))
        };
        let parts = [
            part("used", self.used),
            part("idle", self.idle),
            part("drained", self.drained),
            part("down", self.down),
        ];
        format!("{} in total: {}", hours(self.all), parts.join(", "))
    }
}

/// `12.3%`.
#[must_use]
pub fn percent(part: u64, all: u64) -> String {
    let permille = u128::from(part) * 1000 / u128::from(all.max(1));
    format!("{}.{}%", permille / 10, permille % 10)
}

/// The usage, one row per group.
#[must_use]
pub fn table(by: &str, report: &ReportView) -> Table {
    let keys = grouping_keys(by);
    let sums = Sums::of(report);
    let has_gpus = sums.used.gpu_milliseconds > 0;
    let all = if has_gpus { sums.used.gpu_milliseconds } else { sums.used.cpu_milliseconds };
    let mut columns: Vec<Column> = keys.iter().map(|(_, title, _)| Column::new(title)).collect();
    let numbers = ["RUNS", "GPU-HOURS", "CPU-HOURS", "SHARE"];
    columns.extend(numbers.map(|title| Column::new(title).right_aligned()));
    let mut table = Table::new(&columns, &[]);
    for row in &report.rows {
        let mut cells: Vec<Cell> =
            keys.iter().map(|(.., of)| Cell::from(dash(of(&row.group)))).collect();
        let own = if has_gpus { row.gpu_milliseconds } else { row.cpu_milliseconds };
        cells.extend([
            Cell::from(row.runs),
            Cell::from(hours(row.gpu_milliseconds)),
            Cell::from(hours(row.cpu_milliseconds)),
            Cell::from(percent(own, all)),
        ]);
        table.add_row(cells);
    }
    table
}

pub(super) fn dash(text: String) -> String {
    if text.is_empty() { "-".to_owned() } else { text }
}

/// The usage as CSV.
#[must_use]
pub fn csv(by: &str, report: &ReportView) -> String {
    let keys = grouping_keys(by);
    let mut text = csv_names(&keys);
    text.push_str("runs,gpu_hours,cpu_hours\n");
    for row in &report.rows {
        text.push_str(&csv_values(&keys, &row.group));
        let (gpu, cpu) = (exact_hours(row.gpu_milliseconds), exact_hours(row.cpu_milliseconds));
        text.push_str(&format!("{},{gpu},{cpu}\n", row.runs));
    }
    text
}

/// The names of groupings as the begin of a CSV header.
pub(super) fn csv_names(keys: &[&Key]) -> String {
    keys.iter().map(|(name, ..)| format!("{name},")).collect()
}

/// The values of a group as the begin of a CSV line.
pub(super) fn csv_values(keys: &[&Key], group: &RunGroup) -> String {
    keys.iter().map(|(.., of)| format!("{},", quoted(&of(group)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::wire::api::ReportRow;

    const HOUR: u64 = 3_600_000;

    fn stretch(hours: u64) -> NodeStretch {
        NodeStretch { gpu_milliseconds: hours * HOUR, cpu_milliseconds: hours * 10 * HOUR }
    }

    #[test]
    fn usage_on_drained_nodes_is_not_counted_twice() {
        let sums =
            Sums { used: stretch(12), up: stretch(10), drained: stretch(5), down: stretch(1) };
        let gpus = sums.gpus();
        let expected =
            Amounts { used: 12 * HOUR, down: HOUR, drained: 3 * HOUR, idle: 0, all: 16 * HOUR };
        assert_eq!(gpus, expected);
        assert_eq!(
            gpus.sentence(),
            "16.0 in total: 12.0 used (75.0%), 0.0 idle (0.0%), 3.0 drained (18.7%), \
             1.0 down (6.2%)"
        );
    }

    #[test]
    fn the_table_shows_shares_and_csv_has_three_decimals() {
        let row = |user: &str, hours: u64| ReportRow {
            group: RunGroup { user: Some(user.to_owned()), ..RunGroup::default() },
            runs: 2,
            gpu_milliseconds: hours * HOUR + 3600,
            cpu_milliseconds: 5,
        };
        let report =
            ReportView { rows: vec![row("ada", 3), row("a,b", 1)], ..ReportView::default() };
        let text = table("user", &report).render(None, false);
        let expected = "USER  RUNS  GPU-HOURS  CPU-HOURS  SHARE
ada      2        3.0        0.0  74.9%
a,b      2        1.0        0.0  25.0%
";
        assert_eq!(text, expected);
        let expected = "user,runs,gpu_hours,cpu_hours\nada,2,3.001,0.000\n\"a,b\",2,1.001,0.000\n";
        assert_eq!(csv("user", &report), expected);
    }
}
