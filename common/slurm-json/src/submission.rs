//! A submission (POST /slurm/{version}/job/submit) as kant's request: `{"script": .., "job":
//! {..}}`, or `{"script": .., "jobs": [{..}, ..]}` for a heterogeneous job.
//! Source: Slurm's OpenAPI documents, `job_submit_req`.

use crate::description::{Description, DescriptionError, Purpose};
use crate::input;
use crate::version::Version;
use common::job::Ask;
use common::job::asked::{self, AskedError};
use common::job::attributes::Attribute;
use common::resource::Request;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// A submission, read.
#[derive(Debug, Clone, PartialEq)]
pub struct Submission {
    /// The request of each component; one for most jobs.
    pub asks: Vec<Ask>,
    pub script: String,
    pub environment: BTreeMap<String, String>,
    /// The names or numbers that the components should belong to, as far as the client gave them.
    pub users: BTreeSet<String>,
    pub groups: BTreeSet<String>,
    /// Fields without effect, in sentences.
    pub warnings: Vec<String>,
}

/// A submission that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SubmissionError {
    #[error("a submission is an object: write {{\"script\": \"#!/bin/sh\\n..\", \"job\": {{..}}}}")]
    Shape,
    #[error(
        "a submission has no field `{0}`: write {{\"script\": .., \"job\": {{..}}}}, or jobs for a \
         heterogeneous job"
    )]
    Unknown(String),
    #[error("script: a submission needs one, as a text")]
    NoScript,
    #[error(
        "script: only the first component runs it; leave it out of component {0}, or give the same \
         one"
    )]
    TwoScripts(usize),
    #[error(
        "environment: all components share one; leave it out of component {0}, or give the same one"
    )]
    TwoEnvironments(usize),
    #[error("current_working_directory: a job needs one, as an absolute path")]
    NoDirectory,
    #[error(transparent)]
    Description(#[from] DescriptionError),
    /// Attributes that exclude each other.
    #[error(transparent)]
    Asked(#[from] AskedError),
}

/// Reads a submission.
///
/// # Errors
/// [`SubmissionError`].
pub fn read(body: &Value, version: Version) -> Result<Submission, SubmissionError> {
    let Value::Object(body) = body else { return Err(SubmissionError::Shape) };
    if let Some(name) = body.keys().find(|name| !["script", "job", "jobs"].contains(&name.as_str()))
    {
        return Err(SubmissionError::Unknown(name.clone()));
    }
    let descriptions = components(body)?
        .into_iter()
        .map(|fields| Description::read(fields, version, Purpose::Submission))
        .collect::<Result<Vec<Description>, _>>()?;
    let (Some(first), others) = (descriptions.first(), &descriptions[1..]) else {
        return Err(SubmissionError::Shape);
    };
    let above = body.get("script").filter(|value| !input::is_empty(value));
    let above = above.map(input::text).transpose().map_err(|_| SubmissionError::NoScript)?;
    let script = above.or_else(|| first.script.clone()).ok_or(SubmissionError::NoScript)?;
    for (place, other) in (1..).zip(others) {
        if other.script.as_ref().is_some_and(|text| *text != script) {
            return Err(SubmissionError::TwoScripts(place));
        }
        if !other.environment.is_empty() && other.environment != first.environment {
            return Err(SubmissionError::TwoEnvironments(place));
        }
    }
    let asks = descriptions.iter().map(ask).collect::<Result<Vec<Ask>, _>>()?;
    Ok(Submission {
        asks,
        script,
        environment: first.environment.clone(),
        users: descriptions.iter().filter_map(|one| one.user.clone()).collect(),
        groups: descriptions.iter().filter_map(|one| one.group.clone()).collect(),
        warnings: descriptions.iter().flat_map(|one| one.warnings.clone()).collect(),
    })
}

/// The descriptions of all components.
fn components(body: &Map<String, Value>) -> Result<Vec<&Map<String, Value>>, SubmissionError> {
    match (body.get("job"), body.get("jobs")) {
        (Some(Value::Object(job)), None | Some(Value::Null)) => Ok(vec![job]),
        (None | Some(Value::Null), Some(Value::Array(jobs))) if !jobs.is_empty() => {
            jobs.iter().map(|job| job.as_object().ok_or(SubmissionError::Shape)).collect()
        }
        _ => Err(SubmissionError::Shape),
    }
}

/// The request of a description, with the defaults of sbatch.
fn ask(description: &Description) -> Result<Ask, SubmissionError> {
    let given = description.given.clone().with_all_named_nodes();
    if !given.has(Attribute::Chdir) {
        return Err(SubmissionError::NoDirectory);
    }
    let pattern = if given.has(Attribute::Array) { "slurm-%A_%a.out" } else { "slurm-%j.out" };
    let mut ask = Ask {
        args: description.args.clone(),
        rlimits: description.rlimits.clone().into(),
        stdout: Some(pattern.to_owned()),
        hold: description.hold.unwrap_or(false),
        ..Ask::default()
    };
    for (attribute, value) in given.values() {
        ask.set(attribute, Some(value));
    }
    let request: Request = asked::request(&given, &ask.request)?;
    Ok(Ask { request, ..ask })
}

#[cfg(test)]
mod tests;
