//! `private`: what a user gets of the job of another, from every route that only reads.

use super::Served;
use super::jwts::token;
use common::config::Private;
use common::id::RequestKey;
use common::job::Ask;
use common::route::{ROUTES, Route};
use common::wire::api::{SubmitAnswer, SubmitRequest};
use serde_json::{Value, json};

/// In everything of the job.
const MARK: &str = "topsecret";
/// They do not end: what they send is checked where it is made.
const STREAMS: [&str; 2] = ["/v1/watch", "/v1/events"];

fn readable() -> impl Iterator<Item = &'static Route> {
    let gets = ROUTES.iter().filter(|route| route.method == "GET" && route.scope.is_some());
    gets.filter(|route| !STREAMS.contains(&route.path))
}

/// The path for this job, with a query that leaves nothing out.
fn path(route: &Route, job: &str) -> String {
    let path = route.path.replace("{key}", job).replace("{task}", "1").replace("{name}", MARK);
    let path = path.replace("{version}", "v0.0.42").replace("{job_id}", job);
    match route.path {
        "/v1/jobs" => format!("{path}?all=true"),
        "/v1/report" => format!("{path}?by=user,account,queue,qos,state,gpus,cpus,nodes&since=0"),
        "/v1/accounting/jobs" => format!("{path}?since=0"),
        _ => path,
    }
}

async fn served(private: &[Private]) -> (Served, String) {
    let private = private.to_vec();
    let served = Served::start_with(|config| {
        config.private = private;
        config.jwt_scopes =
            ["jobs:read", "cluster:read", "services:read"].map(str::to_owned).into();
    });
    let served = served.await;
    let mark = MARK.to_owned();
    let request = SubmitRequest {
        request_key: RequestKey(mark.clone()),
        ask: Ask { name: mark.clone(), args: vec![mark.clone()], ..Ask::default() },
        script: format!("#!/bin/sh\n# {MARK}\n"),
        environment: [(mark.clone(), mark)].into(),
    };
    let answer: SubmitAnswer = served.local.post("/v1/jobs", &request).await.unwrap();
    (served, answer.job.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn no_answer_tells_anything_of_a_job_of_another_user() {
    let (served, job) = served(&[Private::Jobs]).await;
    let own: Value = served.local.get("/v1/jobs?all=true").await.unwrap();
    assert!(own.to_string().contains(MARK), "{own}");
    let stranger = token("daemon", &json!({}));
    let absent = "999999";
    for route in readable() {
        let answer = served.get(&path(route, &job), &stranger).await;
        let about_mark = route.path.contains("{name}");
        assert!(about_mark || !answer.body.contains(MARK), "{}: {}", route.path, answer.body);
        if route.names_job() {
            let none = served.get(&path(route, absent), &stranger).await;
            let expected = none.body.replace(absent, &job);
            assert_eq!((answer.status, answer.body), (404, expected), "{}", route.path);
        }
    }
    let asked = served.get(&format!("/v1/priority?job={job}"), &stranger).await;
    assert!(asked.status == 404 && !asked.body.contains(MARK), "{}", asked.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_key_the_same_requests_show_the_job() {
    let (served, job) = served(&[Private::Nodes]).await;
    let stranger = token("daemon", &json!({}));
    for path in [
        "/v1/jobs?all=true".to_owned(),
        format!("/v1/jobs/{job}"),
        "/slurm/v0.0.42/jobs".to_owned(),
        format!("/slurm/v0.0.42/job/{job}"),
        "/slurmdb/v0.0.42/jobs".to_owned(),
        format!("/slurmdb/v0.0.42/job/{job}"),
    ] {
        let answer = served.get(&path, &stranger).await;
        assert!(answer.body.contains(MARK), "{path}: {}", answer.body);
    }
}
