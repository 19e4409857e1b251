//! Tests of the judge on preemption.

use super::*;
use crate::RunningJob;
use common::job::PreemptReason;
use common::policy::VictimMode;
use common::policy::queue::Queue;
use common::time::Span;

/// Job 9 runs on a with all CPUs since time 0, with a nice value and preemptible; job 1 may
/// preempt.
fn snapshot_with(change: impl Fn(&mut RunningJob), queue: impl Fn(&mut Queue)) -> Snapshot {
    let mut snapshot = cluster();
    run(&mut snapshot, 9, share("a", 4, "0-3"), None);
    let mut victim = RunningJob::clone(snapshot.running_job(key(9)).unwrap());
    (victim.nice, victim.preemptible) = (1, true);
    change(&mut victim);
    snapshot.set_running(victim);
    change_policy(&mut snapshot, |policy| {
        policy.queues[0].preemption.by_priority = true;
        queue(&mut policy.queues[0]);
    });
    snapshot
}

fn preempt(reason: PreemptReason) -> Decision {
    let mode = VictimMode::Requeue;
    Decision::Preempt { key: key(9), attempt: Attempt(1), by: key(1), reason, mode, to: Vec::new() }
}

fn by_priority(change: impl Fn(&mut RunningJob), queue: impl Fn(&mut Queue)) -> String {
    faults(&snapshot_with(change, queue), &[preempt(PreemptReason::Priority)])
}

#[test]
fn a_victim_runs_may_yield_and_has_run_for_long_enough() {
    assert_eq!(by_priority(|_| (), |_| ()), "");
    let off = by_priority(|_| (), |queue| queue.preemption.by_priority = false);
    assert_eq!(off, "job 9 yields to priority, which its queue does not know");
    let firm = by_priority(|job| job.preemptible = false, |_| ());
    assert_eq!(firm, "job 9 yields to priority though it is not preemptible");
    let equal = by_priority(|job| job.nice = 0, |_| ());
    assert_eq!(equal, "job 9 yields to a job of no higher priority");
    let ending = by_priority(|job| job.ending = true, |_| ());
    assert_eq!(ending, "job 9 is made to yield though it, or some of it, is on its way out");
    let again = by_priority(|job| job.yields_to = Some(key(2)), |_| ());
    assert_eq!(again, "job 9 is made to yield again");
    let soon = |queue: &mut Queue| queue.preemption.runtime_min = Span(NOW.0 + 1);
    let soon = by_priority(|_| (), soon);
    assert_eq!(soon, "job 9 is made to yield before it has run for long enough");
    let saved = |job: &mut RunningJob| (job.started_at, job.saved_at) = (Time(0), Some(NOW));
    let enough = by_priority(saved, |queue| queue.preemption.runtime_min = Span(NOW.0));
    assert_eq!(enough, "", "saving its work makes no job safe");
    let cancel = by_priority(|job| job.victim_mode = VictimMode::Cancel, |_| ());
    assert_eq!(cancel, "job 9 yields in another way than it is meant to");
    let two = [preempt(PreemptReason::Priority), preempt(PreemptReason::Priority)];
    let twice = faults(&snapshot_with(|_| (), |_| ()), &two);
    assert_eq!(twice, "job 9 is made to yield twice");
    let gone = faults(&cluster(), &two[..1]);
    assert_eq!(gone, "job 9 is made to yield but does not run");
}

#[test]
fn only_what_is_lent_is_taken_back_and_only_by_those_it_is_owed() {
    let own = snapshot_with(|_| (), |_| ());
    let wrong = faults(&own, &[preempt(PreemptReason::Reclaim)]);
    assert!(wrong.contains("yields its quota to its own queue"), "{wrong}");
    let other = crate::testing::queue("other");
    let lent = |owed: u32| {
        let mut snapshot = snapshot_with(|job| job.queue = other.name.clone(), |_| ());
        change_policy(&mut snapshot, |policy| {
            let mut other = other.clone();
            other.quota.amounts.cpus = Some(Cpus(owed));
            other.quota.amounts.memory = Some(Bytes(1 << 40));
            policy.queues.push(other);
        });
        faults(&snapshot, &[preempt(PreemptReason::Reclaim)])
    };
    assert_eq!(lent(3), "");
    assert_eq!(lent(4), "job 9 yields what is its queue's by right");
}

