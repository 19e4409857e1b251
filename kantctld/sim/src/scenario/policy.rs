//! The lines of a scenario's policy: `queue`, `qos`, `account`, `leaf`, and `factors`. The state
//! checks whether they are valid together.

use super::words::Words;
use common::gpu::GpuKind;
use common::hostlist;
use common::id::{QueueName, SwitchName};
use common::policy::account::Account;
use common::policy::qos::Qos;
use common::policy::queue::Queue;
use common::policy::{Amounts, Backfill, Factors, Limits, Preemption, Quota};
use common::topology::Topology;
use common::unit::{Bytes, Cpus, Gpus};
use serde::de::DeserializeOwned;
use serde::de::value::{Error, StrDeserializer};

/// Memory per CPU if a line names none.
pub(super) const MEMORY_PER_CPU: Bytes = Bytes::from_mib(1024);

/// `name=value`, where values are written as in the configuration file.
fn parse_value<T: DeserializeOwned>(words: &mut Words, name: &str) -> Result<Option<T>, String> {
    let Some(text) = words.value::<String>(name)? else { return Ok(None) };
    let read = T::deserialize(StrDeserializer::<Error>::new(&text));
    read.map(Some).map_err(|error| format!("{name}: {error}"))
}

/// `queue NAME ...`
pub(super) fn queue(words: &mut Words) -> Result<Queue, String> {
    let plain = Queue::with_defaults(words.take_plain("a queue name")?);
    Ok(Queue {
        default: words.flag("default"),
        priority: words.value("priority")?.unwrap_or(0),
        nodes: words.nodes("nodes")?,
        time_limit_default: words.value("limit")?,
        time_limit_max: words.value("max")?,
        memory_per_cpu: words.value("mem-per-cpu")?.unwrap_or(MEMORY_PER_CPU),
        parent: words.value::<QueueName>("parent")?,
        order: parse_value(words, "order")?.unwrap_or_default(),
        behind: parse_value(words, "behind")?.unwrap_or_default(),
        backfill: backfill(words)?,
        placement: parse_value(words, "placement")?.unwrap_or_default(),
        weight: words.value("weight")?.unwrap_or(1),
        reclaim_runtime_min: words.value("safe")?,
        quota: Quota {
            mode: parse_value(words, "quota-mode")?.unwrap_or_default(),
            amounts: amounts(words, "quota")?,
            at_most: amounts(words, "at-most")?,
        },
        limits: limits(words, "")?,
        limits_per_user: limits(words, "user-")?,
        limits_per_account: limits(words, "account-")?,
        preemption: preemption(words)?,
        share_gpus: words.flag("share-gpus"),
        ..plain
    })
}

fn backfill(words: &mut Words) -> Result<Backfill, String> {
    let usual = Backfill::default();
    Ok(Backfill {
        depth: words.value("depth")?.unwrap_or(usual.depth),
        reservation: parse_value(words, "reservation")?.unwrap_or(usual.reservation),
        candidates: parse_value(words, "candidates")?.unwrap_or(usual.candidates),
        run_times: parse_value(words, "run-times")?.unwrap_or(usual.run_times),
        head_timeout: words.value("head-timeout")?.or(usual.head_timeout),
    })
}

fn preemption(words: &mut Words) -> Result<Preemption, String> {
    let usual = Preemption::default();
    Ok(Preemption {
        by_priority: words.flag("by-priority"),
        reclaim: !words.flag("no-reclaim"),
        preemptible: words.flag("preemptible"),
        victims: parse_value(words, "victims")?.unwrap_or(usual.victims),
        runtime_min: words.value("min-run")?.unwrap_or(usual.runtime_min),
    })
}

/// GPUs of any kind (`8`) or of one (`h100:8`).
fn amounts(words: &mut Words, name: &str) -> Result<Amounts, String> {
    let mut amounts = Amounts::default();
    let Some(text) = words.value::<String>(name)? else { return Ok(amounts) };
    let number = |text: &str| {
        text.parse().map(Gpus).map_err(|_| format!("{name}: `{text}` is not a number"))
    };
    match text.split_once(':') {
        None => amounts.gpus_any = Some(number(&text)?),
        Some((kind, count)) => {
            amounts.gpus.insert(GpuKind(kind.to_owned()), number(count)?);
        }
    }
    Ok(amounts)
}

fn limits(words: &mut Words, whose: &str) -> Result<Limits, String> {
    Ok(Limits {
        jobs: words.value(&format!("{whose}jobs"))?,
        gpus: words.value(&format!("{whose}gpus"))?.map(Gpus),
        cpus: words.value(&format!("{whose}cpus"))?.map(Cpus),
        gpu_minutes: words.value(&format!("{whose}gpu-minutes"))?,
    })
}

/// `qos NAME ...`
pub(super) fn qos(words: &mut Words) -> Result<Qos, String> {
    Ok(Qos {
        name: words.take_plain("a QoS name")?,
        priority: words.value("priority")?.unwrap_or(0),
        access: common::policy::Access::default(),
        preemptible: words.flag("preemptible").then_some(true),
        time_limit_max: words.value("max")?,
        limits: limits(words, "")?,
        limits_per_user: limits(words, "user-")?,
    })
}

/// `account NAME ...`
pub(super) fn account(words: &mut Words) -> Result<Account, String> {
    Ok(Account {
        name: words.take_plain("an account name")?,
        shares: words.value("shares")?.unwrap_or(1),
        access: common::policy::Access::default(),
        limits: limits(words, "")?,
        limits_per_user: limits(words, "user-")?,
    })
}

/// `leaf NAME g[1-4] [spine=NAME]`
pub(super) fn leaf(words: &mut Words, topology: &mut Topology) -> Result<(), String> {
    let leaf: SwitchName = words.take_plain("a leaf's name")?;
    let nodes: String = words.take_plain("node names")?;
    let spine: Option<SwitchName> = words.value("spine")?;
    for node in hostlist::expand(&nodes).map_err(|error| error.to_string())? {
        let position = topology.0.entry(node).or_default();
        position.leaf = Some(leaf.clone());
        position.spine.clone_from(&spine);
    }
    Ok(())
}

/// `factors age=1000 ...`
pub(super) fn factors(words: &mut Words, factors: &mut Factors) -> Result<(), String> {
    factors.age = words.value("age")?.unwrap_or(factors.age);
    factors.size = words.value("size")?.unwrap_or(factors.size);
    factors.queue = words.value("queue")?.unwrap_or(factors.queue);
    factors.qos = words.value("qos")?.unwrap_or(factors.qos);
    factors.fair_share = words.value("fair-share")?.unwrap_or(factors.fair_share);
    Ok(())
}
