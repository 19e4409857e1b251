//! Small policies for the tests of usage accounting, and tests of properties.

use super::*;
use common::policy::queue::Queue;
use common::policy::{Quota, QuotaMode};
use common::unit::{Bytes, Cpus, GpuMilli, Gpus};

mod properties;

pub(super) fn queue(text: &str, parent: Option<&str>, quota: Quota) -> Queue {
    let name = |text: &str| QueueName::new(text).unwrap();
    Queue { parent: parent.map(name), quota, ..Queue::with_defaults(name(text)) }
}

pub(super) fn kind(text: &str) -> GpuKind {
    GpuKind(text.to_owned())
}

/// GPUs of any kind.
pub(super) fn any(gpus: u32) -> Amounts {
    Amounts { gpus_any: Some(Gpus(gpus)), ..Amounts::default() }
}

pub(super) fn of_kinds(kinds: &[(&str, u32)]) -> Amounts {
    let gpus = kinds.iter().map(|(text, gpus)| (kind(text), Gpus(*gpus)));
    Amounts { gpus: gpus.collect(), ..Amounts::default() }
}

pub(super) fn shared(amounts: Amounts) -> Quota {
    Quota { amounts, ..Quota::default() }
}

pub(super) fn isolated(amounts: Amounts) -> Quota {
    Quota { mode: QuotaMode::Isolated, amounts, ..Quota::default() }
}

pub(super) fn accounting(queues: Vec<Queue>, capacity: &Amounts) -> UsageAccounting {
    UsageAccounting::new(&Policy { queues, ..Policy::default() }, capacity)
}

/// A job of user 7 with GPUs of a kind, or of any.
pub(super) fn claim(
    accounting: &mut UsageAccounting,
    queue: &str,
    of: Option<&str>,
    gpus: u32,
) -> Claim {
    let name = QueueName::new(queue).unwrap();
    let mut claim = Claim::new(accounting.principal(&name, Uid(7), None, None));
    let of = of.and_then(|of| accounting.kind(&kind(of)));
    claim.add_gpus(of, GpuMilli::WHOLE.times(gpus));
    claim
}

/// Runs such a job.
pub(super) fn run(accounting: &mut UsageAccounting, queue: &str, of: Option<&str>, gpus: u32) {
    let claim = claim(accounting, queue, of, gpus);
    accounting.add(&claim, None);
}

pub(super) fn index(accounting: &UsageAccounting, queue: &str) -> QueueIndex {
    accounting.tree().index(&QueueName::new(queue).unwrap()).unwrap()
}

#[test]
fn what_a_queue_holds_counts_what_is_below_it() {
    let queues = vec![
        queue("top", None, shared(any(8))),
        queue("a", Some("top"), Quota::default()),
        queue("b", Some("top"), Quota::default()),
    ];
    let mut accounting = accounting(queues, &any(16));
    let mut wide = claim(&mut accounting, "a", None, 2);
    wide.cpus = Cpus(5);
    wide.memory = Bytes(9);
    accounting.add(&wide, None);
    run(&mut accounting, "b", None, 1);
    let held = |accounting: &UsageAccounting, queue| accounting.used(index(accounting, queue));
    let top = Held { jobs: 2, gpu_milli: 3_000, cpus: 5, memory_bytes: 9 };
    assert_eq!(held(&accounting, "top"), top);
    assert_eq!(held(&accounting, "b"), Held { jobs: 1, gpu_milli: 1_000, ..Held::default() });
    accounting.remove(&wide, None);
    assert_eq!(held(&accounting, "top"), held(&accounting, "b"));
}

#[test]
fn a_job_of_a_queue_that_is_gone_still_uses_the_cluster() {
    let queues = vec![queue("a", None, Quota::default()), queue("kept", None, isolated(any(4)))];
    let mut accounting = accounting(queues, &any(8));
    run(&mut accounting, "gone", None, 3);
    let gone = claim(&mut accounting, "gone", None, 100);
    assert_eq!(accounting.admit(&gone), Ok(QuotaStatus::WithinQuota), "another reason stops it");
    let one = claim(&mut accounting, "a", None, 1);
    assert_eq!(accounting.admit(&one), Ok(QuotaStatus::WithinQuota));
    let two = claim(&mut accounting, "a", None, 2);
    assert!(accounting.admit(&two).is_err());
}

#[test]
fn kinds_are_those_that_some_quota_names() {
    let quota = Quota { at_most: of_kinds(&[("h100", 4)]), ..shared(of_kinds(&[("a100", 1)])) };
    let accounting = accounting(vec![queue("a", None, quota)], &any(8));
    assert_eq!(accounting.kind(&kind("a100")), Some(KindIndex(0)));
    assert_eq!(accounting.kind(&kind("h100")), Some(KindIndex(1)));
    assert_eq!(accounting.kind(&kind("v100")), None);
}
