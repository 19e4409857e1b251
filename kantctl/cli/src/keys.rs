//! Job names as users write them: `42`, `42_7`, `42+1`, `42_[0-3],50`. Whether the jobs exist is
//! not checked here.

use common::hostlist::{self, HostlistError};
use common::id::JobKey;
use common::wire::api::JobView;
use std::collections::BTreeSet;
use std::str::FromStr;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeysError {
    #[error(
        "write a job's number (42), an array's task (42_7), a component (42+1), or several \
         (42_[0-3],50)"
    )]
    Shape,
    #[error("this list contains more than {} jobs", hostlist::HOSTS_MAX)]
    TooMany,
}

/// The jobs of one argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keys(pub Vec<JobKey>);

impl FromStr for Keys {
    type Err = KeysError;
    /// Lists of jobs have the same syntax as lists of nodes.
    fn from_str(text: &str) -> Result<Self, KeysError> {
        if text.contains('.') {
            return Err(KeysError::Shape);
        }
        // Node names may not contain the `+` of components, and job names contain no dot.
        let names = hostlist::expand(&text.replace('+', ".")).map_err(|error| match error {
            HostlistError::TooMany(_) => KeysError::TooMany,
            _ => KeysError::Shape,
        })?;
        let keys = names.iter().map(|name| name.as_str().replace('.', "+").parse());
        keys.collect::<Result<_, _>>().map(Keys).map_err(|_| KeysError::Shape)
    }
}

/// All jobs of several arguments, without duplicates, in the given order.
#[must_use]
pub fn flatten(words: &[Keys]) -> Vec<JobKey> {
    let mut seen = BTreeSet::new();
    words.iter().flat_map(|word| &word.0).copied().filter(|key| seen.insert(*key)).collect()
}

/// Whether a job is listed: by its key, its array or het job, or its plain number.
#[must_use]
pub fn contains_job(keys: &[JobKey], job: &JobView) -> bool {
    keys.iter().any(|key| keys_of_job(job).contains(&Some(*key)))
}

fn keys_of_job(job: &JobView) -> [Option<JobKey>; 5] {
    let number = job.number.map(JobKey::single);
    let whole = JobKey::single(job.key.job);
    [Some(job.key), Some(whole), number, Some(job.name()), Some(job.whole_job_key())]
}

/// A set of job keys with fast lookup, for long lists.
pub struct JobKeySet(BTreeSet<JobKey>);

impl JobKeySet {
    #[must_use]
    pub fn new(keys: &[JobKey]) -> Self {
        Self(keys.iter().copied().collect())
    }

    #[must_use]
    pub fn contains_job(&self, job: &JobView) -> bool {
        keys_of_job(job).iter().flatten().any(|key| self.0.contains(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_tasks_and_ranges_are_read_from_one_argument() {
        let show = |text: &str| -> Vec<String> {
            flatten(&[text.parse().unwrap()]).iter().map(ToString::to_string).collect()
        };
        assert_eq!(show("42"), ["42"]);
        assert_eq!(show("42_[0-2],7,42_1"), ["42_0", "42_1", "42_2", "7"]);
        assert_eq!(show("42+1,42+[2-3]"), ["42+1", "42+2", "42+3"]);
    }

    #[test]
    fn invalid_text_is_refused() {
        for text in ["", "x", "-1", "42_", "42_x", "42_[", "42.5", "99999999999", "1 2"] {
            assert_eq!(text.parse::<Keys>(), Err(KeysError::Shape), "{text}");
        }
        assert_eq!("1_[0-999999]".parse::<Keys>(), Err(KeysError::TooMany));
    }
}
