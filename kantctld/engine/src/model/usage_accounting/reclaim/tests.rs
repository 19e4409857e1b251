//! Tests of which queue may reclaim GPUs from which.

use crate::model::usage_accounting::UsageAccounting;
use crate::model::usage_accounting::tests::{
    accounting, any, claim, isolated, of_kinds, queue, run, shared,
};
use common::policy::{Amounts, Quota};
use common::unit::Cpus;

/// Whether a job of the first queue may preempt one of the second, each with this number of GPUs.
fn may(accounting: &mut UsageAccounting, claimant: (&str, u32), victim: (&str, u32)) -> bool {
    let claimant = claim(accounting, claimant.0, None, claimant.1);
    let victim = claim(accounting, victim.0, None, victim.1);
    accounting.may_reclaim(&claimant, &victim)
}

#[test]
fn the_example() {
    let queues = vec![queue("a", None, shared(any(8))), queue("b", None, shared(any(8)))];
    let mut accounting = accounting(queues, &any(16));
    let eight = claim(&mut accounting, "b", None, 8);
    accounting.add(&eight, None);
    accounting.add(&eight, None);
    assert!(may(&mut accounting, ("a", 8), ("b", 8)));
    accounting.remove(&eight, None);
    assert!(!may(&mut accounting, ("a", 8), ("b", 8)));
}

#[test]
fn no_job_reclaims_beyond_its_own_quota_or_in_its_own_queue() {
    let queues = vec![queue("a", None, shared(any(8))), queue("b", None, shared(any(4)))];
    let mut accounting = accounting(queues, &any(16));
    run(&mut accounting, "a", None, 2);
    run(&mut accounting, "b", None, 14);
    assert!(may(&mut accounting, ("a", 6), ("b", 1)));
    assert!(!may(&mut accounting, ("a", 7), ("b", 1)));
    assert!(!may(&mut accounting, ("b", 1), ("b", 1)));
    assert!(!may(&mut accounting, ("a", 0), ("b", 1)), "it asks for no GPUs");
    assert!(!may(&mut accounting, ("a", 6), ("b", 0)), "it would give none");
    let equal = claim(&mut accounting, "a", None, 6);
    assert!(accounting.is_within_quota_with(&equal));
    let more = claim(&mut accounting, "a", None, 7);
    assert!(!accounting.is_within_quota_with(&more));
}

#[test]
fn a_queue_that_is_owed_nothing_holds_lent_goods_and_cannot_reclaim() {
    let queues = vec![queue("a", None, shared(any(8))), queue("free", None, Quota::default())];
    let mut accounting = accounting(queues, &any(16));
    run(&mut accounting, "free", None, 16);
    assert!(may(&mut accounting, ("a", 8), ("free", 2)));
    run(&mut accounting, "a", None, 16);
    assert!(!may(&mut accounting, ("free", 1), ("a", 16)));
}

#[test]
fn sides_are_compared_right_below_the_lowest_queue_above_both() {
    let queues = vec![
        queue("x", None, shared(any(8))),
        queue("x1", Some("x"), shared(any(4))),
        queue("x2", Some("x"), shared(any(4))),
        queue("y", None, shared(any(8))),
    ];
    let mut accounting = accounting(queues, &any(16));
    run(&mut accounting, "x1", None, 8);
    assert!(may(&mut accounting, ("x2", 4), ("x1", 1)), "x1 has what x2 is owed");
    assert!(!may(&mut accounting, ("y", 8), ("x1", 1)), "x has no more than it is owed");
    run(&mut accounting, "x1", None, 2);
    assert!(may(&mut accounting, ("y", 8), ("x1", 1)));
}

#[test]
fn the_queue_above_is_not_asked_where_the_one_below_decides() {
    let queues = vec![
        queue("org", None, Quota::default()),
        queue("team", Some("org"), shared(any(8))),
        queue("y", None, shared(any(8))),
    ];
    let mut accounting = accounting(queues, &any(16));
    run(&mut accounting, "team", None, 8);
    assert!(!may(&mut accounting, ("y", 8), ("team", 8)), "team is owed what it has");
    run(&mut accounting, "org", None, 8);
    assert!(may(&mut accounting, ("y", 8), ("org", 8)));
    assert!(!may(&mut accounting, ("team", 1), ("org", 8)), "team has all it is owed");
}

#[test]
fn gpus_are_compared_by_kind_where_quotas_name_kinds() {
    let queues = vec![
        queue("a", None, shared(of_kinds(&[("h100", 8)]))),
        queue("b", None, shared(of_kinds(&[("a100", 4), ("h100", 4)]))),
        queue("c", None, shared(any(8))),
    ];
    let mut accounting = accounting(queues, &of_kinds(&[("a100", 16), ("h100", 16)]));
    run(&mut accounting, "b", Some("a100"), 8);
    run(&mut accounting, "b", Some("h100"), 4);
    run(&mut accounting, "c", Some("h100"), 8);
    let wants = claim(&mut accounting, "a", Some("h100"), 8);
    let of = |accounting: &mut UsageAccounting, queue, kind| {
        let victim = claim(accounting, queue, Some(kind), 2);
        accounting.may_reclaim(&wants, &victim)
    };
    assert!(!of(&mut accounting, "b", "a100"), "the wrong kind");
    assert!(!of(&mut accounting, "b", "h100"), "b is owed these");
    assert!(!of(&mut accounting, "c", "h100"), "c is owed 8 of any kind");
    run(&mut accounting, "b", Some("h100"), 1);
    run(&mut accounting, "c", Some("a100"), 1);
    assert!(of(&mut accounting, "b", "h100"));
    assert!(of(&mut accounting, "c", "h100"));
    let open = claim(&mut accounting, "c", None, 1);
    let victim = claim(&mut accounting, "b", Some("a100"), 8);
    assert!(!accounting.may_reclaim(&open, &victim), "c is over its own quota");
}

#[test]
fn an_isolated_queue_yields_only_what_a_lowered_quota_takes_from_it() {
    let cpus = |cpus| Amounts { cpus: Some(Cpus(cpus)), ..Amounts::default() };
    let queues = vec![queue("a", None, shared(cpus(8))), queue("iso", None, isolated(cpus(4)))];
    let mut accounting = accounting(queues, &cpus(16));
    let mut wants = claim(&mut accounting, "a", None, 0);
    wants.cpus = Cpus(8);
    let mut victim = claim(&mut accounting, "iso", None, 0);
    victim.cpus = Cpus(4);
    accounting.add(&victim, None);
    assert!(!accounting.may_reclaim(&wants, &victim));
    accounting.add(&victim, None);
    assert!(accounting.may_reclaim(&wants, &victim));
}
