//! Tests of the judge on bounds and bookings.

use super::*;
use crate::testing::{booking, queue};
use common::policy::queue::Queue;
use common::policy::{Amounts, Limits, Quota, QuotaMode};

fn round() -> [Decision; 2] {
    [start(1, vec![share("a", 2, "0-1")]), start(2, vec![share("a", 2, "2-3")])]
}

fn with(change: impl Fn(&mut Queue)) -> String {
    let mut snapshot = cluster();
    change_policy(&mut snapshot, |policy| change(&mut policy.queues[0]));
    faults(&snapshot, &round())
}

fn cpus(cpus: u32) -> Amounts {
    Amounts { cpus: Some(Cpus(cpus)), ..Amounts::default() }
}

#[test]
fn limits_hold_for_all_jobs_together() {
    let limits = |cpus| Limits { cpus: Some(Cpus(cpus)), ..Limits::default() };
    assert_eq!(with(|queue| queue.limits = limits(4)), "");
    let wrong = "job 2 is more than the limits of queue q allow";
    assert_eq!(with(|queue| queue.limits = limits(3)), wrong);
    let jobs = Limits { jobs: Some(1), ..Limits::default() };
    let wrong = "job 2 is more than the limits of user 1000 in queue q allow";
    assert_eq!(with(|queue| queue.limits_per_user = jobs), wrong);
    let mut snapshot = cluster();
    run(&mut snapshot, 9, share("b", 1, "0"), None);
    change_policy(&mut snapshot, |policy| policy.queues[0].limits = limits(4));
    let wrong = faults(&snapshot, &round());
    assert_eq!(wrong, "job 2 is more than the limits of queue q allow", "what runs counts");
}

#[test]
fn gpu_minutes_are_those_to_go() {
    let mut snapshot = cluster();
    change(&mut snapshot, |request| request.gpus = Some(GpuRequest::PerNode(Gpus(2))));
    let gpus = [GpuIndex(0), GpuIndex(1)].into();
    let start = [start(1, vec![Share { gpus, ..share("g", 2, "0-1") }])];
    let mut with = |minutes| {
        let limits = Limits { gpu_minutes: Some(minutes), ..Limits::default() };
        change_policy(&mut snapshot, |policy| policy.queues[0].limits = limits);
        faults(&snapshot, &start)
    };
    assert_eq!(with(20), "");
    assert_eq!(with(19), "job 1 is more than the limits of queue q allow");
}

#[test]
fn quotas_that_are_no_ones_to_exceed_are_not_exceeded() {
    let quota = |mode, amounts, at_most| Quota { mode, amounts, at_most };
    let isolated = |queue: &mut Queue| {
        queue.quota = quota(QuotaMode::Isolated, cpus(3), Amounts::default());
    };
    assert_eq!(with(isolated), "job 2 takes isolated queue q over its quota");
    let at_most = |queue: &mut Queue| {
        queue.quota = quota(QuotaMode::Shared, cpus(1), cpus(3));
    };
    assert_eq!(with(at_most), "job 2 takes queue q further than at_most");
    let shared = |queue: &mut Queue| {
        queue.quota = quota(QuotaMode::Shared, cpus(1), Amounts::default());
    };
    assert_eq!(with(shared), "", "it borrows");
}

#[test]
fn no_queue_borrows_what_is_kept_for_an_isolated_one() {
    let mut snapshot = cluster();
    // 4 + 4 + 16 + 4 CPUs.
    let mut other = queue("other");
    other.quota.mode = QuotaMode::Isolated;
    other.quota.amounts = cpus(25);
    change_policy(&mut snapshot, |policy| policy.queues.push(other.clone()));
    let wrong = "job 2 borrows what is kept for isolated queues";
    assert_eq!(faults(&snapshot, &round()), wrong);
}

#[test]
fn bookings_are_for_those_who_may_use_them() {
    let mut snapshot = cluster();
    let until = Time(NOW.0 + 600_000);
    let booked = booking("r", &["a"], NOW, until);
    snapshot.set_reservations([booked.clone()]);
    let mine = &round()[..1];
    assert_eq!(faults(&snapshot, mine), "job 1 on a: kept for reservation r");
    spoil(&mut snapshot, |job| job.reservation = Some(booked.name.clone()));
    assert_eq!(faults(&snapshot, mine), "");
    let elsewhere = [start(1, vec![share("b", 2, "0-1")])];
    assert_eq!(faults(&snapshot, &elsewhere), "job 1 on b: not a node of its reservation");
    snapshot.set_reservations([booking("r", &["a"], NOW, Time(until.0 - 1))]);
    let late = "job 1 starts outside of the time of its reservation";
    assert_eq!(faults(&snapshot, mine), late);
    spoil(&mut snapshot, |job| job.reservation = None);
    snapshot.set_reservations([booking("r", &["a"], until, Time(until.0 + 1))]);
    assert_eq!(faults(&snapshot, mine), "", "it is over when that begins");
}
