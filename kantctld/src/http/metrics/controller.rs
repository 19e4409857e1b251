//! The controller itself: its log, its part in the election, its rounds.

use super::series::Series;
use crate::core::Core;
use common::time::Time;

pub fn add(series: &mut Series, core: &Core) {
    let status = core.standing.borrow().clone();
    let is_leader = u32::from(core.is_serving());
    series.gauge("kant_leader", "1 if this controller leads and serves, else 0.", is_leader);
    let known = u32::from(status.leader.is_some());
    series.gauge("kant_leader_known", "1 if this controller knows a leader, else 0.", known);
    let number = |value: u64| value as f64;
    series.gauge("kant_raft_term", "The latest term.", number(status.term));
    let voters = status.members.voters.len() as f64;
    series.gauge("kant_raft_voters", "The controllers that vote.", voters);
    let active = status.followers.iter().filter(|follower| follower.is_active).count() as f64;
    series.gauge("kant_raft_followers_active", "Active followers; only of the leader.", active);
    let last = number(status.last.0);
    series.gauge("kant_log_last_index", "The last entry of the log.", last);
    let committed = number(status.committed.0);
    series.gauge("kant_log_committed_index", "The last committed entry.", committed);
    let applied = number(core.applied.borrow().0);
    series.gauge("kant_log_applied_index", "The last applied entry.", applied);
    let snapshot = number(status.snapshot.0);
    series.gauge("kant_log_snapshot_index", "The last entry of the snapshot.", snapshot);
    let seconds = |at: Time| at.0 as f64 / 1000.0;
    let changed = seconds(core.state.read().now());
    series.gauge("kant_state_timestamp_seconds", "The time of the latest change.", changed);
    if let Some(newest) = *core.newest_backup.lock() {
        let help = "The time of the state in the newest backup of this controller; 0 without one.";
        series.gauge("kant_backup_timestamp_seconds", help, seconds(newest));
    }
    let rounds = core.round_stats.counts();
    series.counter("kant_rounds", "Scheduling rounds.", number(rounds.rounds));
    let seconds = rounds.time.as_secs_f64();
    series.counter("kant_round_seconds", "Time that rounds took to decide.", seconds);
    series.counter("kant_round_starts", "Jobs that rounds started.", number(rounds.starts));
    series.counter("kant_round_preempts", "Jobs that rounds preempted.", number(rounds.preempts));
}
