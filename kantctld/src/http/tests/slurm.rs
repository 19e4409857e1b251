//! Slurm's REST API on the HTTP port.

mod jobs;

use super::{Answer, Served};
use axum::body::Body;
use axum::http::Request;
use common::token::Scope;
use serde_json::{Value, json};

const VERSIONS: [&str; 7] =
    ["v0.0.38", "v0.0.40", "v0.0.41", "v0.0.42", "v0.0.43", "v0.0.44", "v0.0.45"];

async fn asked(served: &Served, line: &str, secret: &str, body: &str) -> Answer {
    let token = format!("x-slurm-user-token: {secret}");
    served.ask(line, &[&token, "content-type: application/json"], body).await
}

async fn secret(served: &Served, scopes: &[Scope]) -> String {
    served.token(scopes).await.secret.0
}

#[tokio::test(flavor = "multi_thread")]
async fn each_version_answers_in_its_frame() {
    let served = Served::start().await;
    let secret = secret(&served, &[Scope::JobsRead, Scope::ClusterRead]).await;
    for version in VERSIONS {
        for (path, field) in [
            ("slurm/{version}/ping", "pings"),
            ("slurm/{version}/diag", "statistics"),
            ("slurm/{version}/jobs", "jobs"),
            ("slurm/{version}/jobs/", "jobs"),
            ("slurm/{version}/nodes/?update_time=0", "nodes"),
            ("slurm/{version}/partitions", "partitions"),
            ("slurm/{version}/reservations", "reservations"),
            ("slurm/{version}/licenses", "licenses"),
            ("slurmdb/{version}/jobs", "jobs"),
            ("slurmdb/{version}/accounts/", "accounts"),
            ("slurmdb/{version}/qos", "qos"),
            ("slurmdb/{version}/users", "users"),
            ("slurmdb/{version}/associations", "associations"),
            ("slurmdb/{version}/clusters", "clusters"),
            ("slurmdb/{version}/ping", "pings"),
        ] {
            let path = path.replace("{version}", version);
            let answer = asked(&served, &format!("GET /{path}"), &secret, "").await;
            assert_eq!(answer.status, 200, "{path}: {}", answer.body);
            check_type(&answer);
            let whole = answer.json();
            assert_eq!(whole["errors"], json!([]), "{path}");
            assert!(whole.get(field).is_some(), "{path}: {whole}");
            assert_eq!(whole.get("warnings").is_some(), version != "v0.0.38", "{path}");
        }
        let answer = asked(&served, &format!("GET /slurm/{version}/ping"), &secret, "").await;
        let plugin = &answer.json()["meta"]["plugin"];
        match version {
            "v0.0.38" => assert_eq!(plugin["type"], "openapi/v0.0.38"),
            _ => assert_eq!(plugin["data_parser"], format!("data_parser/{version}")),
        }
    }
}

/// Slurm-web takes no other type, and no parameter of it.
fn check_type(answer: &Answer) {
    let is_it = |line: &str| line == "content-type: application/json";
    assert!(answer.head.lines().any(is_it), "{}", answer.head);
}

