//! Rule cases about the time for which jobs are protected after their start.

use super::reading::{Missing, name, number};
use super::{Says, allowed_result};
use common::time::Span;
use engine::shares::runtime::{
    Method, Protection, is_protected, leaves_least, preempt_protection, reclaim_protection,
};
use engine::shares::tree::QueueAt;
use serde_json::Value;

/// The queues of a case, and another one that it names in addition.
struct Queues(Vec<Value>);

impl Queues {
    fn new(given: &Value) -> Self {
        let mut all = given["queues"].as_array().cloned().unwrap_or_default();
        for key in ["victim_queue", "claimant_queue"] {
            let one = &given[key];
            let is_new = !all.iter().any(|known| known["id"] == one["id"]);
            if one.is_object() && is_new {
                all.push(one.clone());
            }
        }
        Self(all)
    }

    fn path(&self, id: &str) -> Vec<QueueAt> {
        let mut path = Vec::new();
        let mut at = self.0.iter().position(|queue| queue["id"] == id);
        while let Some(here) = at.filter(|here| !path.contains(&QueueAt(*here))) {
            path.push(QueueAt(here));
            let above = &self.0[here]["parent"];
            at = self.0.iter().position(|queue| above.is_string() && queue["id"] == *above);
        }
        path
    }

    fn protection_of(&self, at: QueueAt) -> Protection {
        let span = |key: &str| self.0[at.0][key].as_u64().map(Span::from_seconds);
        Protection {
            preempt: span("preempt_min_runtime_s"),
            reclaim: span("reclaim_min_runtime_s"),
            ..Protection::default()
        }
    }
}

fn method(given: &Value) -> Method {
    if given["method"] == "queue" { Method::Queue } else { Method::Lca }
}

pub(super) fn evaluate(case: &Value) -> Result<Says, Missing> {
    let given = &case["given"];
    match case["rule"].as_str().unwrap_or_default() {
        "preempt_min_runtime" | "reclaim_min_runtime" => Ok(protected_runtime(case)),
        _ => is_preemption_allowed(case, given),
    }
}

fn protected_runtime(case: &Value) -> Says {
    let given = &case["given"];
    let queues = Queues::new(given);
    let default = |key: &str| Span::from_seconds(number(given, key) as u64);
    let victim = &given["victim_queue"];
    let path = |queue: &Value| queues.path(&name(queue, "id"));
    let (span, is_error) = if case["rule"] == "preempt_min_runtime" {
        let default = default("default_preempt_s");
        (
            preempt_protection(&path(victim), |at| queues.protection_of(at), default),
            victim.is_null(),
        )
    } else {
        let default = default("default_reclaim_s");
        let claimant = &given["claimant_queue"];
        // A missing queue cannot occur in kant, where each job has a queue. The importer reports
        // it, and names the default.
        let is_error = claimant.is_null() || victim.is_null();
        let paths = (path(claimant), path(victim));
        let span = if is_error {
            default
        } else {
            reclaim_protection(
                (&paths.0, &paths.1),
                method(given),
                |at| queues.protection_of(at),
                default,
            )
        };
        (span, is_error)
    };
    Says::from([
        ("is_error".to_owned(), Value::from(is_error)),
        ("seconds".to_owned(), Value::from(span.0 / 1000)),
    ])
}

fn is_preemption_allowed(case: &Value, given: &Value) -> Result<Says, Missing> {
    let queues = Queues::new(given);
    let (claimant, victim) = (&given["claimant"], &given["victim"]);
    let path = |job: &Value| queues.path(&name(job, "queue"));
    let says = |at: QueueAt| queues.protection_of(at);
    let default = |key: &str| Span::from_seconds(number(given, key) as u64);
    let rule = case["rule"].as_str().unwrap_or_default();
    let least = if rule.starts_with("preempt") {
        preempt_protection(&path(victim), says, default("default_preempt_s"))
    } else {
        let paths = (path(claimant), path(victim));
        reclaim_protection((&paths.0, &paths.1), method(given), says, default("default_reclaim_s"))
    };
    let ran = victim["started_s_ago"].as_u64().map(Span::from_seconds);
    let is_safe = is_protected(ran, least);
    let (runs, min) = (number(victim, "running_tasks"), number(victim, "min_tasks"));
    Ok(allowed_result(if rule.ends_with("scenario_allowed") {
        !is_safe || leaves_least(runs as usize, number(given, "evict_tasks") as usize, min as usize)
    } else {
        !is_safe || runs > min
    }))
}
