//! Tests of quotas in trees of queues.

use super::QuotaStatus::{self, Borrowing, WithinQuota};
use crate::model::usage_accounting::UsageAccounting;
use crate::model::usage_accounting::tests::{
    accounting, any, claim, index, isolated, kind, of_kinds, queue, run, shared,
};
use common::id::QueueName;
use common::policy::{Amounts, Quota};
use common::reason::{Counted, QuotaBound, WaitReason, What};
use common::unit::{Bytes, Cpus};

/// The standing, or the refusing queue, whether it is isolated, and limit, used and asked in GPUs.
type Answer<'a> = Result<QuotaStatus, (&'a str, bool, [u64; 3])>;

fn ask(
    accounting: &mut UsageAccounting,
    queue: &str,
    of: Option<&str>,
    gpus: u32,
    expected: Answer<'_>,
) {
    let claim = claim(accounting, queue, of, gpus);
    let answer = accounting.admit(&claim).map_err(|reason| match reason {
        WaitReason::QuotaExceeded { queue, bound, counted } => {
            assert_eq!(counted.what, What::Gpus);
            let numbers = [counted.limit, counted.used, counted.asked].map(|milli| milli / 1000);
            (queue.to_string(), bound == QuotaBound::Isolated, numbers)
        }
        other => panic!("{other}"),
    });
    let expected = expected.map_err(|(queue, isolated, n)| (queue.to_owned(), isolated, n));
    assert_eq!(answer, expected, "{gpus} GPUs in {queue}");
}

#[test]
fn the_example() {
    let queues = vec![queue("a", None, shared(any(4))), queue("b", None, isolated(any(8)))];
    let mut accounting = accounting(queues, &any(16));
    ask(&mut accounting, "a", None, 4, Ok(WithinQuota));
    run(&mut accounting, "a", None, 4);
    ask(&mut accounting, "a", None, 4, Ok(Borrowing));
    run(&mut accounting, "a", None, 4);
    ask(&mut accounting, "a", None, 1, Err(("a", false, [8, 8, 1])));
    ask(&mut accounting, "b", None, 8, Ok(WithinQuota));
    run(&mut accounting, "b", None, 8);
    ask(&mut accounting, "b", None, 1, Err(("b", true, [8, 8, 1])));
}

#[test]
fn what_an_isolated_queue_uses_is_no_longer_kept_for_it() {
    let queues = vec![queue("a", None, Quota::default()), queue("b", None, isolated(any(8)))];
    let mut accounting = accounting(queues, &any(16));
    run(&mut accounting, "b", None, 6);
    ask(&mut accounting, "a", None, 8, Ok(WithinQuota));
    run(&mut accounting, "a", None, 6);
    ask(&mut accounting, "a", None, 3, Err(("a", false, [8, 6, 3])));
    accounting.set_capacity(&any(17));
    ask(&mut accounting, "a", None, 3, Ok(WithinQuota));
}

#[test]
fn where_nothing_is_kept_free_resources_decide() {
    let queues = vec![queue("a", None, shared(any(4))), queue("b", None, shared(any(12)))];
    let mut accounting = accounting(queues, &any(16));
    run(&mut accounting, "b", None, 16);
    ask(&mut accounting, "a", None, 4, Ok(WithinQuota));
    ask(&mut accounting, "a", None, 5, Ok(Borrowing));
    ask(&mut accounting, "b", None, 1, Ok(Borrowing));
}

#[test]
fn borrowing_ends_at_the_most_of_the_queue_and_of_those_above() {
    let quota = |owed, at_most| Quota { at_most: any(at_most), ..shared(any(owed)) };
    let queues = vec![
        queue("top", None, quota(8, 10)),
        queue("a", Some("top"), quota(2, 6)),
        queue("b", Some("top"), Quota::default()),
    ];
    let mut accounting = accounting(queues, &any(16));
    ask(&mut accounting, "a", None, 2, Ok(WithinQuota));
    ask(&mut accounting, "a", None, 6, Ok(Borrowing));
    ask(&mut accounting, "a", None, 7, Err(("a", false, [6, 0, 7])));
    run(&mut accounting, "b", None, 8);
    ask(&mut accounting, "a", None, 2, Ok(Borrowing));
    ask(&mut accounting, "a", None, 3, Err(("top", false, [10, 8, 3])));
    ask(&mut accounting, "b", None, 1, Ok(Borrowing));
}

