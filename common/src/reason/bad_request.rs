//! What is wrong with a request, where no other refusal has a name for it: one sentence for each
//! cause, with what to do.

use super::{Refusal, WaitReason};
use crate::constraint::Constraint;
use crate::id::{FeatureName, JobId, JobKey, NodeName, QueueName, ReservationName};
use crate::job::attributes::{Changeable, Removed};
use crate::job::dependency::Rule;
use crate::job::{Attribute, JobSize, Patch, SetPlace};
use crate::time::{Span, Time};
use crate::unit::Tasks;
use std::collections::BTreeSet;

/// A cause for which a request is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadRequest {
    #[error("the controller has no queues yet: try again in a moment")]
    NoQueues,
    #[error("at most {limit} is allowed: give that with --time, not UNLIMITED")]
    Unlimited { limit: Span },
    #[error("there are no job ids left")]
    NoIdsLeft,
    #[error(
        "the request key must be 1 to {most} printable characters: send a fresh random one with \
         each job"
    )]
    RequestKey { most: usize },
    #[error("a user with more than {most} groups: leave some of them")]
    TooManyGroups { most: usize },
    #[error("it names a script or environment that the request does not contain")]
    UnknownText,
    #[error("this command submits no job")]
    NoSubmission,
    #[error("{option} of a later component: it applies to the whole set, so give it for the first")]
    OfLaterComponent { option: &'static str },
    #[error("an array cannot have components: leave --array out, or the `:` between them")]
    ArrayOfComponents,
    #[error("a set has a script: submit one, which starts programs in its components")]
    SetWithoutScript,
    #[error(
        "job {first} has components with different requests: name one of {first}+0 to {first}+{}",
        .size - 1
    )]
    WholeSet { first: JobId, size: u32 },

    #[error(
        "{tasks} tasks with {terms} dependencies each: with this number of tasks at most {most} \
         are allowed. Let one job depend on all of them, and the array on that job"
    )]
    TooManyDependencies { tasks: usize, terms: usize, most: usize },
    #[error(
        "job {on} ended so long ago that its outcome, which {} depends on, is no longer stored: \
         leave it out, or write afterany:{on}",
        .rule.word()
    )]
    OutcomeForgotten { on: JobKey, rule: Rule },
    #[error(
        "job {job} would wait for itself through its dependencies (`singleton` waits for all \
         earlier jobs of its name): leave that dependency out"
    )]
    WaitsForItself { job: JobId },
    #[error(
        "job {key} has no time limit, and queue {queue} now allows at most {limit}: submit it \
         again with --time"
    )]
    NowLimited { key: JobKey, queue: QueueName, limit: Span },

    #[error("{option} of a submitted job cannot be changed: submit another job with it")]
    NotChangeable { option: Attribute },
    #[error("{option} cannot be removed from a job: give a new value")]
    NotRemovable { option: Attribute },
    #[error("cannot change one task: the tasks of job {job} share one request; give {job}")]
    OneTask { job: JobId },
    #[error("job {job} is no array: leave --array-limit out")]
    NoArray { job: JobId },
    #[error(
        "job {job} has started: only its time limit, name, comment and e-mail options can be \
         changed now"
    )]
    HasStarted { job: JobId },
    #[error(
        "cannot change the request of job {job}: its tasks share it, and some have started. Only \
         --time, --job-name, --comment, --mail-type, --mail-user and --array-limit can be changed \
         now; otherwise cancel the tasks that wait, and submit them again"
    )]
    SomeHaveStarted { job: JobId },
    #[error(
        "{option} applies to a whole set: change it for the first component, {}",
        SetPlace { offset: 0, ..*.set }.name()
    )]
    OfWholeSet { option: Attribute, set: SetPlace },
    #[error(
        "job {job} has started with a time limit of {before}: you may lower that; operators raise \
         it"
    )]
    TimeRaised { job: JobId, before: Span },

    #[error(
        "job {key} has {has} on {on}: a running job can be shrunk, not enlarged; \
         submitted with --grow, a job takes more nodes by itself"
    )]
    Enlarged { key: JobKey, has: JobSize, on: JobSize },
    #[error("job {key} would keep {keeps}, and requested at least {least}")]
    BelowLeast { key: JobKey, keeps: JobSize, least: Tasks },
    #[error(
        "job {key} cannot be made {size}: it gives up whole nodes, so it can have {} tasks",
        joined(.can, ", ")
    )]
    NoSuchSize { key: JobKey, size: JobSize, can: Vec<Tasks> },

    #[error("reservation {name} has no node: name some, or give a number")]
    ReservesNothing { name: ReservationName },
    #[error("reservation {name} is over at {to} before it begins: give a later end, or a duration")]
    ReservationOver { name: ReservationName, to: Time },
    #[error(
        "the comment of reservation {name} has a line break or other control character, or is \
         longer than {most} bytes: give a shorter one"
    )]
    ReservationComment { name: ReservationName, most: usize },
    #[error("there are {most} reservations already: delete some")]
    TooManyReservations { most: usize },
    #[error("a drain needs a reason of 1 to {most} bytes: say what is wrong with {node}")]
    DrainReason { node: NodeName, most: usize },
    #[error("a token is valid for 1 s to {most}: change --lifespan")]
    TokenLifespan { most: Span },
    #[error("a token needs a scope: give --scope, for example --scope=jobs:read")]
    TokenWithoutScope,
    #[error("the name of a token is at most {most} printable bytes: change --name")]
    TokenName { most: usize },
    #[error("an invitation is valid for 1 s to {most}: change --expires")]
    InvitationExpires { most: Span },
    #[error("an invitation names 1 to {most} nodes: make several")]
    InvitedNodes { most: usize },

    #[error(
        "each component of this set fits, but not all of them at once, even if nothing else ran: \
         component {place} {reason}; ask for less, or submit with --hold to keep it until there \
         are more nodes"
    )]
    NeverTogether { place: usize, reason: WaitReason },
    #[error(
        "no node has the features that --constraint='{asked}' asks for: {}; leave it out, or \
         submit with --hold to keep it until there is such a node",
        features_text(.known)
    )]
    NoSuchFeature { asked: Constraint, known: BTreeSet<FeatureName> },
}

impl From<BadRequest> for Refusal {
    fn from(cause: BadRequest) -> Self {
        Self::BadAsk { message: cause.to_string() }
    }
}

fn features_text(known: &BTreeSet<FeatureName>) -> String {
    match known.len() {
        0 => "no node has any feature".to_owned(),
        _ => format!("nodes have {}", joined(known, ", ")),
    }
}

pub(in crate::reason) fn joined<T: ToString>(
    all: impl IntoIterator<Item = T>,
    between: &str,
) -> String {
    all.into_iter().map(|one| one.to_string()).collect::<Vec<_>>().join(between)
}

impl BadRequest {
    /// Checks that a submitted job can be changed in this way at all.
    ///
    /// # Errors
    /// [`Self::NotChangeable`], [`Self::NotRemovable`].
    pub fn check_patch(patch: &Patch) -> Result<(), Self> {
        for (option, value) in patch.changes() {
            let row = option.row();
            if row.changeable == Changeable::Never {
                return Err(Self::NotChangeable { option });
            }
            if value.is_none() && row.removed == Removed::Never {
                return Err(Self::NotRemovable { option });
            }
        }
        Ok(())
    }
}
