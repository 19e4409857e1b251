//! A round under fair sharing as one loop over the round's state. Start reading here.
//!
//! Each pass has its own line of jobs. What a job gets is taken on the trial at once, with cores,
//! links, zones, limits and what is kept for others, so no decision is refused afterwards.

use super::accounts::Accounts;
use super::line::Line;
use super::place::Lacking;
use crate::model::shares::Amount;
use crate::model::shares::tree::QueueAt;
use crate::model::snapshot::Snapshot;
use crate::round::planner::RoundState;
use crate::round::round_result::Round;
use common::id::JobKey;
use common::job::PreemptReason;
use common::reason::WaitReason;
use common::time::{Span, Time};
use std::collections::BTreeMap;

/// Where past use counts, shares change slowly, so a new round at this interval is enough.
const FADES_EVERY: Span = Span::from_minutes(10);

/// The working state of a fair round.
pub(super) struct FairRound<'a> {
    pub state: RoundState<'a>,
    pub accounts: Accounts<'a>,
    /// For each class: its first job that did not start.
    pub lacking: Vec<Option<Lacking<'a>>>,
    /// What jobs that started in this round hold beyond their minimum, and what jobs get that wait
    /// for others to leave or to move, by queue. No running job is stopped because its queue has
    /// that.
    pub extra: BTreeMap<QueueAt, Vec<Amount>>,
    /// How many more jobs may move.
    pub moves_left: u32,
    /// The turns of jobs in queues that sort by more than priority and submission.
    pub turns: &'a BTreeMap<JobKey, i64>,
    pub passes: Passes,
}

/// The passes that a round makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passes {
    /// Without it, no job starts where there is room.
    pub place: bool,
    pub moves: bool,
    pub reclaim: bool,
    pub preempt: bool,
}

impl Passes {
    pub const ALL: Self = Self { place: true, moves: true, reclaim: true, preempt: true };
}

/// Decides a round under fair sharing.
#[must_use]
pub fn round(snapshot: &Snapshot, now: Time) -> Round {
    round_of(snapshot, now, Passes::ALL)
}

/// Decides a round of some passes. Only cases that test single passes leave others out.
#[doc(hidden)]
#[must_use]
pub fn round_of(snapshot: &Snapshot, now: Time, passes: Passes) -> Round {
    if !snapshot.is_ready_for_round(now) {
        let mut settled = snapshot.clone();
        settled.prepare_for_round(now);
        return round_of(&settled, now, passes);
    }
    let turns = crate::policy::turns::turns(snapshot, now);
    let mut state = RoundState::new(snapshot, now);
    if snapshot.all_waiting().next().is_none() {
        state.grow();
        return state.finish();
    }
    state.protect_planned_starts();
    let accounts = Accounts::of(&mut state);
    let lacking = vec![None; accounts.classes().len()];
    let extra = BTreeMap::new();
    let moves_left = snapshot.moves_left(now);
    let turns = &turns;
    let mut fair = FairRound { state, accounts, lacking, extra, moves_left, turns, passes };
    let mut line = Line::new(&fair.state, &fair.accounts, turns, |_| true);
    fair.place_all(&mut line);
    for (is_made, why) in [
        (passes.moves && moves_left > 0, PreemptReason::Move),
        (passes.reclaim, PreemptReason::Reclaim),
        (passes.preempt, PreemptReason::Priority),
    ] {
        if is_made {
            fair.make_room_for_all(why);
        }
    }
    fair.keep_for_later();
    fair.finish()
}

impl FairRound<'_> {
    /// Notes why the other jobs wait, lets jobs grow, and ends the round.
    fn finish(mut self) -> Round {
        self.give_reasons();
        self.schedule_next_round();
        self.give_gone_queue_reasons();
        self.state.grow();
        self.state.finish()
    }

    /// The reason of each class of which no job was tried after the first.
    fn give_reasons(&mut self) {
        for lacking in std::mem::take(&mut self.lacking).into_iter().flatten() {
            if !lacking.is_dropped {
                continue;
            }
            let class = lacking.turn.class;
            let most = &self.accounts.facts(lacking.turn.at).asks.most;
            let excess =
                lacking.excess.and_then(|excess| self.accounts.reason_for_excess(excess, most));
            let Some(of) = self.state.snapshot.wait_queue.class(class) else { continue };
            let never =
                if excess.is_none() { self.state.never_fits_reason(lacking.shape) } else { None };
            match excess.or(never) {
                Some(reason) => self.state.waits.set_class_reason(class, reason),
                None => self.state.waits.note_kind_no_room(of.kind, lacking.shape, None),
            }
        }
    }

    /// Notes the jobs of queues that no longer exist.
    fn give_gone_queue_reasons(&mut self) {
        for id in &self.accounts.gone {
            let class = self.state.snapshot.wait_queue.class(*id);
            if let Some(job) = class.and_then(|class| class.jobs().next()) {
                let reason = WaitReason::QueueGone { queue: job.queue.clone() };
                self.state.waits.set_class_reason(*id, reason);
            }
        }
    }

    /// When the next round is due even if nothing happens.
    fn schedule_next_round(&mut self) {
        let (tree, now) = (&self.accounts.tree, self.state.now);
        let rows = self.state.snapshot.running_index.rows().values();
        let ends = rows.zip(&self.accounts.row_queues).flat_map(|(row, at)| {
            let path = at.map_or(&[][..], |at| tree.path(at));
            let least = path.iter().flat_map(|at| tree.terms[at.0].protection.all());
            least.filter_map(|least| row.next_reaching_runtime(least, now))
        });
        let ends = ends.min();
        self.state.schedule_next_round(ends);
        self.state.schedule_next_round(self.state.snapshot.more_moves_at(now));
        if self.state.snapshot.policy.factors.past_use_percent > 0 {
            self.state.schedule_next_round(Some(now + FADES_EVERY));
        }
    }
}
