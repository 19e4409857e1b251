//! The parsing of job keys, and the names of components of het jobs, `42+1`. Such a name is not a
//! key, because each component is a job with its own id.

use super::{ArrayIndex, IdError, JobId, JobKey};
use std::str::FromStr;

/// The maximum number of components of a het job.
pub const SET_SIZE_MAX: u32 = 128;

impl JobKey {
    /// The name of a component of the het job that begins with this job, counted from 0. The state
    /// maps the name to a job. An offset beyond [`SET_SIZE_MAX`] gives the last one.
    #[must_use]
    pub const fn component(first: JobId, offset: u32) -> Self {
        let offset = if offset < SET_SIZE_MAX { offset } else { SET_SIZE_MAX - 1 };
        // No array has so high an index.
        Self { job: first, index: Some(ArrayIndex(u32::MAX - offset)) }
    }

    /// The offset of the component that it names, if any.
    #[must_use]
    pub const fn component_offset(self) -> Option<u32> {
        match self.index {
            Some(ArrayIndex(index)) if index > u32::MAX - SET_SIZE_MAX => Some(u32::MAX - index),
            _ => None,
        }
    }
}

impl FromStr for JobKey {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        let key = parse_serialized(text)?;
        let is_name = text.contains('+');
        if key.component_offset().is_some() == is_name {
            Ok(key)
        } else {
            Err(IdError::Job(text.to_owned()))
        }
    }
}

/// The serialized form, in which the index of an array task may be as high as those of components.
pub(super) fn parse_serialized(text: &str) -> Result<JobKey, IdError> {
    let bad = || IdError::Job(text.to_owned());
    let digits = |t: &str| -> Result<u32, IdError> {
        if t.is_empty() || !t.bytes().all(|b| b.is_ascii_digit()) {
            return Err(bad());
        }
        t.parse().map_err(|_| bad())
    };
    if let Some((job, offset)) = text.split_once('+') {
        let offset = digits(offset)?;
        let named = JobKey::component(JobId(digits(job)?), offset);
        return if offset < SET_SIZE_MAX { Ok(named) } else { Err(bad()) };
    }
    let Some((job, index)) = text.split_once('_') else {
        return Ok(JobKey::single(JobId(digits(text)?)));
    };
    Ok(JobKey { job: JobId(digits(job)?), index: Some(ArrayIndex(digits(index)?)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_is_named_by_its_set_and_its_place() {
        let named: JobKey = "42+1".parse().unwrap();
        assert_eq!((named.job, named.component_offset()), (JobId(42), Some(1)));
        assert_eq!(named, JobKey::component(JobId(42), 1));
        for key in ["42", "42_0", "42_4294967167"] {
            assert_eq!(key.parse::<JobKey>().unwrap().component_offset(), None, "{key}");
        }
    }

    #[test]
    fn an_index_in_the_log_may_be_higher_than_users_may_write() {
        let old = "42_4294967295";
        assert_eq!(old.parse::<JobKey>(), Err(IdError::Job(old.to_owned())));
        let read = JobKey::try_from(old.to_owned()).unwrap();
        assert_eq!((read.job, read.index), (JobId(42), Some(ArrayIndex(u32::MAX))));
    }
}
