//! Fair shares as a table: the quota, usage and fair share of each queue, and what it borrows and
//! lends.

use super::sizes::format_gpu_milli;
use super::table::{Cell, Column, Table};
use common::reason::What;
use common::unit::{Bytes, GpuMilli};
use common::wire::api::{ShareList, ShareOf, ShareView};

/// When a column is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ShownWhen {
    Always,
    /// A resource other than GPUs in general is counted.
    Several,
    Shared,
    Used,
}

const COLUMNS: [(ShownWhen, Column); 11] = [
    (ShownWhen::Always, Column::new("QUEUE").with_min_width(8)),
    (ShownWhen::Several, Column::new("OF")),
    (ShownWhen::Shared, Column::new("PRIO").right_aligned().with_drop_order(0)),
    (ShownWhen::Shared, Column::new("WEIGHT").right_aligned().with_drop_order(1)),
    (ShownWhen::Always, Column::new("QUOTA").right_aligned()),
    (ShownWhen::Always, Column::new("HELD").right_aligned()),
    (ShownWhen::Always, Column::new("WAITING").right_aligned()),
    (ShownWhen::Shared, Column::new("SHARE").right_aligned()),
    (ShownWhen::Used, Column::new("USED").right_aligned().with_drop_order(2)),
    (ShownWhen::Always, Column::new("LENT").right_aligned()),
    (ShownWhen::Always, Column::new("BORROWED FROM").with_min_width(13)),
];

/// A row for each queue and resource, queues indented below their parents.
#[must_use]
pub fn table(list: &ShareList) -> Table {
    let all = || list.queues.iter().flat_map(|queue| &queue.of);
    let is_shown = |needs: &ShownWhen| match needs {
        ShownWhen::Always => true,
        ShownWhen::Several => all().any(|of| of.what != What::Gpus || of.gpu_kind.is_some()),
        ShownWhen::Shared => list.fair_sharing,
        ShownWhen::Used => all().any(|of| of.used_ppm.is_some()),
    };
    let shown = COLUMNS.iter().filter(|(needs, _)| is_shown(needs));
    let columns: Vec<Column> = shown.map(|(_, column)| *column).collect();
    let mut table = Table::new(&columns, &["BORROWED FROM", "QUEUE"]);
    for queue in &list.queues {
        for (place, of) in queue.of.iter().enumerate() {
            let cells = cells(queue, of, place == 0);
            let cells = COLUMNS.iter().zip(cells).filter(|((needs, _), _)| is_shown(needs));
            table.add_row(cells.map(|(_, cell)| cell).collect());
        }
    }
    table
}

fn cells(queue: &ShareView, of: &ShareOf, is_first: bool) -> [Cell; 11] {
    let amount = |number: u64| Cell::from(amount(of.what, number));
    let maybe = |number: Option<u64>| number.map_or_else(|| Cell::from("-"), amount);
    let once = |text: String| Cell::from(if is_first { text } else { String::new() });
    [
        once(format!("{}{}", "  ".repeat(queue.depth as usize), queue.queue)),
        Cell::from(resource_name(of)),
        once(queue.priority.to_string()),
        once(queue.weight.to_string()),
        maybe(of.quota),
        amount(of.held),
        amount(of.waiting),
        maybe(of.share),
        Cell::from(of.used_ppm.map_or_else(|| "-".to_owned(), percent)),
        amount(of.lent),
        Cell::from(lenders(of)),
    ]
}

fn resource_name(of: &ShareOf) -> String {
    match (of.what, &of.gpu_kind) {
        (What::Gpus, Some(kind)) => kind.to_string(),
        (What::Gpus, None) => "GPUs".to_owned(),
        (What::Cpus, _) => "CPUs".to_owned(),
        (What::Memory, _) => "memory".to_owned(),
        (What::Jobs, _) => "jobs".to_owned(),
        (What::GpuMinutes, _) => "GPU-minutes".to_owned(),
    }
}

fn amount(what: What, number: u64) -> String {
    match what {
        What::Gpus | What::Cpus => {
            format_gpu_milli(GpuMilli(u32::try_from(number).unwrap_or(u32::MAX)))
        }
        What::Memory => Bytes(number).to_string(),
        What::Jobs | What::GpuMinutes => number.to_string(),
    }
}

fn percent(ppm: u64) -> String {
    format!("{}.{}%", ppm / 10_000, ppm / 1000 % 10)
}

/// `6: ops 4, rest 2`, or `-`.
fn lenders(of: &ShareOf) -> String {
    let lender = |one: &common::wire::api::Lender| {
        let queue = one.queue.as_ref().map_or("rest", common::id::QueueName::as_str);
        format!("{queue} {}", amount(of.what, one.amount))
    };
    match of.from.as_slice() {
        [] => "-".to_owned(),
        [one] => lender(one),
        several => {
            let names: Vec<String> = several.iter().map(lender).collect();
            format!("{}: {}", amount(of.what, of.borrowed), names.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn list(is_fair: bool, queues: Value) -> ShareList {
        let list = json!({ "fair_sharing": is_fair, "as_of": 0, "queues": queues });
        serde_json::from_value(list).unwrap()
    }

    fn of(what: &str, quota: Option<u64>, held: u64) -> Value {
        json!({ "what": what, "quota": quota, "at_most": null, "held": held, "firm": 0,
                "waiting": 0, "share": null, "borrowed": 0, "from": [], "lent": 0 })
    }

    #[test]
    fn without_fair_sharing_no_shares_are_shown() {
        let queue = json!([{ "queue": "main", "depth": 0, "priority": 0, "weight": 1,
                             "of": [of("gpus", None, 500)] }]);
        let expected = "\
QUEUE  QUOTA  HELD  WAITING  LENT  BORROWED FROM
main       -   0.5        0     0  -
";
        assert_eq!(table(&list(false, queue)).render(None, false), expected);
    }

    #[test]
    fn several_resources_are_rows_of_one_queue_and_fit_a_terminal() {
        let mut kind = of("gpus", Some(8000), 12_000);
        (kind["gpu_kind"], kind["share"]) = ("h100".into(), 9000.into());
        kind["borrowed"] = 4000.into();
        kind["from"] = json!([{ "queue": "a-queue-with-a-long-name", "amount": 2000 },
                              { "queue": null, "amount": 2000 }]);
        kind["used_ppm"] = 253_999.into();
        let queue = json!([{ "queue": "main", "depth": 0, "priority": 10, "weight": 1,
            "of": [kind, of("cpus", Some(64_000), 1_000), of("memory", None, 1 << 30)] }]);
        let shown = table(&list(true, queue)).render(Some(80), false);
        let expected = "\
QUEUE  OF      WEIGHT  QUOTA  HELD  WAITING  SHARE   USED  LENT  BORROWED FROM
main   h100         1      8    12        0      9  25.3%     0  4: a-queue-wit…
       CPUs               64     1        0      -      -     0  -
       memory              -    1G       0B      -      -    0B  -
";
        assert_eq!(shown, expected, "{shown}");
        assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    }
}
