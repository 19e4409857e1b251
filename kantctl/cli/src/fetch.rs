//! Answers in raw and typed form: `--json` prints the raw form, exactly as the controller sent it.

use crate::failure::Failure;
use crate::server::Server;
use anyhow::Context;
use common::id::JobKey;
use common::wire::api::JobList;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::time::Duration;

#[derive(Debug, Clone)]
pub struct Answer<A> {
    /// As received, including fields that this version does not know.
    pub raw: Value,
    pub typed: A,
}

impl<A: DeserializeOwned> TryFrom<Value> for Answer<A> {
    type Error = Failure;
    fn try_from(raw: Value) -> Result<Self, Failure> {
        let typed = serde_json::from_value(raw.clone()).context(
            "failed to understand the controller's answer: does it have the same \
                      version as kantctl?",
        )?;
        Ok(Self { raw, typed })
    }
}

/// Sends a GET request.
///
/// # Errors
/// [`Failure`] when there is no answer, or the controller refuses.
pub async fn get<A: DeserializeOwned>(server: &Server, path: &str) -> Result<Answer<A>, Failure> {
    server.get::<Value>(path).await?.try_into()
}

/// A job, or the tasks of an array.
///
/// # Errors
/// [`Failure`] when there is no answer within the retry time, or no such job.
pub async fn jobs(
    server: &Server,
    key: JobKey,
    patience: Duration,
) -> Result<Answer<JobList>, Failure> {
    server.get_retrying::<Value>(&format!("/v1/jobs/{key}"), patience).await?.try_into()
}

/// Joins the arrays under `list` of several answers into the first answer.
#[must_use]
pub fn join_lists(answers: Vec<Value>, list: &str) -> Value {
    let mut answers = answers.into_iter();
    let mut joined = answers.next().unwrap_or_else(|| serde_json::json!({ list: [] }));
    for mut answer in answers {
        let more = answer.get_mut(list).and_then(Value::as_array_mut).map(std::mem::take);
        if let Some(all) = joined.get_mut(list).and_then(Value::as_array_mut) {
            all.extend(more.unwrap_or_default());
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn answers_are_joined_by_their_list() {
        let answers = vec![json!({"jobs": [1], "as_of": 5}), json!({"jobs": [2, 3], "as_of": 6})];
        assert_eq!(join_lists(answers, "jobs"), json!({"jobs": [1, 2, 3], "as_of": 5}));
        assert_eq!(join_lists(vec![], "jobs"), json!({"jobs": []}));
    }
}
