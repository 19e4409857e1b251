//! What a change has done: the answers of a submission, an update and a cancellation.
//! Source: Slurm's OpenAPI documents, `job_submit_response`, `job_post_response`, `kill_job_resp`.

use crate::field::Field;
use crate::version::Version;
use common::id::{JobId, JobKey};
use serde_json::{Map, Value, json};

/// The step of a job's script.
const BATCH: &str = "batch";

/// A job was accepted; `note` is for its user.
#[must_use]
pub fn submission_answer(job: JobId, note: Option<&str>, version: Version) -> Map<String, Value> {
    let note = note.unwrap_or_default();
    let mut fields = Map::new();
    fields.insert("job_id".to_owned(), json!(job.0));
    fields.insert("step_id".to_owned(), json!(BATCH));
    fields.insert("job_submit_user_msg".to_owned(), json!(note));
    if matches!(version, Version::V40 | Version::V41) {
        let result = json!({
            "job_id": job.0,
            "step_id": BATCH,
            "error_code": 0,
            "error": "",
            "job_submit_user_msg": note,
        });
        fields.insert("result".to_owned(), result);
    }
    fields
}

/// Jobs were changed.
#[must_use]
pub fn update_answer(jobs: &[JobKey], version: Version) -> Map<String, Value> {
    if version.is_plain() {
        return Map::new();
    }
    let one = |key: &JobKey| {
        json!({
            "job_id": key.job.0, "step_id": BATCH, "error": "", "error_code": 0, "why": "",
        })
    };
    Map::from_iter([("results".to_owned(), jobs.iter().map(one).collect())])
}

/// Jobs were ended, or got a signal.
#[must_use]
pub fn cancellation_answer(jobs: &[JobKey], version: Version) -> Map<String, Value> {
    if version < Version::V42 {
        return Map::new();
    }
    let one = |key: &JobKey| {
        json!({
            "job_id": Field::Number(Some(key.job.0.into())).to_json(version),
            "step_id": key.to_string(),
            "error": { "string": "", "code": 0, "message": "" },
            "federation": { "sibling": "" },
        })
    };
    Map::from_iter([("status".to_owned(), jobs.iter().map(one).collect())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_submission_answers_with_the_job_id_in_each_version() {
        for version in Version::all() {
            let fields = submission_answer(JobId(42), Some("note"), version);
            assert_eq!((&fields["job_id"], &fields["step_id"]), (&json!(42), &json!("batch")));
            assert_eq!(fields["job_submit_user_msg"], "note");
            let has_result = [Version::V40, Version::V41].contains(&version);
            assert_eq!(fields.get("result").is_some(), has_result, "{version}");
        }
    }

    #[test]
    fn a_change_names_the_jobs() {
        let jobs = ["42", "43_7"].map(|key| key.parse().unwrap());
        assert_eq!(update_answer(&jobs, Version::V38), Map::new());
        assert_eq!(update_answer(&jobs, Version::V40)["results"][1]["job_id"], 43);
        assert_eq!(cancellation_answer(&jobs, Version::V41), Map::new());
        let status = &cancellation_answer(&jobs, Version::V42)["status"][0];
        assert_eq!(status["job_id"]["number"], 42);
        assert_eq!(status["step_id"], "42");
    }
}
