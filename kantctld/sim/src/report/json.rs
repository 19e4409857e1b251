//! The metrics as JSON, under the keys that scripts rely on. Ratios are from 0 to 1, and a missing
//! number is null.

use super::summary::Percentiles;
use super::waits::seconds;
use super::{SizeClass, Stretch, Summary, TeamOutcome, Waits};
use serde::{Serialize, Serializer};

/// The keys, in the order in which they are written.
#[derive(Serialize)]
struct Document<'a> {
    trace: &'a str,
    policy: &'a str,
    placement: &'a str,
    seed: u64,
    jobs: usize,
    unfinished: usize,
    never_fit: usize,
    refused: usize,
    makespan_s: Option<f64>,
    sor: Option<f64>,
    sor_course: Course,
    gar_mean: Option<f64>,
    gar_course: Course,
    gar_queued_mean: Option<f64>,
    gfr_mean: Option<f64>,
    gfr_queued_mean: Option<f64>,
    fr8_mean: Option<f64>,
    whole_free_nodes_mean: Option<f64>,
    whole_free_leaf_groups_mean: Option<f64>,
    contended: Option<f64>,
    queue_max: u32,
    wait_s: Distribution,
    #[serde(serialize_with = "by_name")]
    wait_s_by_gpus: &'a [(SizeClass, Waits)],
    bounded_slowdown_mean: Option<f64>,
    starts: u64,
    starts_per_cpu_second: Option<f64>,
    preemptions: u64,
    jtted: Stretch,
    #[serde(skip_serializing_if = "Option::is_none")]
    jain_mean: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    share_error_mean: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    queues: Vec<Team<'a>>,
}

/// One of several queues.
#[derive(Serialize)]
struct Team<'a> {
    queue: &'a str,
    quota_gpus: Option<f64>,
    below_quota_max_s: f64,
    below_quota_by_one_gpu_max_s: f64,
}

impl<'a> From<&'a TeamOutcome> for Team<'a> {
    fn from(team: &'a TeamOutcome) -> Self {
        Self {
            queue: team.queue.as_str(),
            quota_gpus: team.quota.map(|quota| f64::from(quota.0) / 1000.0),
            below_quota_max_s: seconds(team.below.0),
            below_quota_by_one_gpu_max_s: seconds(team.below_by_one.0),
        }
    }
}

#[derive(Serialize)]
struct Course {
    p10: Option<f64>,
    p50: Option<f64>,
    p90: Option<f64>,
}

impl From<Percentiles> for Course {
    fn from(Percentiles { p10, p50, p90 }: Percentiles) -> Self {
        Self { p10, p50, p90 }
    }
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

fn by_name<S: Serializer>(waits: &&[(SizeClass, Waits)], serializer: S) -> Result<S::Ok, S::Error> {
    let named = waits.iter().map(|(class, waits)| (class.name(), Distribution::from(*waits)));
    serializer.collect_map(named)
}

impl Summary {
    /// The metrics as a JSON object, ending in a newline.
    #[must_use]
    pub fn to_json(&self) -> String {
        let document = self.document();
        // Strings, numbers and maps of them can always be serialized.
        let text = serde_json::to_string_pretty(&document).unwrap_or_default();
        format!("{text}\n")
    }

    fn document(&self) -> Document<'_> {
        Document {
            trace: &self.trace,
            policy: &self.policy,
            placement: &self.placement,
            seed: self.seed,
            jobs: self.jobs,
            unfinished: self.unfinished,
            never_fit: self.never_fit,
            refused: self.refused,
            makespan_s: self.makespan_seconds,
            sor: self.sor,
            sor_course: self.sor_course.into(),
            gar_mean: self.gar_mean,
            gar_course: self.gar.into(),
            gar_queued_mean: self.gar_queued_mean,
            gfr_mean: self.gfr_mean,
            gfr_queued_mean: self.gfr_queued_mean,
            fr8_mean: self.fr8_mean,
            whole_free_nodes_mean: self.whole_free_nodes_mean,
            whole_free_leaf_groups_mean: self.whole_free_leaf_groups_mean,
            contended: self.contended,
            queue_max: self.queue_max,
            wait_s: self.wait.into(),
            wait_s_by_gpus: &self.wait_by_size,
            bounded_slowdown_mean: self.bounded_slowdown_mean,
            starts: self.starts,
            starts_per_cpu_second: self.starts_per_cpu_second,
            preemptions: self.preemptions,
            jtted: self.stretch,
            jain_mean: self.jain_mean,
            share_error_mean: self.share_error_mean,
            queues: self.teams.iter().map(Team::from).collect(),
        }
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