#[test]
fn a_head_takes_from_those_who_passed_it_after_its_time() {
    let timeout = |seconds| {
        move |queue: &mut Queue| queue.backfill.head_timeout = Some(Span::from_seconds(seconds))
    };
    let judged = |change: &dyn Fn(&mut RunningJob), seconds| {
        let snapshot = snapshot_with(change, timeout(seconds));
        faults(&snapshot, &[preempt(PreemptReason::HeadTimeout)])
    };
    // Job 1 has waited since second 1, and it is second 1000.
    let after = |job: &mut RunningJob| job.started_at = Time(2_000);
    assert_eq!(judged(&after, 999), "");
    let early = judged(&after, 1_000);
    assert_eq!(early, "job 9 yields to a job that has not waited for too long");
    assert_eq!(judged(&|_| (), 999), "job 9 yields to a head that it did not pass");
}

/// Job 9 runs on a and b with all CPUs, and can run on with one of them; job 1 may preempt.
fn elastic(change: impl Fn(&mut RunningJob), queue: impl Fn(&mut Queue)) -> Snapshot {
    let both = vec![share("a", 4, "0-3"), share("b", 4, "0-3")];
    let change = |job: &mut RunningJob| {
        job.allocation = Arc::new(Allocation::new(both.clone()).unwrap());
        job.nodes_min = Some(Nodes(1));
        change(job);
    };
    snapshot_with(change, queue)
}

fn shrink(keeps: u32, reason: PreemptReason) -> Decision {
    let (attempt, keeps) = (Attempt(1), Nodes(keeps));
    Decision::Shrink { key: key(9), attempt, keeps, by: key(1), reason }
}

#[test]
fn a_job_gives_up_no_node_that_it_needs_and_none_twice() {
    let with = |change: &dyn Fn(&mut RunningJob), keeps| {
        faults(&elastic(change, |_| ()), &[shrink(keeps, PreemptReason::Priority)])
    };
    assert_eq!(with(&|_| (), 1), "");
    let needs = "job 9 gives up nodes that it needs";
    assert_eq!(with(&|job| job.nodes_min = None, 1), needs);
    assert_eq!(with(&|job| job.nodes_min = Some(Nodes(2)), 1), needs);
    assert!(with(&|_| (), 0).contains(needs));
    assert_eq!(with(&|_| (), 2), "job 9 gives up no node, or all");
    let already = with(&|job| job.leaving = 1, 1);
    assert_eq!(already, "job 9 is made to yield though it, or some of it, is on its way out");
    let whole = elastic(|job| job.leaving = 1, |_| ());
    let whole = faults(&whole, &[preempt(PreemptReason::Priority)]);
    assert_eq!(whole, already, "nor is it stopped meanwhile");
    let both = [shrink(1, PreemptReason::Priority), preempt(PreemptReason::Priority)];
    assert_eq!(faults(&elastic(|_| (), |_| ()), &both), "job 9 is made to yield twice");
    let moves = faults(&elastic(|_| (), |_| ()), &[shrink(1, PreemptReason::Move)]);
    assert!(moves.contains("gives up nodes to move"), "{moves}");
}

#[test]
fn where_shares_are_fair_only_what_a_job_needs_is_safe_for_a_while() {
    let soon = |queue: &mut Queue| queue.preemption.runtime_min = Span(NOW.0 + 1);
    let mut snapshot = elastic(|_| (), soon);
    let (less, whole) = (shrink(1, PreemptReason::Priority), preempt(PreemptReason::Priority));
    let early = "job 9 is made to yield before it has run for long enough";
    assert_eq!(faults(&snapshot, std::slice::from_ref(&less)), early);
    change_policy(&mut snapshot, |policy| policy.fair_sharing = true);
    assert_eq!(faults(&snapshot, &[less]), "");
    assert_eq!(faults(&snapshot, &[whole]), early);
}
