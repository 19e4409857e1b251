//! Histories as tests: many seeds with all faults, and each seed that once showed a bug. No fault
//! is left out to make a seed pass.
#![allow(clippy::unwrap_used)] // a test fails by panicking

/// The faults that there were when the seeds below showed bugs: with others, a seed is another
/// history.
const FIRST_FAULTS: &str = "kill,power,tear,pause,storm,split,one-way,flaky,clock,slow-disk,\
    full-disk,bad-sync,rot,members,transfer,kantd,node-cut,reboot,long-cut,sick";

fn content(seeds: std::ops::Range<u64>, faults: &str) {
    let failed = storm::check_seeds(seeds, faults, None).unwrap();
    assert!(failed.is_empty(), "{failed:#?}\nsee `cargo xtask sim --help` for how to replay one");
}

#[test]
fn without_faults_every_judge_is_content() {
    content(0..40, "none");
}

#[test]
fn with_all_faults_every_judge_is_content() {
    content(0..500, "all");
}

/// In this seed, two of three voters once forgot in a power cut that one of them votes. They waited
/// for ever for the third voter, whose disk was damaged.
#[test]
fn a_change_of_members_outlives_a_power_cut() {
    content(5550..5551, FIRST_FAULTS);
}

/// In these seeds, a wall clock leaps after its controller started and before it leads. Controllers
/// once read it for the first time when they led, and took it for cluster time.
#[test]
fn a_wall_clock_that_leaps_before_its_controller_leads_is_not_believed() {
    for seed in [1044, 4248, 9968] {
        content(seed..seed + 1, FIRST_FAULTS);
    }
}

/// In this seed, a canary that never gets ready is of an old revision, and the node of all ready
/// replicas is not in contact with a new leader. The leader once stopped one of these.
#[test]
fn a_useless_canary_is_stopped_before_a_replica_that_may_be_ready() {
    content(3842..3843, FIRST_FAULTS);
}

/// In this seed, an update begins under a new leader that has all reports on its service, but not
/// on another one. It once stopped replicas that routers still listed as ready.
#[test]
fn no_replica_is_terminated_while_routers_have_the_table_of_the_last_leader() {
    content(14_640..14_641, FIRST_FAULTS);
}

/// In these seeds, the prolog of each first attempt of each replica once hung.
#[test]
fn services_settle_although_a_prolog_hangs() {
    content(2475..2476, FIRST_FAULTS);
    content(4861..4862, FIRST_FAULTS);
}

/// In these seeds, a node joins again and is revoked again between two checks of the leader. Its
/// new silence once counted from the beginning of the earlier one, and its jobs started elsewhere
/// before it had ended them.
#[test]
fn a_node_has_its_full_time_although_no_check_saw_it_come_back() {
    for seed in [314, 430, 450] {
        content(seed..seed + 1, "revoke,long-cut");
    }
}

#[test]
fn scenarios_written_by_hand_end_well() {
    let failed = storm::check_scenarios();
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn injected_bugs_are_caught() {
    caught("forget-keys", "same-key");
    caught("local-ids", "history");
    caught("ack-unapplied", "history");
    caught("believe-wall", "time");
    caught("no-fence", "truth");
    caught("keep-revoked", "revoked");
    caught("hasty-key", "key");
    caught("hasty-rules", "rules");
    caught("early-rules", "same-bytes");
}

#[test]
fn injected_bugs_of_services_are_caught() {
    caught("skip-drain", "drain");
    caught("count-old-probe", "endpoints");
    caught("list-draining", "endpoints");
    caught("start-all-at-once", "surge");
    caught("replace-early", "enough-ready");
    caught("scale-below-min", "enough-ready");
    caught("forget-reports", "enough-ready");
}

/// This judge complains first in at least one of 240 histories. Most bugs show in the first 60.
fn caught(bug: &str, judge: &str) {
    let mut failed = Vec::new();
    let is_by_judge = |text: &String| text.contains(&format!(": {judge}: "));
    for first in [0, 60, 120, 180] {
        failed.extend(storm::check_seeds(first..first + 60, "all", Some(bug)).unwrap());
        if failed.iter().any(is_by_judge) {
            return;
        }
    }
    panic!("{judge} did not catch {bug}: {failed:#?}");
}
