//! Tests of the judge on order and promises, and that each waiting job has a reason.

use super::*;
use common::policy::Behind;
use common::reason::{Need, WaitReason};

fn no_room() -> WaitReason {
    let need = Need {
        nodes: Nodes(1),
        cpus: Cpus(1),
        memory: Bytes(1),
        gpus: Gpus(0),
        gpu_kind: None,
        gpu_part: None,
    };
    WaitReason::Resources { need, nodes_free: Nodes(0), nearest: None, expected_at: None }
}

/// A round that starts job 2 and leaves job 1 waiting for this reason.
fn passed(reason: WaitReason) -> Round {
    let mut round =
        Round { decisions: vec![start(2, vec![share("a", 2, "0-1")])], ..Round::default() };
    round.waits.set_reason(key(1), reason);
    round
}

fn all_faults(snapshot: &Snapshot, round: &Round) -> String {
    let mut snapshot = snapshot.clone();
    snapshot.prepare_for_round(NOW);
    let faults = check(&snapshot, NOW, round);
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

#[test]
fn in_a_strict_queue_no_job_passes_one_without_room() {
    let mut snapshot = cluster();
    assert_eq!(all_faults(&snapshot, &passed(no_room())), "");
    change_policy(&mut snapshot, |policy| policy.queues[0].behind = Behind::Wait);
    let wrong = "job 2 starts in a strict queue before job 1, which has no room";
    assert_eq!(all_faults(&snapshot, &passed(no_room())), wrong);
    assert_eq!(all_faults(&snapshot, &passed(WaitReason::ArrayLimit { limit: 1 })), "");
    spoil(&mut snapshot, |job| job.nice = 1);
    assert_eq!(all_faults(&snapshot, &passed(no_room())), "", "it is behind");
}

#[test]
fn every_job_starts_or_gets_its_reason() {
    let mut round = passed(no_room());
    round.waits = crate::round::waits::Waits::default();
    let forgotten = "job 1 neither starts nor has a reason";
    assert_eq!(all_faults(&cluster(), &round), forgotten);
    let mut snapshot = cluster();
    spoil(&mut snapshot, |job| job.held = true);
    assert_eq!(all_faults(&snapshot, &round), "");
}

/// A promise for this time.
fn planned_start(at: Time) -> BTreeMap<JobKey, crate::PlannedStart> {
    let text = format!("{{\"at\":{},\"nodes\":[\"a\"]}}", at.0);
    BTreeMap::from([(key(1), serde_json::from_str(&text).unwrap())])
}

#[test]
fn a_promise_is_kept_or_bettered() {
    let (soon, later) = (Time(NOW.0 + 60_000), Time(NOW.0 + 120_000));
    let mut snapshot = cluster();
    let judged = |snapshot: &Snapshot, new| {
        all_faults(snapshot, &Round { planned_starts: new, ..passed(no_room()) })
    };
    snapshot.set_planned_starts(planned_start(later));
    assert_eq!(judged(&snapshot, planned_start(soon)), "");
    assert_eq!(judged(&snapshot, planned_start(later)), "");
    let none = judged(&snapshot, BTreeMap::new());
    assert!(none.contains("job 1 was promised a start by") && none.ends_with("now none"), "{none}");
    snapshot.set_planned_starts(planned_start(soon));
    assert!(judged(&snapshot, planned_start(later)).starts_with("job 1 was promised a start by"));

    let mut first = waiting(3, request(1, 1), 10);
    first.nice = -1;
    snapshot.set_waiting(first);
    let mut round = Round { planned_starts: planned_start(later), ..passed(no_room()) };
    round.waits.set_reason(key(3), no_room());
    assert_eq!(all_faults(&snapshot, &round), "", "a job came that goes before");
}
