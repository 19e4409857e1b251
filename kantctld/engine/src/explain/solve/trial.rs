//! A trial in every detail of an arrangement that counts allow, made as a round would make it and
//! checked by the judge.

use super::Move;
use super::model::lost_gpu_minutes;
use super::search::{Found, Proved};
use crate::check;
use crate::model::decision::Decision;
use crate::model::job::{RunningJob, WaitingJob};
use crate::model::snapshot::Snapshot;
use crate::round::planner::{Component, Mover, RoundState};
use crate::round::round_result::Round;
use common::id::NodeName;
use common::job::PreemptReason;
use common::policy::queue::Queue;
use common::time::Time;
use std::sync::Arc;

/// Places all jobs. `None`: one of them has no place, or the judge finds a fault.
pub(super) fn try_out(
    snapshot: &Snapshot,
    now: Time,
    job: &Arc<WaitingJob>,
    queue: &Queue,
    found: &Found,
) -> Option<Proved> {
    let mut state = RoundState::new(snapshot, now);
    state.protect_planned_starts();
    // The same queue and job, as this round knows them.
    let queue = state.queues.get(&queue.name)?;
    let job = snapshot.waiting_job(job.key)?;
    let shape = state.shape_for(queue, job);
    let mover = |(key, to): &(_, Vec<_>)| Some((snapshot.running_job(*key)?, to.clone()));
    let movers: Option<Vec<Mover<'_>>> = found.movers.iter().map(mover).collect();
    let component = Component { job, shape, nodes: found.room.clone(), most: None };
    if !state.preempt_for_all(&[component], &[], &movers?) {
        return None;
    }
    let nodes = |job: &RunningJob| -> Vec<NodeName> {
        job.allocation.shares().iter().map(|share| share.node.clone()).collect()
    };
    let moves = state.decisions.iter().filter_map(|decision| match decision {
        Decision::Preempt { key, to, reason: PreemptReason::Move, .. } => {
            let running = snapshot.running_job(*key)?;
            let lost_gpu_minutes = lost_gpu_minutes(running, &state);
            Some(Move { key: *key, from: nodes(running), to: to.clone(), lost_gpu_minutes })
        }
        _ => None,
    });
    let moves: Vec<Move> = moves.collect();
    let (decisions, planned_starts) = (state.decisions, state.planned_starts);
    let room = planned_starts.get(&job.key)?.nodes.clone();
    let round = Round { decisions, planned_starts, ..Round::default() };
    check::check_moves(snapshot, now, &round).is_empty().then_some(Proved { moves, room })
}
