//! Attempts that have nodes but do not start to run: because of a dead file system, an output file
//! that is not read, or a process of another job that cannot be killed. The command `StartOverdue`
//! checks again and ends them.

use crate::fault::START_MAX;
use crate::job::{Run, SharePhase};
use crate::lifecycle::set;
use crate::state::State;
use common::id::{AttemptId, NodeName};
use common::job::Phase;
use common::node::Contact;
use common::time::Time;
use std::collections::BTreeSet;
use std::ops::Range;

/// The attempts that should be running by now and are not, in ascending order. Attempts with a node
/// out of contact are left out: they may be running there, and silence has a limit of its own.
#[must_use]
pub fn overdue(state: &State, now: Time) -> Vec<AttemptId> {
    let holders = state.ledger().nodes().flat_map(|(_, held)| held.holders().map(|(id, _)| id));
    let holders: BTreeSet<AttemptId> = holders.collect();
    holders.into_iter().filter(|id| nodes_farthest_behind(state, *id, now).is_some()).collect()
}

/// The nodes that an overdue attempt waits for: those that are farthest behind. `None` if it is not
/// overdue.
pub(crate) fn nodes_farthest_behind(
    state: &State,
    id: AttemptId,
    now: Time,
) -> Option<Vec<NodeName>> {
    let (_, element) = state.element(id.key)?;
    let run = element.run.as_ref()?;
    if element.attempt != id.attempt {
        return None;
    }
    let all = run.allocation.shares().len();
    let (since, ranks) = match element.phase {
        Phase::Starting => (run.allocated_at, 0..all),
        // Joining nodes count as a gang of their own.
        Phase::Running if run.joining > 0 => {
            (run.since(run.joining_ranks().start), run.joining_ranks())
        }
        _ => return None,
    };
    if since + START_MAX > now {
        return None;
    }
    // In a gang, and in a set that starts, ready nodes wait for those that are not.
    let runs = match element.phase {
        Phase::Starting => set::component_runs(state, id.key)?,
        _ => vec![run.as_ref()],
    };
    let is_unready =
        |run: &&Run| run.shares.iter().any(|share| *share < SharePhase::Ready) && run.joining == 0;
    let unready = nodes_before_phase(run, &ranks, SharePhase::Ready);
    let behind = match unready.is_empty() {
        true if runs.len() > 1 && runs.iter().any(is_unready) => return None,
        true => nodes_before_phase(run, &ranks, SharePhase::Running),
        false => unready,
    };
    let in_contact =
        |name: &NodeName| state.node(name).is_some_and(|node| node.contact == Contact::Connected);
    let others = runs.iter().filter(|other| !std::ptr::eq(**other, run.as_ref()));
    let mut others = others.flat_map(|other| other.allocation.shares());
    let reached = run.allocation.shares()[ranks].iter().all(|share| in_contact(&share.node));
    let reached = reached && others.all(|share| in_contact(&share.node));
    // A component whose nodes all run waits for another component, which is then the overdue one.
    (reached && !behind.is_empty()).then_some(behind)
}

fn nodes_before_phase(run: &Run, ranks: &Range<usize>, phase: SharePhase) -> Vec<NodeName> {
    let shares = run.allocation.shares().iter().zip(&run.shares);
    let shares = shares.skip(ranks.start).take(ranks.len());
    shares.filter(|(_, reached)| **reached < phase).map(|(s, _)| s.node.clone()).collect()
}
