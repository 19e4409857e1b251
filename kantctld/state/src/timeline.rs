//! The timeline of a job: what happened to it, kept with the job and shown by `kantctl show`. It is
//! small by design: lists of nodes are folded, and old lines make room for new ones. Timelines are
//! for users; no decision depends on them.

use common::id::{Attempt, AttemptId, JobKey, Uid};
use common::job::{ExitStatus, Outcome, PreemptReason, Preempted};
use common::time::Time;
use common::unit::Tasks;
use serde::{Deserialize, Serialize};

/// The maximum number of lines. Older ones are dropped, so that a job that is requeued forever does
/// not fill the memory.
pub const TIMELINE_ENTRIES_MAX: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimelineEntry {
    pub at: Time,
    pub what: TimelineEvent,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum TimelineEvent {
    Held(Uid),
    /// A user released it.
    Released(Uid),
    /// A user changed its request.
    Asked {
        by: Uid,
        /// A description of the change ([`common::job::Patch::summary`]).
        what: String,
    },
    /// It got its allocation.
    Started {
        attempt: Attempt,
        /// Its nodes, folded: `g[001-064]`.
        nodes: String,
    },
    /// All nodes of its gang are ready.
    Ready,
    /// All its nodes run it.
    Running,
    /// An operator suspended it.
    Suspended(Uid),
    /// An operator resumed it.
    Resumed(Uid),
    /// A user recorded that all its work so far is saved. Of several such lines in a row only the
    /// last is kept.
    Saved(Uid),
    /// A user shrank it.
    Resized {
        by: Uid,
        /// The number of tasks that it keeps.
        tasks: Tasks,
        /// The nodes that it keeps, folded.
        stays: String,
        /// The nodes that it gives up, folded.
        leaves: String,
    },
    /// It had to give nodes up for another job, and runs on.
    GaveUp {
        /// The preemptor and the reason.
        preempted: Preempted,
        /// The number of tasks that it keeps.
        tasks: Tasks,
        /// The nodes that it keeps, folded.
        stays: String,
        /// The nodes that it gives up, folded.
        leaves: String,
    },
    /// It gets more nodes, folded, which prepare it.
    Grows {
        joins: String,
    },
    /// It runs on the additional nodes.
    Grew {
        /// The number of tasks that it has now.
        tasks: Tasks,
        /// All its nodes, folded.
        has: String,
        /// The nodes that joined, folded.
        joined: String,
    },
    /// Additional nodes failed to join.
    DidNotGrow {
        leaves: String,
        /// The reason, if the first of them gave one.
        why: Option<String>,
    },
    /// Its end was decided.
    Ended {
        outcome: Outcome,
        /// The exit status of the deciding share.
        exit: Option<ExitStatus>,
        /// The user that asked for it, if any.
        by: Option<Uid>,
        /// Whether it returns to its queue.
        requeue: bool,
    },
    /// It was preempted.
    MadeToYield {
        /// The preemptor and the reason.
        preempted: Preempted,
        /// Whether it returns to its queue.
        requeue: bool,
    },
    /// It preempts another job.
    Preempts {
        victim: AttemptId,
        why: PreemptReason,
    },
    /// Its end was changed before it was carried out.
    EndChanged {
        outcome: Outcome,
        /// The user that asked for it, if any.
        by: Option<Uid>,
        /// Whether it returns to its queue.
        requeue: bool,
    },
    Done {
        outcome: Outcome,
        /// The user that cancelled it, if it was cancelled before it started.
        by: Option<Uid>,
    },
    /// It waits again, for another attempt.
    Requeued {
        /// The attempt that ended.
        attempt: Attempt,
        /// The job that preempted it.
        preempted_by: Option<JobKey>,
    },
    /// Its next attempt is delayed after a fault not its own.
    Delayed {
        until: Time,
        /// The fault, if its node reported one.
        why: Option<String>,
    },
    /// All its dependencies are satisfied.
    Unblocked {
        /// The last job that it waited for.
        by: JobKey,
    },
    /// Its dependencies can no longer be satisfied, and it asked to be cancelled in that case.
    Hopeless {
        why: String,
    },
    /// It is held after too many faults not its own.
    HeldForFaults {
        /// The number of faulty attempts in a row.
        in_a_row: u32,
        /// The last fault, if its node reported one.
        why: Option<String>,
    },
}

/// Adds a line, and drops the oldest if there are too many. Of several checkpoints in a row only
/// the last is kept, so that a job with a thousand checkpoints still shows how it began.
pub(crate) fn add(timeline: &mut Vec<TimelineEntry>, at: Time, what: TimelineEvent) {
    let saves = matches!(what, TimelineEvent::Saved(_));
    if saves && timeline.last().is_some_and(|last| matches!(last.what, TimelineEvent::Saved(_))) {
        timeline.pop();
    }
    if timeline.len() >= TIMELINE_ENTRIES_MAX {
        timeline.remove(0);
    }
    timeline.push(TimelineEntry { at, what });
}
