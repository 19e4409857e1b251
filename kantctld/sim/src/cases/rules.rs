//! Rule cases: one decision each, computed by the rule itself, without a round.

mod reading;
mod runtime;

use super::Verdict;
use engine::shares::divide::{Share, divide, divide_surplus};
use engine::shares::tree::{QueueAt, Tree};
use engine::shares::{Amount, Resource};
use engine::sharing::bounds::{Excess, exceeded, within_bounds, within_limits, within_quotas};
use engine::sharing::order::Rank;
use engine::sharing::taking::{Claimant, may_claim, may_have_victims, may_take};
use reading::{Missing, amount, name, number, queue_at, read_bound, tree};
use serde_json::Value;
use std::collections::BTreeMap;

/// A rule's results, by the keys of the case's `expect`.
type Says = BTreeMap<String, Value>;

/// Evaluates the rule, and compares the results.
pub(super) fn judge(case: &Value) -> Verdict {
    let (given, expect) = (&case["given"], &case["expect"]);
    let says = match case["rule"].as_str().unwrap_or_default() {
        "divide_one_resource" => divide_one_resource(given, false),
        "divide_surplus_only" => divide_one_resource(given, true),
        "divide_all_resources" => divide_all_resources(given),
        "queue_order" => queue_order(given),
        "queue_limit_exceeded" => resource_over_limit(given, false),
        "queue_non_preemptible_quota_exceeded" => resource_over_limit(given, true),
        "request_within_limit" => {
            job_within_rule(given, |tree, at, asked, _| within_limits(tree, at, asked))
        }
        "request_within_non_preemptible_quota" => job_within_rule(given, within_quotas_if_firm),
        "job_within_limit_and_quota" => job_within(given),
        "may_try_reclaim" => reclaim(given, |tree, claimant, _| may_claim(tree, claimant)),
        "victim_queue_candidate" => candidate(given),
        "reclaim_allowed" => reclaim(given, is_reclaim_allowed),
        "preempt_min_runtime"
        | "reclaim_min_runtime"
        | "preempt_victim_allowed"
        | "reclaim_victim_allowed"
        | "preempt_scenario_allowed" => runtime::evaluate(case),
        other => return Verdict::Unsupported(format!("no rule {other}")),
    };
    match says {
        Err(Missing(what)) => Verdict::Unsupported(format!("failed to read the case: {what}")),
        Ok(says) => compare(expect, &says),
    }
}

fn compare(expect: &Value, says: &Says) -> Verdict {
    let Some(expected) = expect.as_object() else {
        return Verdict::Unsupported("nothing is expected".to_owned());
    };
    for (key, value) in expected {
        let said = says.get(key);
        let same = match (value.as_f64(), said.and_then(Value::as_f64)) {
            (Some(a), Some(b)) => (a - b).abs() < 1e-3,
            _ => said == Some(value),
        };
        if !same {
            return Verdict::Fail(format!("{key}: expected {value}, is {said:?}"));
        }
    }
    Verdict::Pass
}

fn share(queue: &Value, terms: &Value, resource: Resource, seniority: usize) -> Share {
    Share {
        quota: read_bound(terms, "quota", resource),
        limit: read_bound(terms, "limit", resource),
        weight: number(terms, "over_quota_weight"),
        request: read_bound(terms, "request", resource),
        usage: number(terms, "usage"),
        priority: number(queue, "priority") as i64,
        seniority,
    }
}

/// The queues of a case and their shares of one resource, which is under `key`.
fn shares(given: &Value, key: &str, resource: Resource) -> Vec<(String, Share, i64)> {
    let queues = given["queues"].as_array().cloned().unwrap_or_default();
    let mut by_age: Vec<usize> = (0..queues.len()).collect();
    by_age
        .sort_by_key(|at| (number(&queues[*at], "created_rank") as i64, name(&queues[*at], "id")));
    let place = |at: usize| by_age.iter().position(|one| *one == at).unwrap_or(at);
    let each = queues.iter().enumerate();
    each.map(|(at, queue)| {
        let terms = &queue[key];
        let given = read_bound(terms, "fair_share", resource);
        (name(queue, "id"), share(queue, terms, resource, place(at)), given)
    })
    .collect()
}

fn resource(text: &str) -> Result<Resource, Missing> {
    Ok(match text {
        "gpu" => Resource::Gpu,
        "cpu" => Resource::Cpu,
        "memory" => Resource::Memory,
        other => return Err(Missing(format!("resource {other}"))),
    })
}

/// In the units of the case.
fn in_case_units(amount: i64, resource: Resource) -> Value {
    Value::from(amount as f64 / reading::units_per_one(resource))
}

fn divide_one_resource(given: &Value, surplus_only: bool) -> Result<Says, Missing> {
    let resource = resource(given["resource"].as_str().unwrap_or("gpu"))?;
    let named = shares(given, "share", resource);
    let shares: Vec<Share> = named.iter().map(|(_, share, _)| share.clone()).collect();
    let total = read_bound(given, "total", resource);
    let k = number(given, "k");
    let (result, left) = if surplus_only {
        let mut had: Vec<i64> = named.iter().map(|(.., had)| *had).collect();
        let left = divide_surplus(total, k, resource.unit(), &shares, &mut had);
        (had, left)
    } else {
        divide(total, k, resource.unit(), &shares)
    };
    let mut says = Says::from([("remaining".to_owned(), in_case_units(left, resource))]);
    for ((id, ..), got) in named.iter().zip(result) {
        says.insert(format!("fair_share/{id}"), in_case_units(got, resource));
    }
    Ok(says)
}

