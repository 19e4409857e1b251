//! Which keys a controller holds at each step of the replacement of the cluster key.

use common::wire::api::RotationStep;
use net::{ClusterKey, ClusterKeys};
use state::key_rotation::KeyStatus;

/// What to do.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Followed {
    Already,
    /// Hold these keys from now on.
    With(ClusterKeys),
    /// The key of this authority is needed.
    Lacks(String),
}

/// Compares the keys with the step of the log. A log that is behind the keys says nothing: it is
/// still being read.
///
/// # Errors
/// Those of `authority`, which returns the fingerprint of a key's authority.
pub(super) fn keys_at_step<E>(
    keys: &ClusterKeys,
    status: &KeyStatus,
    authority: impl Fn(&ClusterKey) -> Result<String, E>,
) -> Result<Followed, E> {
    if status.generation <= keys.generation {
        return Ok(Followed::Already);
    }
    let generation = status.generation;
    let with = |issuing: &ClusterKey, other: Option<&ClusterKey>| {
        let (issuing, other) = (issuing.clone(), other.cloned());
        Followed::With(ClusterKeys { generation, issuing, other })
    };
    let wanted = match (&status.rotation, &status.authority) {
        (Some(rotation), _) => &rotation.new,
        (None, Some(authority)) => authority,
        // A replacement was cancelled before the new key issued anything, or a backup restored.
        (None, None) => return Ok(with(&keys.issuing, None)),
    };
    let (of_issuing, of_other) =
        (authority(&keys.issuing)?, keys.other.as_ref().map(&authority).transpose()?);
    let (found, remaining) = match &keys.other {
        _ if of_issuing == *wanted => (&keys.issuing, keys.other.as_ref()),
        Some(other) if of_other.as_ref() == Some(wanted) => (other, Some(&keys.issuing)),
        _ => return Ok(Followed::Lacks(wanted.clone())),
    };
    Ok(match (status.rotation.as_ref().map(|rotation| rotation.step), remaining) {
        (None, _) => with(found, None),
        (Some(RotationStep::Issue), remaining) => with(found, remaining),
        (Some(RotationStep::Trust), Some(old)) => with(old, Some(found)),
        // The only key is the new one already.
        (Some(RotationStep::Trust), None) => with(found, None),
    })
}
