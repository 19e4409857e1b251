//! Priorities as a table, and the factors of one job as a record.

use super::record::Record;
use super::table::{Cell, Column, Table};
use common::policy::Order;
use common::wire::api::{FactorView, PriorityView};

/// The factors that have a column, in the order of the columns.
const FACTORS: [&str; 6] = ["age", "size", "queue", "qos", "fair-share", "nice"];

const COLUMNS: [Column; 11] = [
    Column::new("ID").with_min_width(12),
    Column::new("USER").with_min_width(8),
    Column::new("QUEUE").with_min_width(8),
    Column::new("ORDER").with_drop_order(0),
    Column::new("PRIORITY").right_aligned(),
    Column::new("AGE").right_aligned(),
    Column::new("SIZE").right_aligned(),
    Column::new("QUEUE").right_aligned(),
    Column::new("QOS").right_aligned(),
    Column::new("FAIR").right_aligned(),
    Column::new("NICE").right_aligned(),
];

/// Waiting jobs in queue order, one per row, with the points of each factor.
#[must_use]
pub fn table(jobs: &[PriorityView]) -> Table {
    let mut table = Table::new(&COLUMNS, &["USER", "ID"]);
    for job in jobs {
        let points = |name: &str| job.factors.iter().find(|factor| factor.name == name);
        let points = |name| points(name).map_or_else(|| "-".to_owned(), |f| f.points.to_string());
        let own = [
            Cell::from(job.key),
            Cell::from(&job.user),
            Cell::from(&job.queue),
            Cell::from(order(job.order)),
            Cell::from(total(job)),
        ];
        table
            .add_row(own.into_iter().chain(FACTORS.map(|name| Cell::from(points(name)))).collect());
    }
    table
}

fn total(job: &PriorityView) -> String {
    match job.order {
        Order::Fifo => "-".to_owned(),
        Order::Multifactor => job.total.to_string(),
    }
}

#[must_use]
pub const fn order(order: Order) -> &'static str {
    match order {
        Order::Fifo => "fifo",
        Order::Multifactor => "multifactor",
    }
}

/// One job with the weight, value and points of each factor.
#[must_use]
pub fn record(job: &PriorityView) -> String {
    let mut record = Record::default();
    record.fact("job", job.key);
    record.fact("owner", &job.user);
    record.fact("queue", format!("{} ({})", job.queue, order(job.order)));
    record.add_optional_fact(
        "position",
        job.position.map(|place| format!("{place} of the waiting jobs")),
    );
    record.fact("priority", total(job));
    let (ranked, added) = ("ranked by, first to last", "points = weight x value");
    let title = if job.order == Order::Fifo { ranked } else { added };
    record.list(title, job.factors.iter().map(|factor| line(factor, job.order)));
    record.text()
}

fn line(factor: &FactorView, order: Order) -> String {
    let FactorView { name, weight, value, points } = factor;
    match order {
        Order::Fifo => format!("{name:<11} {value}"),
        Order::Multifactor => format!("{name:<11} {points:>8} = {weight:>8} x {value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn jobs() -> Vec<PriorityView> {
        let factor = |name: &str, weight: i64, value: f64, points: i64| {
            let (name, weight, value) = (json!(name), json!(weight), json!(value));
            json!({ "name": name, "weight": weight, "value": value, "points": points })
        };
        let jobs = json!([
            { "key": "42", "user": "ada", "queue": "gpu", "order": "multifactor", "total": 7_250,
              "factors": [factor("age", 1000, 0.25, 250), factor("queue", 10_000, 0.7, 7_000),
                          factor("nice", -1, 0.0, 0)], "position": 1 },
            { "key": "43_7", "user": "bob", "queue": "main", "order": "fifo", "total": 0,
              "factors": [factor("queue", 0, 3.0, 0)], "position": null }
        ]);
        serde_json::from_value(jobs).unwrap()
    }

    #[test]
    fn the_table_shows_the_points_of_each_factor() {
        let expected = "\
ID    USER  QUEUE  ORDER        PRIORITY  AGE  SIZE  QUEUE  QOS  FAIR  NICE
42    ada   gpu    multifactor      7250  250     -   7000    -     -     0
43_7  bob   main   fifo                -    -     -      0    -     -     -
";
        assert_eq!(table(&jobs()).render(Some(100), false), expected);
    }

    #[test]
    fn one_job_shows_weights_and_values() {
        let text = record(&jobs()[0]);
        let text = anstream::adapter::strip_str(&text).to_string();
        assert!(text.contains("priority    7250\n"), "{text}");
        assert!(text.contains("  queue           7000 =    10000 x 0.700\n"), "{text}");
        let fifo = anstream::adapter::strip_str(&record(&jobs()[1])).to_string();
        assert!(fifo.contains("queue       main (fifo)\n") && fifo.contains("ranked by"), "{fifo}");
    }
}
