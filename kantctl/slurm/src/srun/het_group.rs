//! `--het-group`: the component of a heterogeneous job that a step runs in. A step runs in exactly
//! one.

use cli::failure::Failure;
use common::id::{JobId, JobKey, SET_SIZE_MAX};
use std::collections::BTreeMap;

/// The job of a component, of the named heterogeneous job or of the current one.
///
/// # Errors
/// [`Failure`] when `text` is not a number, or there is no such component.
pub fn key(
    text: &str,
    named: Option<&str>,
    around: &BTreeMap<String, String>,
) -> Result<JobKey, Failure> {
    let usage = |text: String| Failure::usage(anyhow::Error::msg(text));
    let Ok(offset) = text.parse::<u32>() else {
        return Err(usage(format!(
            "--het-group={text}: srun runs a step in one component: write its number, and start \
             one srun for each component, with & and wait"
        )));
    };
    if let Some(named) = named {
        let set: JobKey =
            named.parse().map_err(|error| usage(format!("--jobid={named}: {error}")))?;
        if offset >= SET_SIZE_MAX {
            return Err(usage(format!(
                "--het-group={offset}: a job has at most {SET_SIZE_MAX} components, counted from 0"
            )));
        }
        return Ok(JobKey::component(set.job, offset));
    }
    let job = around.get(&format!("KANT_SET_JOB_{offset}"));
    let job = job.and_then(|job| job.parse().ok()).map(|job| JobKey::single(JobId(job)));
    job.ok_or_else(|| match around.get("KANT_SET_SIZE") {
        Some(size) => usage(format!("--het-group={offset}: the job has {size} components")),
        None => usage(format!("--het-group={offset}: this is not a job with components")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_is_found_by_its_number_in_the_current_or_the_named_job() {
        let pair = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        let around: BTreeMap<String, String> =
            [("KANT_SET_SIZE", "2"), ("KANT_SET_JOB_1", "43")].map(pair).into();
        let none = BTreeMap::new();
        let found = |text, named| key(text, named, &around).unwrap().to_string();
        assert_eq!((found("1", None), found("1", Some("7"))), ("43".into(), "7+1".into()));
        let refused = |text, around| key(text, None, around).unwrap_err().to_string();
        assert!(refused("0,1", &around).contains("one srun for each"));
        assert!(key("128", Some("7"), &none).unwrap_err().to_string().contains("at most 128"));
        assert!(refused("2", &around).contains("has 2 components"));
        assert!(refused("0", &none).contains("not a job with components"));
    }
}