#[test]
fn a_queue_without_a_quota_borrows_only_through_those_above() {
    let queues = vec![
        queue("top", None, shared(any(4))),
        queue("a", Some("top"), Quota::default()),
        queue("free", None, Quota::default()),
    ];
    let mut accounting = accounting(queues, &any(16));
    ask(&mut accounting, "free", None, 16, Ok(WithinQuota));
    ask(&mut accounting, "a", None, 4, Ok(WithinQuota));
    ask(&mut accounting, "a", None, 5, Ok(Borrowing));
}

#[test]
fn each_kind_is_judged_by_itself() {
    let owed = Amounts { gpus_any: Some(common::unit::Gpus(6)), ..of_kinds(&[("h100", 4)]) };
    let queues = vec![
        queue("a", None, isolated(owed)),
        queue("b", None, isolated(of_kinds(&[("a100", 8)]))),
    ];
    let mut accounting = accounting(queues, &of_kinds(&[("h100", 8), ("a100", 8)]));
    ask(&mut accounting, "a", Some("h100"), 5, Err(("a", true, [4, 0, 5])));
    ask(&mut accounting, "a", None, 5, Ok(WithinQuota));
    ask(&mut accounting, "a", None, 7, Err(("a", true, [6, 0, 7])));
    ask(&mut accounting, "a", Some("a100"), 1, Err(("a", false, [0, 0, 1])));
    run(&mut accounting, "b", Some("a100"), 8);
    ask(&mut accounting, "b", Some("a100"), 1, Err(("b", true, [8, 8, 1])));
    ask(&mut accounting, "b", Some("h100"), 1, Ok(WithinQuota));
    let job = claim(&mut accounting, "a", Some("h100"), 5);
    let counted = Counted {
        what: What::Gpus,
        gpu_kind: Some(kind("h100")),
        limit: 4_000,
        used: 0,
        asked: 5_000,
    };
    let queue = QueueName::new("a").unwrap();
    let expected = WaitReason::QuotaExceeded { queue, bound: QuotaBound::Isolated, counted };
    assert_eq!(accounting.admit(&job), Err(expected));
}

#[test]
fn inside_an_isolated_queue_others_borrow_but_what_is_kept() {
    let queues = vec![
        queue("iso", None, isolated(any(8))),
        queue("a", Some("iso"), shared(any(2))),
        queue("inner", Some("iso"), isolated(any(4))),
        queue("out", None, Quota::default()),
    ];
    let mut accounting = accounting(queues, &any(16));
    ask(&mut accounting, "a", None, 4, Ok(Borrowing));
    ask(&mut accounting, "a", None, 5, Err(("a", false, [4, 0, 5])));
    ask(&mut accounting, "out", None, 9, Err(("out", false, [8, 0, 9])));
    run(&mut accounting, "a", None, 4);
    run(&mut accounting, "out", None, 8);
    ask(&mut accounting, "inner", None, 4, Ok(WithinQuota));
    run(&mut accounting, "inner", None, 4);
    ask(&mut accounting, "a", None, 1, Err(("iso", true, [8, 8, 1])));
}

#[test]
fn an_isolated_queue_below_one_that_borrows_does_not_borrow() {
    let queues = vec![
        queue("top", None, shared(any(8))),
        queue("a", Some("top"), Quota::default()),
        queue("iso", Some("top"), isolated(any(4))),
    ];
    let mut accounting = accounting(queues, &any(16));
    run(&mut accounting, "a", None, 12);
    assert!(accounting.is_over_quota(index(&accounting, "top")));
    ask(&mut accounting, "a", None, 1, Err(("top", false, [12, 12, 1])));
    ask(&mut accounting, "iso", None, 4, Ok(WithinQuota));
}

