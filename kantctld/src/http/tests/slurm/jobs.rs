//! Changes and ends of jobs, and lists of accounting, by Slurm's REST API.

use super::super::Served;
use super::{asked, error, secret};
use common::token::Scope;
use serde_json::{Value, json};

/// A held job of root, and a token that may do everything with it.
async fn held_job(served: &Served) -> (String, u64) {
    let scopes = [Scope::JobsRead, Scope::JobsSubmit, Scope::JobsManage, Scope::ClusterRead];
    let secret = secret(served, &scopes).await;
    let job = json!({ "current_working_directory": "/", "hold": true });
    let body = json!({ "script": "#!/bin/sh\n", "job": job }).to_string();
    let answer = asked(served, "POST /slurm/v0.0.42/job/submit", &secret, &body).await;
    let id = answer.json()["job_id"].as_u64().unwrap();
    (secret, id)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_without_effect_is_about_a_job_that_there_is() {
    let served = Served::start().await;
    let (secret, id) = held_job(&served).await;
    let change = async |id: &str, body: Value| {
        let line = format!("POST /slurm/v0.0.42/job/{id}");
        asked(&served, &line, &secret, &body.to_string()).await
    };
    let unused = json!({ "wckey": "w" });
    for (id, status) in [("999", 404), ("abc", 400)] {
        let answer = change(id, unused.clone()).await;
        assert_eq!(answer.status, status, "{id}: {}", answer.body);
    }
    let id = id.to_string();
    let answer = change(&id, unused.clone()).await;
    assert_eq!((answer.status, answer.json()["warnings"].as_array().unwrap().len()), (200, 1));
    // A priority releases a held job, and does nothing with another.
    let priority = json!({ "priority": { "set": true, "infinite": true } });
    for released in [json!([{ "job_id": 1 }]), json!([])] {
        let answer = change(&id, priority.clone()).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let count = released.as_array().unwrap().len();
        assert_eq!(answer.json()["results"].as_array().unwrap().len(), count, "{}", answer.body);
    }
    served.audited(&[("verb", "jobs/release"), ("target", &id)]).await;
    assert_eq!(change(&id, json!({ "priority": 0 })).await.status, 200);
    served.audited(&[("verb", "jobs/hold"), ("target", &id)]).await;
    let line = format!("DELETE /slurm/v0.0.42/job/{id}");
    assert_eq!(asked(&served, &line, &secret, "").await.status, 200);
    let answer = change(&id, unused).await;
    assert_eq!(answer.status, 409, "an ended job: {}", answer.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_in_two_parts_says_which_was_made() {
    let served = Served::start().await;
    let (secret, id) = held_job(&served).await;
    let line = format!("POST /slurm/v0.0.42/job/{id}");
    let change = async |body: Value| asked(&served, &line, &secret, &body.to_string()).await;
    let cleared = change(json!({ "comment": "x", "dependency": "", "nice": 7 })).await;
    assert_eq!(cleared.status, 200, "{}", cleared.body);
    assert_eq!(change(json!({ "nice": 0, "hold": false })).await.status, 200);
    let detail = "--nice=0, released";
    served.audited(&[("verb", "jobs/update"), ("detail", detail)]).await;
    let refused = change(json!({ "hold": true, "partition": "none" })).await;
    let text = error(&refused)["description"].as_str().unwrap().to_owned();
    assert!(text.starts_with("the job is held, but unchanged: "), "{text}");
    let line = format!("GET /slurm/v0.0.42/job/{id}");
    let job = asked(&served, &line, &secret, "").await.json()["jobs"][0].clone();
    assert_eq!((&job["nice"], &job["hold"]), (&json!(0), &json!(true)), "{job}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_accounting_has_the_jobs_that_its_filters_select() {
    let served = Served::start().await;
    let (secret, first) = held_job(&served).await;
    let (_, second) = held_job(&served).await;
    let ids = async |query: &str| {
        let line = format!("GET /slurmdb/v0.0.42/jobs?{query}");
        let whole = asked(&served, &line, &secret, "").await.json();
        let ids = whole["jobs"].as_array().unwrap().iter().map(|job| job["job_id"].as_u64());
        ids.collect::<Option<Vec<u64>>>().unwrap()
    };
    assert_eq!(ids(&format!("step={second}")).await, [second]);
    assert_eq!(ids(&format!("step={first},{second}&users=daemon,%20root")).await.len(), 2);
    assert_eq!(ids("state=RUNNING").await, [0; 0]);
    let line = format!("DELETE /slurm/v0.0.42/job/{first}");
    assert_eq!(asked(&served, &line, &secret, "").await.status, 200);
    assert_eq!(ids("state=CANCELLED").await, [first]);
    assert_eq!(ids(&format!("step={first}")).await, [first]);
    for path in ["users?user=root", "accounts?description=x", "qos?name=x", "associations?user=x"] {
        let answer = asked(&served, &format!("GET /slurmdb/v0.0.42/{path}"), &secret, "").await;
        assert_eq!(answer.status, 400, "{path}: {}", answer.body);
    }
    let answer = asked(&served, "GET /slurmdb/v0.0.42/accounts?with_deleted=true", &secret, "");
    assert_eq!(answer.await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_is_audited_as_one_and_a_flag_that_is_not_known_is_refused() {
    let served = Served::start().await;
    let (secret, id) = held_job(&served).await;
    let end = async |query: &str| {
        let line = format!("DELETE /slurm/v0.0.42/job/{id}?{query}");
        asked(&served, &line, &secret, "").await
    };
    for (query, words) in [
        ("signal=USR1&flags=COLOUR", "there is no `COLOUR`"),
        ("sygnal=USR1", "no filter `sygnal`"),
        ("signal=NONE", "signal: "),
    ] {
        let answer = end(query).await;
        let text = error(&answer)["description"].as_str().unwrap().to_owned();
        assert!(answer.status == 400 && text.contains(words), "{query}: {text}");
    }
    assert_eq!(end("signal=USR1&flags=FULL_JOB").await.status, 409, "it does not run");
    let id = id.to_string();
    served.audited(&[("verb", "jobs/signal"), ("target", &id), ("result", "refused")]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_component_belongs_to_the_user_of_the_token() {
    let served = Served::start().await;
    let secret = secret(&served, &[Scope::JobsSubmit]).await;
    let component =
        |user: &str| json!({ "current_working_directory": "/", "user_id": user, "hold": true });
    for (second, status) in [("daemon", 403), ("root", 200)] {
        let body = json!({ "script": "#!/bin/sh\n", "jobs": [component("0"), component(second)] });
        let line = "POST /slurm/v0.0.42/job/submit";
        let answer = asked(&served, line, &secret, &body.to_string()).await;
        assert_eq!(answer.status, status, "{second}: {}", answer.body);
    }
}
