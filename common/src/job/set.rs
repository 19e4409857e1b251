//! Het jobs (Slurm: heterogeneous jobs): jobs that are submitted together, and start and end
//! together, with different requests. Each component has a job id; the ids are consecutive.

use super::check::AskError;
use crate::id::{JobId, JobKey, SET_SIZE_MAX};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A job's position in a het job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SetPlace {
    /// The first component, which names the het job and has the script.
    pub first: JobId,
    /// The position of this component, from 0.
    pub offset: u32,
    /// The number of components.
    pub size: u32,
}

impl SetPlace {
    /// The name of this component, as in `42+1`.
    #[must_use]
    pub const fn name(self) -> JobKey {
        JobKey::component(self.first, self.offset)
    }

    #[must_use]
    pub const fn first_key(self) -> JobKey {
        JobKey::single(self.first)
    }

    /// The keys of all components, in order.
    pub fn keys(self) -> impl DoubleEndedIterator<Item = JobKey> {
        let last = self.first.0.saturating_add(self.size);
        (self.first.0..last).map(|job| JobKey::single(JobId(job)))
    }
}

/// Checks the number of components of a het job.
///
/// # Errors
/// [`AskError::SetSize`].
pub fn check_size(count: usize) -> Result<(), AskError> {
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    if (2..=SET_SIZE_MAX).contains(&count) {
        return Ok(());
    }
    Err(AskError::SetSize { count, most: SET_SIZE_MAX })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_have_numbers_that_follow_each_other_and_a_name_each() {
        let place = SetPlace { first: JobId(42), offset: 1, size: 3 };
        let keys: Vec<String> = place.keys().map(|key| key.to_string()).collect();
        assert_eq!(keys, ["42", "43", "44"]);
        assert_eq!(place.name().to_string(), "42+1");
        assert_eq!(place.first_key(), JobKey::single(JobId(42)));
    }
}
