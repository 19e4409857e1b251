//! A change of a job (POST /slurm/{version}/job/{job_id}) as kant's patch, and whether it holds or
//! releases the job.
//! Source: Slurm's OpenAPI documents, `job_desc_msg` as the body of an update.

use crate::description::{Description, DescriptionError, Purpose};
use crate::version::Version;
use common::job::Patch;
use serde_json::Value;

/// What a change does to the hold of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    Hold,
    Release,
    /// By a priority, which a job may have that is not held.
    ReleaseIfHeld,
}

/// A change, read.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    pub patch: Patch,
    pub hold: Option<Hold>,
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
    #[error("{field}: {why}")]
    Field { field: &'static str, why: common::job::ChangeError },
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
    let description = Description::read(fields, version, Purpose::Change)?;
    for (is_given, name) in [
        (!description.environment.is_empty(), "environment"),
        (description.script.is_some(), "script"),
        (!description.rlimits.is_empty(), "rlimits"),
        (description.user.is_some(), "user_id"),
        (description.group.is_some(), "group_id"),
    ] {
        if is_given {
            return Err(ChangeError::Fixed(name));
        }
    }
    let patch = patch(&description)?;
    let hold = match (description.hold, description.has_priority) {
        (Some(true), _) => Some(Hold::Hold),
        (Some(false), _) => Some(Hold::Release),
        (None, true) => Some(Hold::ReleaseIfHeld),
        (None, false) => None,
    };
    let warnings = description.warnings;
    if patch.is_empty() && hold.is_none() && warnings.is_empty() {
        return Err(ChangeError::Nothing);
    }
    Ok(Change { patch, hold, warnings })
}

fn patch(description: &Description) -> Result<Patch, ChangeError> {
    let given = description.given.values().map(|(attribute, value)| (attribute, Some(value)));
    let removed = description.removed.iter().map(|attribute| (*attribute, None));
    given.chain(removed).try_fold(Patch::default(), |patch, (attribute, value)| {
        let field = description.field_of(attribute);
        patch.try_with(attribute, value.cloned()).map_err(|why| match why {
            common::job::ChangeError::Fixed => ChangeError::Fixed(field),
            why => ChangeError::Field { field, why },
        })
    })
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
        assert_eq!((read.hold, read.warnings.len()), (Some(Hold::Hold), 0));
        let wrapped = change(&json!({ "job": { "partition": "debug" } })).unwrap();
        assert_eq!(wrapped.patch.to_string(), "--queue=debug");
        assert_eq!(change(&json!({ "priority": 0 })).unwrap().hold, Some(Hold::Hold));
        assert_eq!(change(&json!({ "wckey": "x" })).unwrap().warnings.len(), 1);
    }

    #[test]
    fn what_cannot_be_changed_is_named() {
        for (body, text) in [
            (json!([]), "an object"),
            (json!({}), "nothing to change"),
            (json!({ "script": "#!/bin/sh" }), "script of a submitted job"),
            (json!({ "standard_output": "x" }), "standard_output of a submitted job"),
            (json!({ "time_limit": { "infinite": true } }), "cannot be removed"),
            (json!({ "argv": ["job.sh"] }), "argv: it cannot be changed"),
            (json!({ "user_id": "ada" }), "user_id of a submitted job"),
            (json!({ "group_id": "lab" }), "group_id of a submitted job"),
            (json!({ "nodes": "1-4" }), "nodes: a range of nodes"),
            (json!({ "minimum_nodes": 2, "maximum_nodes": 4 }), "nodes: a range of nodes"),
            (json!({ "partition": "" }), "partition: it cannot be removed"),
            (json!({ "flags": [] }), "flags: it cannot be removed"),
            (json!({ "tasks": 0 }), "tasks: it cannot be removed"),
            (json!({ "tres_per_job": "gres/gpu:2", "tres_per_node": "" }), "changed twice"),
            (json!({ "colour": 1 }), "no field `colour`"),
        ] {
            let refused = change(&body).unwrap_err();
            assert!(refused.contains(text), "{body}: {refused}");
        }
    }

    #[test]
    fn an_empty_value_removes_an_attribute() {
        let body = json!({
            "dependency": "", "excluded_nodes": [], "comment": "", "begin_time": 0,
            "deadline": { "set": true, "number": 0 }, "nice": 0, "qos": null,
            "time_limit": { "set": false, "number": 0 },
        });
        let shown = "--comment= --begin=none --deadline=none --nice=0 --exclude=none \
                     --dependency=none";
        assert_eq!(change(&body).unwrap().patch.to_string(), shown);
        assert_eq!(change(&json!({ "dependency": null })), change(&json!({})));
    }

    #[test]
    fn a_priority_releases_a_held_job() {
        for priority in [json!(500), json!({ "set": true, "infinite": true })] {
            let read = change(&json!({ "priority": priority })).unwrap();
            assert_eq!((read.hold, read.warnings.len()), (Some(Hold::ReleaseIfHeld), 1));
        }
        let both = change(&json!({ "priority": 5, "hold": true })).unwrap();
        assert_eq!(both.hold, Some(Hold::Hold));
    }
}