#[test]
fn cpus_and_memory_have_quotas_too() {
    let owed = Amounts { cpus: Some(Cpus(8)), memory: Some(Bytes(100)), ..Amounts::default() };
    let mut accounting = accounting(vec![queue("a", None, isolated(owed))], &any(8));
    let mut job = claim(&mut accounting, "a", None, 64);
    job.cpus = Cpus(8);
    job.memory = Bytes(100);
    assert_eq!(accounting.admit(&job), Ok(WithinQuota), "GPUs are not bounded");
    job.memory = Bytes(101);
    let text = accounting.admit(&job).unwrap_err().to_string();
    let expected = "queue a has a quota of 100B memory and neither lends nor borrows, \
                    and this job alone asks for 101B memory: it never starts";
    assert_eq!(text, expected);
}

#[test]
fn a_quota_that_was_lowered_stops_only_who_asks_for_more() {
    let mut accounting = accounting(vec![queue("a", None, isolated(any(4)))], &any(8));
    run(&mut accounting, "a", None, 8);
    assert!(accounting.is_over_quota(index(&accounting, "a")));
    let mut cpu_job = claim(&mut accounting, "a", None, 0);
    cpu_job.cpus = Cpus(4);
    assert_eq!(accounting.admit(&cpu_job), Ok(WithinQuota));
    ask(&mut accounting, "a", None, 1, Err(("a", true, [4, 8, 1])));
}

/// The kind of bound, and whether the job waits for ever.
fn bound(accounting: &mut UsageAccounting, queue: &str, gpus: u32) -> (QuotaBound, bool) {
    let claim = claim(accounting, queue, None, gpus);
    let reason = accounting.admit(&claim).unwrap_err();
    let is_for_ever = reason.is_for_ever();
    match reason {
        WaitReason::QuotaExceeded { bound, .. } => (bound, is_for_ever),
        other => panic!("{other}"),
    }
}

#[test]
fn only_bounds_that_no_idle_resource_moves_are_for_ever() {
    let quota = Quota { at_most: any(6), ..shared(any(4)) };
    let queues = vec![queue("a", None, quota), queue("b", None, isolated(any(8)))];
    let mut accounting = accounting(queues, &any(12));
    run(&mut accounting, "a", None, 4);
    let at_most = QuotaBound::AtMost { owed: 4_000 };
    assert_eq!(
        bound(&mut accounting, "a", 3),
        (at_most, false),
        "the worked example of hard bounds"
    );
    assert_eq!(bound(&mut accounting, "a", 7), (at_most, true));
    assert_eq!(bound(&mut accounting, "b", 9), (QuotaBound::Isolated, true));
    let lent = QuotaBound::Lent { owed: 4_000 };
    assert_eq!(bound(&mut accounting, "a", 2), (lent, false));
}

#[test]
fn what_is_lent_at_the_moment_is_no_bound_for_ever() {
    let queues = vec![
        queue("a", None, shared(any(2))),
        queue("b", None, shared(any(2))),
        queue("c", None, isolated(any(4))),
    ];
    let mut accounting = accounting(queues, &any(12));
    run(&mut accounting, "b", None, 6);
    let expected = (QuotaBound::Lent { owed: 2_000 }, false);
    assert_eq!(bound(&mut accounting, "a", 5), expected, "5 of a limit of 2, until b gives back");
}

#[test]
fn of_several_bounds_the_one_is_reported_that_the_job_alone_exceeds() {
    let queues = vec![
        queue("top", None, isolated(any(8))),
        queue("a", Some("top"), isolated(any(10))),
        queue("b", Some("top"), Quota { at_most: any(6), ..shared(any(4)) }),
    ];
    let mut accounting = accounting(queues, &any(16));
    run(&mut accounting, "a", None, 8);
    ask(&mut accounting, "a", None, 9, Err(("top", true, [8, 8, 9])));
    ask(&mut accounting, "b", None, 1, Err(("top", true, [8, 8, 1])));
}
