//! The metrics as JSON, under the keys that scripts rely on. Ratios are from 0 to 1, and a missing
//! number is null.

use super::waits::seconds;
use super::{SizeClass, Summary, TeamOutcome, Waits};
use serde::{Serialize, Serializer};

/// One of several queues.
#[derive(Serialize)]
struct Queue<'a> {
    queue: &'a str,
    quota_gpus: Option<f64>,
    below_quota_max_s: f64,
    below_quota_by_one_gpu_max_s: f64,
}

#[derive(Serialize)]
struct Distribution {
    jobs: usize,
    mean: Option<f64>,
    p50: Option<f64>,
    p90: Option<f64>,
    p99: Option<f64>,
    max: Option<f64>,
}

impl From<Waits> for Distribution {
    fn from(Waits { jobs, mean, p50, p90, p99, max }: Waits) -> Self {
        Self { jobs, mean, p50, p90, p99, max }
    }
}

pub fn waits<S: Serializer>(waits: &Waits, serializer: S) -> Result<S::Ok, S::Error> {
    Distribution::from(*waits).serialize(serializer)
}

pub fn by_name<S: Serializer>(
    waits: &[(SizeClass, Waits)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let named = waits.iter().map(|(class, waits)| (class.name(), Distribution::from(*waits)));
    serializer.collect_map(named)
}

pub fn queues<S: Serializer>(teams: &[TeamOutcome], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(teams.iter().map(|team| Queue {
        queue: team.queue.as_str(),
        quota_gpus: team.quota.map(|quota| f64::from(quota.0) / 1000.0),
        below_quota_max_s: seconds(team.below.0),
        below_quota_by_one_gpu_max_s: seconds(team.below_by_one.0),
    }))
}

impl Summary {
    /// The metrics as a JSON object, ending in a newline.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Strings, numbers and maps of them can always be serialized.
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        format!("{text}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::super::stretch::tests::two_nodes;
    use super::*;
    use serde_json::Value;

    #[test]
    fn the_keys_that_scripts_rely_on_are_there() {
        let json: Value = serde_json::from_str(&Summary::of(&two_nodes()).to_json()).unwrap();
        for key in [
            "jobs",
            "makespan_s",
            "sor",
            "gar_mean",
            "gar_queued_mean",
            "gfr_mean",
            "gfr_queued_mean",
            "fr8_mean",
            "bounded_slowdown_mean",
            "starts_per_cpu_second",
        ] {
            assert!(json[key].is_number(), "{key}");
        }
        for key in ["mean", "p50", "p90", "p99"] {
            assert!(json["wait_s"][key].is_number(), "{key}");
            assert!(json["wait_s_by_gpus"]["8"][key].is_number(), "{key}");
        }
        let classes = json["wait_s_by_gpus"].as_object().unwrap();
        assert_eq!(classes.len(), 5);
        assert!(["1", "2-7", "8", "9-32", ">32"].iter().all(|class| classes.contains_key(*class)));
        assert_eq!(json["wait_s_by_gpus"]["1"]["jobs"], 0);
        assert_eq!(json["wait_s_by_gpus"]["1"]["p50"], Value::Null);
        assert_eq!(json["jtted"]["dev_node"], 1.0);
    }
}
