//! Each route of the table with each role, by tokens.

use super::{Answer, Served, bearer, jwts};
use common::config::{ControllerConfig, QueueTable};
use common::id::{QueueName, RequestKey};
use common::job::Ask;
use common::right::{Right, Role};
use common::route::{ROUTES, Route};
use common::token::Scope;
use common::wire::api::SubmitRequest;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A user for each role; the viewer is one by a group.
const PEOPLE: &[(&str, Role)] = &[
    ("games", Role::User),
    ("daemon", Role::Viewer),
    ("bin", Role::Support),
    ("sys", Role::Coordinator),
    ("man", Role::Operator),
];

/// Their answers do not end by themselves.
const STREAMS: &[&str] =
    &["/v1/watch", "/v1/events", "/v1/jobs/{key}/output/events", "/v1/jobs/{key}/wait"];

fn roles(config: &mut ControllerConfig, scopes: &[Scope]) {
    let list = |entry: &str| vec![entry.to_owned()];
    config.roles.viewers = list("@daemon");
    config.roles.support = list("bin");
    config.roles.operators = list("man");
    config.queue = vec![QueueTable {
        name: QueueName::new("lab").ok(),
        coordinators: list("sys"),
        ..QueueTable::default()
    }];
    config.jwt_scopes = scopes.iter().map(ToString::to_string).collect();
}

/// A controller with one job, of root, in the queue of the coordinator.
async fn served(scopes: &[Scope]) -> Served {
    let served = Served::start_with(|config| roles(config, scopes)).await;
    let request = SubmitRequest {
        request_key: RequestKey("one".to_owned()),
        ask: Ask { hold: true, queue: QueueName::new("lab").ok(), ..Ask::default() },
        script: "#!/bin/sh\n".to_owned(),
        environment: BTreeMap::new(),
    };
    served.local.post::<_, Value>("/v1/jobs", &request).await.unwrap();
    served
}

async fn ask(served: &Served, route: &Route, user: &str) -> Answer {
    let path = route.path.replace("{key}", "1").replace("{name}", "x");
    let path = path.replace("{id}", "0123456789ab").replace("{task}", "x");
    let path = path.replace("{version}", "v0.0.42").replace("{job_id}", "1");
    let headers = [bearer(&jwts::token(user, &json!({}))), "content-type: application/json".into()];
    let headers = headers.each_ref().map(String::as_str);
    let body = if route.method == "POST" { "{}" } else { "" };
    served.ask(&format!("{} {path}", route.method), &headers, body).await
}

/// Whether the right was found missing.
fn lacks(answer: &Answer) -> bool {
    let codes = ["not_yours", "operators_only", "viewers_only"];
    // Slurm's form has the code behind a word.
    let has = |code: &&str| answer.body.contains(&format!("{code}\""));
    answer.status == 403 && codes.iter().any(has)
}

/// The routes whose right the API itself checks.
fn checked() -> impl Iterator<Item = &'static Route> {
    let open = ROUTES.iter().filter(|route| route.scope.is_some() && route.right != Right::Host);
    let open = open.filter(|route| !STREAMS.contains(&route.path));
    open.filter(|route| route.names_job() || !route.right.depends_on_owner())
}

#[tokio::test(flavor = "multi_thread")]
async fn each_role_has_the_rights_of_the_table_and_no_others() {
    let served = served(&Scope::ALL).await;
    let mut count = 0;
    for route in checked() {
        for (user, role) in PEOPLE {
            let answer = ask(&served, route, user).await;
            let has = route.right.is_of(*role);
            assert_eq!(
                !lacks(&answer),
                has,
                "{role:?} {route:?}: {} {}",
                answer.status,
                answer.body
            );
            count += 1;
        }
    }
    assert!(count > 200, "{count}");
    for (user, role) in [("daemon", "viewer"), ("bin", "support"), ("man", "operator")] {
        let uid_and_role = [("verb", "jobs/script"), ("user", user)];
        let detail = format!("as {role}");
        let [verb, name] = uid_and_role;
        served.audited(&[verb, name, ("detail", &detail), ("result", "done")]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_scope_admin_no_role_counts() {
    let scopes: Vec<Scope> = Scope::ALL.into_iter().filter(|one| *one != Scope::Admin).collect();
    let served = served(&scopes).await;
    for route in checked().filter(|route| route.scope != Some(Scope::Admin)) {
        for (user, _) in PEOPLE {
            let answer = ask(&served, route, user).await;
            let has = route.right.is_of(Role::User);
            assert_eq!(!lacks(&answer), has, "{user} {route:?}: {}", answer.body);
        }
    }
}
