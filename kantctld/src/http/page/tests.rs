//! The web page of a whole controller, as a browser asks for it.

use crate::http::tests::{Answer, Served};
use common::token::Scope;
use common::wire::api::SubmitAnswer;
use serde_json::json;

const PAGES: [&str; 5] = ["/", "/jobs", "/shares", "/services", "/nodes"];
const FORM: &str = "content-type: application/x-www-form-urlencoded";

/// A browser that is signed in.
struct Browser<'a> {
    served: &'a Served,
    cookie: String,
}

impl<'a> Browser<'a> {
    async fn sign_in(served: &'a Served, scopes: &[Scope]) -> Self {
        let secret = served.token(scopes).await.secret.0;
        let answer = served.ask("POST /sign-in", &[FORM], &format!("token={secret}")).await;
        assert_eq!(answer.status, 303, "{}", answer.body);
        let set = answer.head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
        for part in ["; httponly", "; samesite=strict", "; path=/"] {
            assert!(set.contains(part), "{set}");
        }
        let (value, _) = set.split_once(';').unwrap();
        Self { served, cookie: format!("cookie: {value}") }
    }

    async fn get(&self, path: &str) -> Answer {
        self.served.ask(&format!("GET {path}"), &[&self.cookie], "").await
    }

    async fn post(&self, path: &str, headers: &[&str], body: &str) -> Answer {
        let headers = [&[self.cookie.as_str(), FORM], headers].concat();
        self.served.ask(&format!("POST {path}"), &headers, body).await
    }

    async fn csrf(&self) -> String {
        let page = self.get("/jobs").await.body;
        let (_, rest) = page.split_once(r#"name="csrf" value=""#).unwrap();
        rest.split_once('"').unwrap().0.to_owned()
    }
}

async fn held_job(served: &Served, name: &str) -> SubmitAnswer {
    let request = json!({
        "request_key": "k", "script": "#!/bin/sh\ntrue\n", "environment": {},
        "ask": { "name": name, "work_dir": "/tmp", "hold": true }
    });
    served.local.post("/v1/jobs", &request).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_signs_in_with_a_token_and_sees_every_page() {
    let served = Served::start().await;
    for path in PAGES {
        let answer = served.ask(&format!("GET {path}"), &[], "").await;
        assert_eq!(answer.status, 303, "{path}");
        assert!(answer.head.contains("location: /sign-in"), "{}", answer.head);
    }
    let refused = served.ask("POST /sign-in", &[FORM], "token=kant-token-00").await;
    assert_eq!(refused.status, 401);
    assert!(refused.body.contains("not valid") && !refused.head.contains("set-cookie"));
    let browser = Browser::sign_in(&served, &Scope::ALL).await;
    for path in PAGES {
        let answer = browser.get(path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        for header in ["content-security-policy: default-src 'none';", "cache-control: no-store"] {
            assert!(answer.head.contains(header), "{path}: {}", answer.head);
        }
        assert!(!answer.head.contains("unsafe"), "{}", answer.head);
        assert!(!answer.body.contains("style=\"") && !answer.body.contains("<style"), "{path}");
        assert_eq!(answer.body.matches("<script").count(), 1, "{path}: only the file");
    }
    for (asset, kind) in [("style.css", "text/css"), ("refresh.js", "text/javascript")] {
        let answer = served.ask(&format!("GET /assets/{asset}"), &[], "").await;
        assert!(answer.status == 200 && answer.head.contains(kind), "{}", answer.head);
    }
    assert_eq!(served.ask("GET /assets/..%2fcluster.key", &[], "").await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cookie_is_no_token_for_the_api_and_a_page_has_the_rights_of_its_token() {
    let served = Served::start().await;
    let browser = Browser::sign_in(&served, &[Scope::ClusterRead]).await;
    assert_eq!(browser.get("/v1/status").await.status, 401);
    assert_eq!(browser.get("/").await.status, 200);
    let refused = browser.get("/jobs").await;
    assert_eq!(refused.status, 403);
    assert!(refused.body.contains("lacks the scope jobs:read"), "{}", refused.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_name_of_a_job_is_shown_as_text() {
    let served = Served::start().await;
    let name = "<script>alert(document.cookie)</script><img src=x onerror=alert(1)>";
    let job = held_job(&served, name).await.job;
    let browser = Browser::sign_in(&served, &Scope::ALL).await;
    for path in ["/jobs".to_owned(), format!("/jobs/{job}")] {
        let page = browser.get(&path).await;
        assert_eq!(page.status, 200, "{path}: {}", page.body);
        assert!(page.body.contains("&lt;script&gt;alert"), "{path}: {}", page.body);
        assert!(!page.body.contains("<script>alert") && !page.body.contains("<img"), "{path}");
    }
    let user = browser.get("/jobs?user=%22%3E%3Cscript%3E&queue=").await;
    assert_eq!(user.status, 200);
    assert!(!user.body.contains("\"><script>"), "{}", user.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_changed_by_a_form_of_the_session_only() {
    let served = Served::start().await;
    let job = held_job(&served, "waits").await.job;
    let browser = Browser::sign_in(&served, &Scope::ALL).await;
    let cancel = format!("/jobs/{job}/cancel");
    let own = format!("csrf={}", browser.csrf().await);
    let other = Browser::sign_in(&served, &Scope::ALL).await;
    for (headers, body) in [
        (&[][..], format!("csrf={}", other.csrf().await)),
        (&["origin: http://evil.example"][..], own.clone()),
        (&[][..], "csrf=".to_owned()),
    ] {
        let refused = browser.post(&cancel, headers, &body).await;
        assert_eq!(refused.status, 403, "{}", refused.body);
    }
    assert_eq!(browser.post(&cancel, &[], "").await.status, 422);
    let sign_out = browser.post("/sign-out", &[], "csrf=").await;
    assert_eq!(sign_out.status, 403);
    assert!(browser.get(&format!("/jobs/{job}")).await.body.contains("held"));

    let done = browser.post(&cancel, &["origin: http://kant"], &own).await;
    assert_eq!(done.status, 303, "{}", done.body);
    assert!(done.head.contains(&format!("location: /jobs/{job}")), "{}", done.head);
    assert!(browser.get(&format!("/jobs/{job}")).await.body.contains("CANCELLED"));
    let again = browser.post(&cancel, &[], &own).await;
    assert_eq!(again.status, 409);
    assert!(again.body.contains("has ended") || again.body.contains("already"), "{}", again.body);
    let unknown = browser.post(&format!("/jobs/{job}/delete"), &[], &own).await;
    assert_eq!(unknown.status, 404);
    let out = browser.post("/sign-out", &[], &own).await;
    assert!(out.status == 303 && out.head.contains("max-age=0"), "{}", out.head);
}