fn divide_all_resources(given: &Value) -> Result<Says, Missing> {
    let mut says = Says::new();
    for key in ["cpu", "memory", "gpu"] {
        let resource = resource(key)?;
        let named = shares(given, key, resource);
        let shares: Vec<Share> = named.iter().map(|(_, share, _)| share.clone()).collect();
        let total = read_bound(&given["totals"], key, resource);
        let (result, _) = divide(total, number(given, "k"), resource.unit(), &shares);
        for ((id, ..), got) in named.iter().zip(result) {
            says.insert(format!("fair_share/{id}/{key}"), in_case_units(got, resource));
        }
    }
    Ok(says)
}

fn queue_order(given: &Value) -> Result<Says, Missing> {
    let sides = Value::Array(vec![given["left"].clone(), given["right"].clone()]);
    let tree = tree(&sides)?;
    let smallest = number(given, "min_node_gpu_memory_mib");
    let asks = |job: &Value| {
        let devices = number(job, "gpu_devices");
        let part = number(job, "gpu_memory_mib") / smallest.max(1.0);
        Amount { gpu_milli: (part * devices * 1000.0).round() as i64, ..Amount::default() }
    };
    let (left, right) = (asks(&given["left_job"]), asks(&given["right_job"]));
    let total = amount(&given["totals"]);
    let rank = |at: usize, asks: &Amount| {
        Rank::of(&tree, &total, QueueAt(at), (&tree.accounts[at].allocated, asks))
    };
    let who = if rank(0, &left) <= rank(1, &right) { "left" } else { "right" };
    Ok(Says::from([("first".to_owned(), Value::from(who))]))
}

fn resource_over_limit(given: &Value, is_quota: bool) -> Result<Says, Missing> {
    let tree = tree(&Value::Array(vec![given["queue"].clone()]))?;
    let (terms, account) = (&tree.terms[0], &tree.accounts[0]);
    let asks = amount(&given["request"]);
    let found = if is_quota {
        exceeded(&account.firm, &asks, &terms.quota)
    } else {
        exceeded(&account.allocated, &asks, &terms.limit)
    };
    let named = match found {
        None => "",
        Some(Resource::Cpu) => "CPU",
        Some(Resource::Memory) => "Memory",
        Some(Resource::Gpu) => "GPU",
    };
    Ok(Says::from([
        ("exceeds".to_owned(), Value::from(found.is_some())),
        ("resource".to_owned(), Value::from(named)),
    ]))
}

fn allowed_result(allowed: bool) -> Says {
    Says::from([("allowed".to_owned(), Value::from(allowed))])
}

/// A rule about a job that may or may not be preemptible.
fn job_within_rule(
    given: &Value,
    rule: impl Fn(&Tree, QueueAt, &Amount, bool) -> Result<(), Excess>,
) -> Result<Says, Missing> {
    let (tree, job) = (tree(&given["queues"])?, &given["job"]);
    let at = queue_at(&tree, &name(job, "queue"))?;
    Ok(allowed_result(rule(&tree, at, &amount(&given["request"]), is_preemptible(job)).is_ok()))
}

/// A quota limits jobs that are not preemptible; others may borrow.
fn within_quotas_if_firm(
    tree: &Tree,
    at: QueueAt,
    asked: &Amount,
    is_preemptible: bool,
) -> Result<(), Excess> {
    if is_preemptible { Ok(()) } else { within_quotas(tree, at, asked) }
}

/// A job is preemptible unless its case says otherwise.
fn is_preemptible(job: &Value) -> bool {
    job["preemptible"].as_bool().unwrap_or(true)
}

fn job_within(given: &Value) -> Result<Says, Missing> {
    let tree = tree(&given["queues"])?;
    let job = &given["job"];
    let at = queue_at(&tree, &name(job, "queue"))?;
    let of_gpu = number(given, "gpu_memory_mib").max(1.0);
    let mut asks = Amount::default();
    for task in given["tasks"].as_array().into_iter().flatten() {
        asks = asks.plus(&amount(task));
        let part = (number(task, "gpu_memory_mib") / of_gpu * 100.0).ceil() * 10.0;
        asks.gpu_milli += (part * number(task, "gpu_devices")) as i64;
    }
    Ok(allowed_result(within_bounds(&tree, at, &asks, is_preemptible(job)).is_ok()))
}

fn claimant(given: &Value, tree: &Tree) -> Result<Claimant, Missing> {
    let text = &given["claimant"];
    Ok(Claimant {
        queue: queue_at(tree, &name(text, "queue"))?,
        asks: amount(&text["request"]),
        is_preemptible: is_preemptible(text),
    })
}

fn reclaim(
    given: &Value,
    rule: impl Fn(&Tree, &Claimant, &Value) -> bool,
) -> Result<Says, Missing> {
    let tree = tree(&given["queues"])?;
    let claimant = claimant(given, &tree)?;
    Ok(allowed_result(rule(&tree, &claimant, given)))
}

fn candidate(given: &Value) -> Result<Says, Missing> {
    let tree = tree(&given["queues"])?;
    let claimant = claimant(given, &tree)?;
    let victim = queue_at(&tree, &name(given, "victim_queue"))?;
    Ok(allowed_result(may_have_victims(&tree, &claimant, victim)))
}

fn is_reclaim_allowed(tree: &Tree, claimant: &Claimant, given: &Value) -> bool {
    let mut victims = Vec::new();
    for (queue, amounts) in given["victims_by_queue"].as_object().into_iter().flatten() {
        let Ok(at) = queue_at(tree, queue) else { return false };
        victims.extend(amounts.as_array().into_iter().flatten().map(|one| (at, amount(one))));
    }
    may_take(tree, claimant, &victims, number(given, "saturation_multiplier").max(1.0))
}
