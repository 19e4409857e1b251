//! Changes by a coordinator: how the job is scheduled, within the coordinator's own queues and
//! accounts. Not what it is called, who gets mail about it, or what it runs.

use crate::apply::target;
use crate::command::Actor;
use crate::job::Record;
use crate::state::State;
use common::job::{Ask, Attribute, Patch};
use common::reason::Refusal;
use common::right::{JobAction, Right};

/// What a coordinator may change of another user's job.
const ALLOWED: &[Attribute] = &[
    Attribute::Account,
    Attribute::ArrayLimit,
    Attribute::Begin,
    Attribute::Constraint,
    Attribute::CpusPerTask,
    Attribute::Data,
    Attribute::Deadline,
    Attribute::Dependency,
    Attribute::Exclude,
    Attribute::GpuKind,
    Attribute::Gpus,
    Attribute::GpusPerNode,
    Attribute::Mem,
    Attribute::Near,
    Attribute::Nice,
    Attribute::Nodelist,
    Attribute::Nodes,
    Attribute::Ntasks,
    Attribute::Qos,
    Attribute::Queue,
    Attribute::Reservation,
    Attribute::Time,
];

/// Checks a change by a user who is neither the owner nor an operator.
///
/// # Errors
/// [`Refusal::NotYours`], [`Refusal::NotCoordinated`].
pub(super) fn check(
    state: &State,
    record: &Record,
    patch: &Patch,
    changed: &Ask,
    actor: &Actor,
) -> Result<(), Refusal> {
    if patch.attributes().any(|attribute| !ALLOWED.contains(&attribute)) {
        let owner = record.spec.owner.name.clone();
        return Err(Refusal::NotYours { job: record.id, owner, right: Right::Own });
    }
    // A change of one component may delay all of them.
    let others = record.set.into_iter().flat_map(|set| set.keys());
    let mut others = others.filter(|key| state.job(key.job).is_some());
    let right = JobAction::Update.right();
    others.try_for_each(|key| target::check_right(state, actor, right, key))?;
    // The role in a queue gives none in an account, and the reverse.
    let before = &record.spec.ask;
    let is_in = |is_moved: bool, ask: &Ask| !is_moved || state.coordinates(&actor.roles, ask);
    let moves = (
        patch.has(Attribute::Queue) && changed.queue != before.queue,
        patch.has(Attribute::Account) && changed.account != before.account,
    );
    let only_queue = Ask { queue: changed.queue.clone(), ..Ask::default() };
    let only_account = Ask { account: changed.account.clone(), ..Ask::default() };
    let stays = is_in(moves.0, &only_queue)
        && is_in(moves.1, &only_account)
        && state.coordinates(&actor.roles, changed);
    match stays {
        true => Ok(()),
        false => Err(Refusal::NotCoordinated { job: record.id }),
    }
}
