//! Jobs as users name them: `42`, `42_7`, `42+1`, `42_[0-3],50`. Never looks whether they exist.

use common::hostlist::{self, HostlistError};
use common::id::JobKey;
use common::wire::api::JobView;
use std::collections::BTreeSet;
use std::str::FromStr;

/// A text that names no jobs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeysError {
    #[error(
        "write a job's number (42), an array's task (42_7), a component (42+1), or several \
         (42_[0-3],50)"
    )]
    Shape,
    /// Stands for too many jobs.
    #[error("it stands for more than {} jobs", hostlist::HOSTS_MAX)]
    TooMany,
}

/// The jobs that one word names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keys(pub Vec<JobKey>);

impl FromStr for Keys {
    type Err = KeysError;
    /// Lists of jobs are written as lists of nodes are.
    fn from_str(text: &str) -> Result<Self, KeysError> {
        if text.contains('.') {
            return Err(KeysError::Shape);
        }
        // No node has a plus in its name, as components of sets have; and no job has a dot.
        let names = hostlist::expand(&text.replace('+', ".")).map_err(|error| match error {
            HostlistError::TooMany(_) => KeysError::TooMany,
            _ => KeysError::Shape,
        })?;
        let keys = names.iter().map(|name| name.as_str().replace('.', "+").parse());
        keys.collect::<Result<_, _>>().map(Keys).map_err(|_| KeysError::Shape)
    }
}

/// All the jobs that several words name, each once, in the order given.
#[must_use]
pub fn all(words: &[Keys]) -> Vec<JobKey> {
    let mut seen = BTreeSet::new();
    words.iter().flat_map(|word| &word.0).copied().filter(|key| seen.insert(*key)).collect()
}

/// Is a job among those named: by its key, its array or set, or its plain number?
#[must_use]
pub fn name(keys: &[JobKey], job: &JobView) -> bool {
    keys.iter().any(|key| names_of(job).contains(&Some(*key)))
}

fn names_of(job: &JobView) -> [Option<JobKey>; 5] {
    let number = job.number.map(JobKey::single);
    let whole = JobKey::single(job.key.job);
    [Some(job.key), Some(whole), number, Some(job.name()), Some(job.whole())]
}

/// The same for many jobs, in the same time however many are named.
pub struct Named(BTreeSet<JobKey>);

impl Named {
    /// Those that are named.
    #[must_use]
    pub fn new(keys: &[JobKey]) -> Self {
        Self(keys.iter().copied().collect())
    }

    /// Is this one among them?
    #[must_use]
    pub fn holds(&self, job: &JobView) -> bool {
        names_of(job).iter().flatten().any(|key| self.0.contains(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_tasks_and_ranges_are_named_in_one_word() {
        let show = |text: &str| -> Vec<String> {
            all(&[text.parse().unwrap()]).iter().map(ToString::to_string).collect()
        };
        assert_eq!(show("42"), ["42"]);
        assert_eq!(show("42_[0-2],7,42_1"), ["42_0", "42_1", "42_2", "7"]);
        assert_eq!(show("42+1,42+[2-3]"), ["42+1", "42+2", "42+3"]);
    }

    #[test]
    fn nonsense_names_no_job() {
        for text in ["", "x", "-1", "42_", "42_x", "42_[", "42.5", "99999999999", "1 2"] {
            assert_eq!(text.parse::<Keys>(), Err(KeysError::Shape), "{text}");
        }
        assert_eq!("1_[0-999999]".parse::<Keys>(), Err(KeysError::TooMany));
    }
}