fn error(answer: &Answer) -> Value {
    check_type(answer);
    let whole = answer.json();
    assert!(whole["meta"]["plugin"].is_object(), "{whole}");
    whole["errors"][0].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_an_error_of_slurm() {
    let served = Served::start().await;
    let secret = secret(&served, &[Scope::JobsRead]).await;
    for (line, status, number, words) in [
        ("GET /slurm/v0.0.40/job/7", 404, 2017, "there is no job 7"),
        ("GET /slurm/v0.0.40/nodes", 403, 2002, "cluster:read"),
        ("DELETE /slurm/v0.0.40/job/7", 403, 2002, "jobs:manage"),
        ("GET /slurm/v0.0.39/jobs", 404, 9200, "v0.0.38, v0.0.40"),
        ("GET /slurm/v0.0.40/steps", 404, 9200, "has no /slurm/v0.0.40/steps"),
        ("GET /slurmdb/v0.0.40/jobs?colour=red", 400, 9200, "no filter `colour`"),
        ("GET /slurmdb/v0.0.40/jobs?step=7.0", 400, 9200, "is a step"),
        ("GET /slurmdb/v0.0.40/jobs?cluster=other", 400, 9200, "there is only"),
        ("GET /slurmdb/v0.0.40/job/7?users=root", 400, 9200, "no filter `users`"),
        ("POST /slurm/v0.0.40/job/abc", 403, 2002, "jobs:manage"),
        ("PUT /slurm/v0.0.40/jobs", 403, 2002, "not open to tokens"),
    ] {
        let answer = asked(&served, line, &secret, "").await;
        let entry = error(&answer);
        assert_eq!((answer.status, &entry["error_number"]), (status, &json!(number)), "{line}");
        assert!(entry["description"].as_str().unwrap().contains(words), "{line}: {entry}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_user_of_a_request_is_the_tokens() {
    let served = Served::start().await;
    let secret = secret(&served, &[Scope::JobsRead]).await;
    let line = "GET /slurm/v0.0.40/jobs";
    let token = format!("x-slurm-user-token: {secret}");
    let bearer = format!("authorization: Bearer {secret}");
    let forged = format!("x-slurm-user-token: kant-token-{}", "0".repeat(64));
    let own = "x-slurm-user-name: root";
    let cases: [(&[&str], u16); 8] = [
        (&[&token], 200),
        (&[&token, own], 200),
        (&[&token, "x-slurm-user-name: 0"], 200),
        (&[&bearer, own], 200),
        (&[&token, "x-slurm-user-name: daemon"], 401),
        (&[&forged, own], 401),
        (&[own], 401),
        (&[&token, &token], 401),
    ];
    for (headers, status) in cases {
        let answer = served.ask(line, headers, "").await;
        assert_eq!(answer.status, status, "{headers:?}: {}", answer.body);
        if status == 401 {
            assert_eq!(error(&answer)["error_number"], 1007, "{headers:?}");
        }
    }
    // On the socket, the kernel says who asks: there, too, the header gives no other user's rights.
    for (name, status) in [("root", 200), ("daemon", 401)] {
        let request = Request::builder().uri("/slurm/v0.0.40/jobs").header("host", "kant");
        let request = request.header("x-slurm-user-name", name).body(Body::empty()).unwrap();
        assert_eq!(served.local.send(request).await.unwrap().status().as_u16(), status, "{name}");
    }
    // Only Slurm's paths know Slurm's header.
    assert_eq!(served.ask("GET /v1/jobs", &[&token], "").await.status, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_submitted_changed_and_cancelled() {
    let served = Served::start().await;
    let scopes = [Scope::JobsRead, Scope::JobsSubmit, Scope::JobsManage];
    let secret = secret(&served, &scopes).await;
    let body = json!({
        "script": "#!/bin/sh\ntrue\n",
        "job": {
            "name": "train", "current_working_directory": "/", "hold": true, "wckey": "w",
            "environment": ["PATH=/bin"], "time_limit": { "set": true, "number": 60 },
        },
    });
    let line = "POST /slurm/v0.0.40/job/submit";
    let answer = asked(&served, line, &secret, &body.to_string()).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let whole = answer.json();
    assert_eq!(whole["job_id"], whole["result"]["job_id"]);
    let warning = whole["warnings"][0]["description"].as_str().unwrap();
    assert!(warning.starts_with("wckey has no effect"), "{warning}");
    let id = whole["job_id"].as_u64().unwrap();
    served.audited(&[("verb", "jobs/submit"), ("target", &id.to_string())]).await;

    let path = format!("/slurm/v0.0.42/job/{id}");
    let job = asked(&served, &format!("GET {path}"), &secret, "").await.json()["jobs"][0].clone();
    assert_eq!((&job["job_state"], &job["hold"]), (&json!(["PENDING"]), &json!(true)));
    assert_eq!(job["time_limit"]["number"], 60);
    let change = json!({ "time_limit": { "set": true, "number": 90 }, "comment": "longer" });
    let answer = asked(&served, &format!("POST {path}"), &secret, &change.to_string()).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(answer.json()["results"][0]["job_id"], id);
    served.audited(&[("verb", "jobs/update"), ("target", &id.to_string())]).await;
    let old = format!("GET /slurm/v0.0.38/job/{id}");
    let job = asked(&served, &old, &secret, "").await.json()["jobs"][0].clone();
    assert_eq!((&job["time_limit"], &job["comment"]), (&json!(90), &json!("longer")));
    let release = json!({ "hold": false }).to_string();
    assert_eq!(asked(&served, &format!("POST {path}"), &secret, &release).await.status, 200);

    let answer = asked(&served, &format!("DELETE {path}"), &secret, "").await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(answer.json()["status"][0]["job_id"]["number"], id);
    served.audited(&[("verb", "jobs/cancel"), ("target", &id.to_string())]).await;
    let db = format!("GET /slurmdb/v0.0.42/job/{id}");
    let job = asked(&served, &db, &secret, "").await.json()["jobs"][0].clone();
    assert_eq!(job["state"]["current"], json!(["CANCELLED"]), "{job}");
    let list = "GET /slurmdb/v0.0.42/jobs?users=root&state=CANCELLED&start_time=0".to_owned();
    let jobs = asked(&served, &list, &secret, "").await.json()["jobs"].clone();
    assert_eq!((jobs.as_array().unwrap().len(), &jobs[0]["job_id"]), (1, &json!(id)));
    let none = "GET /slurmdb/v0.0.42/jobs?users=daemon";
    assert_eq!(asked(&served, none, &secret, "").await.json()["jobs"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_submission_that_kant_cannot_honour_is_refused_by_name() {
    let served = Served::start().await;
    let secret = secret(&served, &[Scope::JobsSubmit]).await;
    let submit = async |body: &str| {
        let answer = asked(&served, "POST /slurm/v0.0.43/job/submit", &secret, body).await;
        (answer.status, error(&answer)["description"].as_str().unwrap_or_default().to_owned())
    };
    let job = |more: Value| {
        let mut job = json!({ "current_working_directory": "/" });
        job.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "script": "#!/bin/sh\n", "job": job }).to_string()
    };
    for (body, status, words) in [
        ("{".to_owned(), 400, "failed to read the request as JSON"),
        (json!({ "script": "x" }).to_string(), 400, "a submission is an object"),
        (job(json!({ "colour": 1 })), 400, "v0.0.43 has no field `colour`"),
        (job(json!({ "licenses": "a:1" })), 400, "licences are not counted"),
        (job(json!({ "partition": "none", "hold": true })), 422, "none"),
        (job(json!({ "user_id": "daemon" })), 403, "belongs to the user of the token"),
        (job(json!({ "tasks": 2, "tres_per_node": "gres/gpu:x" })), 400, "tres_per_node"),
    ] {
        let (refused, text) = submit(&body).await;
        assert!(refused == status && text.contains(words), "{body}: {refused} {text}");
    }
}
