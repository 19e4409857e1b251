//! Queues as a table. Never asks for them.

use super::table::{Cell, Column, Table};
use super::time::limit;
use common::hostlist::fold;
use common::queue::Queue;

const COLUMNS: [Column; 6] = [
    Column::new("QUEUE"),
    Column::new("PRIORITY").right(),
    Column::new("DEFAULT-LIMIT").right(),
    Column::new("LIMIT").right(),
    Column::new("MEM/CPU").right(),
    Column::new("NODES").least(16),
];

/// Queues, one a row; a star marks the default.
#[must_use]
pub fn table(queues: &[Queue]) -> Table {
    let mut table = Table::new(&COLUMNS, &["NODES"]);
    for queue in queues {
        let star = if queue.default { "*" } else { "" };
        let nodes = if queue.nodes.is_empty() { "all".to_owned() } else { fold(&queue.nodes) };
        table.row(vec![
            Cell::from(format!("{}{star}", queue.name)),
            Cell::from(queue.priority),
            Cell::from(limit(queue.time_limit_default)),
            Cell::from(limit(queue.time_limit_max)),
            Cell::from(queue.memory_per_cpu),
            Cell::from(nodes),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::id::{NodeName, QueueName};
    use common::time::Span;
    use common::unit::Bytes;

    #[test]
    fn queues_show_their_limits_and_the_default() {
        let queue = |name: &str, default| Queue {
            default,
            priority: 10,
            time_limit_default: Some(Span::from_minutes(60)),
            memory_per_cpu: Bytes::from_mib(2048),
            ..Queue::plain(QueueName::new(name).unwrap())
        };
        let mut few = queue("debug", false);
        few.nodes = ["g1", "g2"].map(|n| NodeName::new(n).unwrap()).to_vec();
        let expected = "\
QUEUE  PRIORITY  DEFAULT-LIMIT  LIMIT  MEM/CPU  NODES
gpu*         10       01:00:00      -       2G  all
debug        10       01:00:00      -       2G  g[1-2]
";
        assert_eq!(table(&[queue("gpu", true), few]).render(None, false), expected);
    }
}
