//! A change of a job (POST /slurm/{version}/job/{job_id}) as kant's patch, and whether it holds or
//! releases the job.
//! Source: Slurm's OpenAPI documents, `job_desc_msg` as the body of an update.

use crate::description::{Description, DescriptionError};
use crate::version::Version;
use common::job::Patch;
use common::job::attributes::{Changeable, TimeLimit, Value as AttributeValue};
use serde_json::Value;

/// A change, read.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    pub patch: Patch,
    /// Whether to hold or to release it; `None`: neither.
    pub hold: Option<bool>,
    /// Fields without effect, in sentences.
    pub warnings: Vec<String>,
}

/// A change that cannot be read, or cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    #[error("a change is an object with fields of a job: write {{\"time_limit\": ..}}")]
    Shape,
    #[error("there is nothing to change: write {{\"time_limit\": ..}}, or another field of a job")]
    Nothing,
    #[error("{0} of a submitted job cannot be changed: cancel it, and submit another")]
    Fixed(&'static str),
    #[error("a time limit cannot be removed: write a number of minutes")]
    Unlimited,
    #[error(transparent)]
    Description(#[from] DescriptionError),
}

/// Reads a change.
///
/// # Errors
/// [`ChangeError`].
pub fn read(body: &Value, version: Version) -> Result<Change, ChangeError> {
    let Value::Object(fields) = body else { return Err(ChangeError::Shape) };
    // Some clients send the description below `job`, as in a submission.
    let fields = match fields.get("job") {
        Some(Value::Object(job)) if fields.len() == 1 => job,
        _ => fields,
    };
    let description = Description::read(fields, version)?;
    for (is_given, name) in [
        (!description.args.is_empty(), "argv"),
        (!description.environment.is_empty(), "environment"),
        (description.script.is_some(), "script"),
        (!description.rlimits.is_empty(), "rlimits"),
    ] {
        if is_given {
            return Err(ChangeError::Fixed(name));
        }
    }
    let mut patch = Patch::default();
    for (attribute, value) in description.given.values() {
        let row = attribute.row();
        if row.changeable == Changeable::Never {
            return Err(ChangeError::Fixed(row.option));
        }
        if matches!(value, AttributeValue::TimeLimit(TimeLimit(None))) {
            return Err(ChangeError::Unlimited);
        }
        patch = patch.with(attribute, value.clone());
    }
    let Description { hold, warnings, .. } = description;
    if patch.is_empty() && hold.is_none() && warnings.is_empty() {
        return Err(ChangeError::Nothing);
    }
    Ok(Change { patch, hold, warnings })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn change(body: &Value) -> Result<Change, String> {
        read(body, Version::V40).map_err(|error| error.to_string())
    }

    #[test]
    fn a_change_is_a_patch_and_a_hold() {
        let number = json!({ "set": true, "infinite": false, "number": 90 });
        let read = change(&json!({ "time_limit": number, "comment": "x", "hold": true })).unwrap();
        assert_eq!(read.patch.to_string(), "--comment=x --time=01:30:00");
        assert_eq!((read.hold, read.warnings.len()), (Some(true), 0));
        let wrapped = change(&json!({ "job": { "partition": "debug" } })).unwrap();
        assert_eq!(wrapped.patch.to_string(), "--queue=debug");
        assert_eq!(change(&json!({ "priority": 0 })).unwrap().hold, Some(true));
        assert_eq!(change(&json!({ "wckey": "x" })).unwrap().warnings.len(), 1);
    }

    #[test]
    fn what_cannot_be_changed_is_named() {
        for (body, text) in [
            (json!([]), "an object"),
            (json!({}), "nothing to change"),
            (json!({ "script": "#!/bin/sh" }), "script of a submitted job"),
            (json!({ "standard_output": "x" }), "output of a submitted job"),
            (json!({ "time_limit": { "infinite": true } }), "cannot be removed"),
            (json!({ "colour": 1 }), "no field `colour`"),
        ] {
            let refused = change(&body).unwrap_err();
            assert!(refused.contains(text), "{body}: {refused}");
        }
    }
}
