//! Tests of forwarding over real sockets, with a given leader.

use super::*;
use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue};
use axum::middleware::{from_fn_with_state, map_response};
use axum::routing::get;
use net::{ClientError, ClusterKey, LocalListener, TlsListener, User};
use std::future::pending;

const MARK: &str = "x-written";

/// Answers with the user, and the controller that forwarded the request.
async fn answer_with_user(user: User, headers: HeaderMap) -> axum::Json<String> {
    let way = headers.get(FORWARDED).map(|way| format!(", forwarded by {}", way.to_str().unwrap()));
    axum::Json(format!("{} {:?}{}", user.uid, user.via, way.unwrap_or_default()))
}

fn identity(key: &ClusterKey) -> Identity {
    Identity::controller(key).unwrap()
}

fn router(key: &ClusterKey, duty: impl Fn() -> Duty + Send + Sync + 'static) -> Router {
    let relay = Arc::new(Relay::with_duty(ControllerId(2), identity(key), duty));
    Router::new()
        .route("/v1/jobs", get(answer_with_user))
        .route_layer(from_fn_with_state(relay, answer_or_forward))
        .layer(map_response(marked))
}

/// Marks answers whose audit line another controller writes.
async fn marked(mut response: Response) -> Response {
    if response.extensions().get::<AuditedElsewhere>().is_some() {
        response.headers_mut().insert(MARK, HeaderValue::from_static("elsewhere"));
    }
    response
}

/// Starts a controller on loopback; returns its address.
async fn controller(key: &ClusterKey, duty: impl Fn() -> Duty + Send + Sync + 'static) -> String {
    let listener = TlsListener::bind("127.0.0.1:0", &identity(key)).await.unwrap();
    let addr = listener.local_addr().to_string();
    tokio::spawn(net::serve(listener, router(key, duty), pending()));
    addr
}

/// Sends a request to a controller with this duty over its local socket.
async fn ask(
    key: &ClusterKey,
    duty: impl Fn() -> Duty + Send + Sync + 'static,
) -> Result<String, (u16, String)> {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("kantctld.sock");
    let listener = LocalListener::bind(&socket).unwrap();
    let server = tokio::spawn(net::serve(listener, router(key, duty), pending()));
    let answer = Client::new(Endpoint::Unix(socket)).get("/v1/jobs").await;
    server.abort();
    answer.map_err(|error| match error {
        ClientError::Refused { status, error } => (status, error.code),
        other => panic!("{other:?}"),
    })
}

fn me() -> u32 {
    nix::unistd::geteuid().as_raw()
}

#[tokio::test]
async fn the_leader_answers_itself() {
    let key = ClusterKey::generate().unwrap();
    assert_eq!(ask(&key, || Duty::Answer).await, Ok(format!("{} Socket", me())));
}

#[tokio::test]
async fn another_controller_forwards_in_the_users_name() {
    let key = ClusterKey::generate().unwrap();
    let leader = controller(&key, || Duty::Answer).await;
    let answer = ask(&key, move || Duty::Forward(leader.clone())).await;
    assert_eq!(answer, Ok(format!("{} Controller, forwarded by 2 socket", me())));
}

#[tokio::test]
async fn controllers_that_take_each_other_for_the_leader_refuse() {
    let key = ClusterKey::generate().unwrap();
    // If it were forwarded a second time, it would be answered.
    let leader = controller(&key, || Duty::Answer).await;
    let mistaken = controller(&key, move || Duty::Forward(leader.clone())).await;
    let answer = ask(&key, move || Duty::Forward(mistaken.clone())).await;
    assert_eq!(answer, Err((503, NO_LEADER.to_owned())));
}

#[tokio::test]
async fn a_request_without_a_known_or_reachable_leader_is_refused() {
    let key = ClusterKey::generate().unwrap();
    assert_eq!(ask(&key, || Duty::Refuse).await, Err((503, NO_LEADER.to_owned())));
    // Bound and closed again, so that nothing listens there.
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let answer = ask(&key, move || Duty::Forward(gone.to_string())).await;
    assert_eq!(answer, Err((503, "controller-unreachable".to_owned())));
}

#[tokio::test]
async fn only_a_leader_that_answered_writes_the_audit_line() {
    let key = ClusterKey::generate().unwrap();
    let leader = controller(&key, || Duty::Answer).await;
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for (leader, is_elsewhere) in [(leader, true), (gone.to_string(), false)] {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("kantctld.sock");
        let listener = LocalListener::bind(&socket).unwrap();
        let router = router(&key, move || Duty::Forward(leader.clone()));
        let server = tokio::spawn(net::serve(listener, router, pending()));
        let request = Request::get("/v1/jobs").body(Body::empty()).unwrap();
        let answer = Client::new(Endpoint::Unix(socket)).send(request).await.unwrap();
        assert_eq!(answer.headers().contains_key(MARK), is_elsewhere, "{answer:?}");
        server.abort();
    }
}
