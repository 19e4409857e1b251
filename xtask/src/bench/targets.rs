//! The targets of figures on the test machine with 2 cores, by the figures' names. A missed target
//! is shown in the table and is not a failure.

/// The lower bound of a rate, the upper bound of any other figure.
const TARGETS: &[(&str, f64)] = &[
    ("submissions/s, CLI, 1 client", 400.0),
    ("submissions/s, CLI, 8 clients", 800.0),
    ("submits/s, 1 controller, 8 clients", 8_000.0),
    ("submit to first command, idle", 15.0),
    ("run true, idle", 25.0),
    ("200 trivial jobs", 300.0),
    ("200 trivial jobs to completion", 300.0),
    ("batch submit, 1000 nodes", 40_000.0),
    ("submit until it runs, idle, 1000 nodes", 15.0),
    ("zero-length jobs, submit to end of all, 1000 nodes", 5_000.0),
    ("fill by mixed jobs, 1000 nodes", 2_000.0),
    ("longest wait of a client meanwhile, 1000 nodes", 50.0),
    ("longest wait of a client meanwhile, 10000 nodes", 50.0),
    ("list them as tables show them, 1000 nodes", 30.0),
    ("kantctl queue, 10000 jobs wait", 30.0),
    ("squeue, 10000 jobs wait", 30.0),
    ("kantctl submit --array=1-1000", 5.0),
    ("kantctl submit --array=1-100000", 10.0),
    ("longest write meanwhile: release an array of 99990", 50.0),
    ("longest write meanwhile: hold an array of 99990", 50.0),
    ("longest write meanwhile: update an array of 99990", 50.0),
    ("longest write meanwhile: cancel an array of 99990", 50.0),
    ("longest write meanwhile: requeue an array of 99990", 50.0),
    ("longest write meanwhile: kill on invalid dependency: an array of 99990", 50.0),
    ("kill -9 to first read, 95000 jobs wait", 1_000.0),
    ("kantctld CPU, idle, 10000 nodes", 10.0),
    ("kantd RSS, idle, 8 GPUs", 20.0),
    ("p50 added at 2000/s, router", 1_000.0),
    ("p99 added at 2000/s, router", 3_000.0),
    ("CPU time for a request, router / nginx", 1.5),
    ("CPU time for a request, router / haproxy", 1.5),
    ("death of a replica until another one answers", 1_000.0),
    ("scale by 4 replicas until they run", 2_000.0),
    ("1000 services x 4 replicas at rest", 10.0),
    ("1-task steps launched and ended, 200 at once", 200.0),
];

/// Whether the unit is that of a rate, where higher is better.
pub fn is_rate(unit: &str) -> bool {
    unit.ends_with("/s")
}

/// `>= 400, met` or `< 15, missed`; empty without a target.
pub fn verdict(what: &str, unit: &str, median: f64) -> String {
    let Some((_, target)) = TARGETS.iter().find(|(name, _)| *name == what) else {
        return String::new();
    };
    let (sign, is_met) = match is_rate(unit) {
        true => (">=", median >= *target),
        false => ("<", median < *target),
    };
    format!("{sign} {target}, {}", if is_met { "met" } else { "missed" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_has_a_lower_bound_and_a_time_an_upper_bound() {
        let one = "submissions/s, CLI, 1 client";
        assert_eq!(verdict(one, "1/s", 400.0), ">= 400, met");
        assert_eq!(verdict(one, "1/s", 399.9), ">= 400, missed");
        assert_eq!(verdict("submit to first command, idle", "ms", 14.9), "< 15, met");
        assert_eq!(verdict("submit to first command, idle", "ms", 15.0), "< 15, missed");
        assert_eq!(verdict("a figure without a target", "ms", 1.0), "");
    }
}
