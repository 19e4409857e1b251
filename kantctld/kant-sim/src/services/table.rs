//! The figures of replays of requests.

use crate::table::Column;
use sim::service::Outcome;

pub const COLUMNS: &[Column<Outcome>] = &[
    Column { title: "misses %", decimals: 2, value: |outcome| outcome.miss_fraction * 100.0 },
    Column { title: "wait mean s", decimals: 2, value: |outcome| outcome.wait_mean_seconds },
    Column { title: "P99 s", decimals: 1, value: |outcome| outcome.wait_p99_seconds },
    Column { title: "GPU-hours", decimals: 1, value: |outcome| outcome.gpu_hours },
    Column { title: "busy %", decimals: 1, value: |outcome| outcome.busy_fraction * 100.0 },
    Column { title: "changes", decimals: 0, value: |outcome| outcome.changes as f64 },
    Column { title: "starts", decimals: 0, value: |outcome| outcome.starts as f64 },
    Column { title: "most", decimals: 0, value: |outcome| f64::from(outcome.replicas_max.0) },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Row, table};
    use common::autoscale::Replicas;

    fn outcome(gpu_hours: f64) -> Outcome {
        Outcome {
            policy: "kpa".into(),
            requests: 100,
            misses: 1,
            miss_fraction: 0.01,
            wait_mean_seconds: 0.5,
            wait_p99_seconds: 4.0,
            wait_max_seconds: 7.0,
            gpu_hours,
            busy_fraction: 0.75,
            changes: 3,
            starts: 4,
            replicas_max: Replicas(5),
            steps: Vec::new(),
        }
    }

    #[test]
    fn each_figure_stands_under_its_title() {
        let outcome = outcome(8.0);
        let rows = [Row { policy: "kpa".into(), outcomes: vec![&outcome] }];
        assert_eq!(
            table(COLUMNS, &rows),
            "policy  misses %  wait mean s  P99 s  GPU-hours  busy %  changes  starts  most\n\
             kpa         1.00         0.50    4.0        8.0    75.0        3       4     5\n"
        );
    }
}
