//! Tests of users and clients: the local socket, JSON round trips, kept connections, forwarding.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod support;

use std::error::Error;
use std::path::Path as FilePath;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{ConnectInfo, Path, Request};
use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use axum::routing::{get, post};
use axum::{Json, Router};
use futures_util::{StreamExt, stream};
use net::{Caller, Client, ClientError, Endpoint, Refusal, USER_HEADER, User, Via, forward};
use serde::{Deserialize, Serialize};
use support::{Server, controller, key, node, serve_local, serve_tls, socket, soon, tls};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Job {
    id: u64,
    name: String,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Who {
    uid: u32,
    gid: u32,
    via: String,
}

/// A small example of a daemon's API.
fn jobs() -> Router {
    async fn show(Path(id): Path<u64>) -> Result<Json<Job>, Refusal> {
        if id == 404 {
            return Err(Refusal::new(StatusCode::NOT_FOUND, "job-unknown", "there is no job 404")
                .with_hint("`kantctl list` shows the jobs there are"));
        }
        Ok(Json(Job { id, name: format!("job {id}") }))
    }
    async fn submit(Json(job): Json<Job>) -> Json<Job> {
        Json(Job { id: job.id + 1, ..job })
    }
    async fn whoami(user: User) -> Json<Who> {
        let via = match user.via {
            Via::Socket => "socket".to_owned(),
            Via::Node(name) => name,
            Via::Controller => "controller".to_owned(),
            Via::Token(id) => id,
        };
        Json(Who { uid: user.uid, gid: user.gid, via })
    }
    Router::new()
        .route("/jobs/{id}", get(show))
        .route("/jobs", post(submit))
        .route("/whoami", get(whoami))
        .route("/sleep", get(std::future::pending::<()>))
}

/// The example on a local socket in a directory of its own, and a client.
fn local_jobs() -> (tempfile::TempDir, Server, Client) {
    let (dir, path) = socket();
    let server = serve_local(&path, jobs());
    (dir, server, Client::new(Endpoint::Unix(path)))
}

fn me() -> (u32, u32) {
    (nix::unistd::geteuid().as_raw(), nix::unistd::getegid().as_raw())
}

#[tokio::test]
async fn the_kernel_identifies_the_caller_on_the_local_socket() {
    let (_dir, path) = socket();
    let router = jobs().route(
        "/pid",
        get(|ConnectInfo(caller): ConnectInfo<Caller>| async move {
            let Caller::Local { pid, .. } = caller else { panic!("{caller:?}") };
            Json(pid)
        }),
    );
    let server = serve_local(&path, router);
    let client = Client::new(Endpoint::Unix(path));
    let who: Who = soon(client.get("/whoami")).await.unwrap();
    let (uid, gid) = me();
    assert_eq!(who, Who { uid, gid, via: "socket".to_owned() });
    let pid: Option<u32> = soon(client.get("/pid")).await.unwrap();
    assert_eq!(pid, Some(std::process::id()));
    server.stop().await;
}

#[tokio::test]
async fn a_local_caller_cannot_claim_to_be_another_user() {
    let (_dir, server, client) = local_jobs();
    let claim = axum::http::Request::get("/whoami").header(USER_HEADER, "0:0");
    let response = soon(client.send(claim.body(Body::empty()).unwrap())).await.unwrap();
    assert_eq!(response.status(), StatusCode::BAD_REQUEST);
    let body = axum::body::to_bytes(response.into_body(), 4096).await.unwrap();
    assert!(String::from_utf8_lossy(&body).contains("user-claimed"), "{body:?}");
    server.stop().await;
}

#[tokio::test]
async fn json_makes_the_round_trip_over_both_transports() {
    let key = key();
    let (_dir, path) = socket();
    let local = serve_local(&path, jobs());
    let (remote, addr) = serve_tls("127.0.0.1:0", &controller(&key), jobs()).await;
    for endpoint in [Endpoint::Unix(path), tls(addr, &node(&key, "g-1"))] {
        let client = Client::new(endpoint);
        let job: Job = soon(client.get("/jobs/7?verbose=1")).await.unwrap();
        assert_eq!(job, Job { id: 7, name: "job 7".to_owned() });
        let job: Job = soon(client.post("/jobs", &job)).await.unwrap();
        assert_eq!(job.id, 8);
    }
    local.stop().await;
    remote.stop().await;
}

#[tokio::test]
async fn a_refusal_keeps_its_code_message_and_hint() {
    let (_dir, server, client) = local_jobs();
    let error = soon(client.get::<Job>("/jobs/404")).await.unwrap_err();
    let (status, reason) = error.refusal().unwrap();
    assert_eq!((status, reason.code.as_str()), (404, "job-unknown"));
    assert_eq!(error.to_string(), "there is no job 404");
    assert!(reason.hint.as_ref().unwrap().contains("kantctl list"));
    // Refusals that no handler wrote are distinguishable, and name the daemon.
    let error = soon(client.get::<Job>("/no/such/path")).await.unwrap_err();
    assert_eq!(error.refusal().unwrap().1.code, "http-404");
    server.stop().await;
}

#[tokio::test]
async fn each_failure_has_a_type_and_a_sentence() {
    let (_dir, path) = socket();
    let client = Client::new(Endpoint::Unix(path.clone()));
    let error = soon(client.get::<Job>("/jobs/1")).await.unwrap_err();
    assert!(error.is_unreachable(), "{error}");
    assert!(error.to_string().contains("kant.sock"), "{error}");
    assert!(error.to_string().contains("does kantctld or kantd run"), "{error}");

    let server = serve_local(&path, jobs());
    let error = soon(client.get::<Vec<u8>>("/jobs/1")).await.unwrap_err();
    assert!(matches!(error, ClientError::Broken { .. }), "{error}");
    let error = soon(client.get::<Job>("not a path")).await.unwrap_err();
    assert!(matches!(error, ClientError::Unaskable { .. }), "{error}");
    let hasty = client.clone().with_answer_limit(Some(Duration::from_millis(50)));
    let error = soon(hasty.get::<()>("/sleep")).await.unwrap_err();
    assert!(matches!(error, ClientError::TimedOut { .. }), "{error}");
    // None of them affects the next request.
    soon(client.get::<Job>("/jobs/1")).await.unwrap();
    drop(server);
}

#[tokio::test]
async fn a_host_that_never_answers_is_given_up() {
    let mute = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = tls(mute.local_addr().unwrap(), &node(&key(), "g-1"));
    let client = Client::new(endpoint).with_connect_limit(Duration::from_millis(100));
    let error = soon(client.get::<()>("/")).await.unwrap_err();
    assert!(error.is_unreachable(), "{error}");
    let cause = error.source().unwrap().to_string();
    assert!(cause.contains("no answer within 0.1 s"), "{cause}");
}

/// Counts the connections that pass on their way to a socket.
fn count_connections(at: &FilePath, to: &FilePath) -> Arc<AtomicUsize> {
    let listener = UnixListener::bind(at).unwrap();
    let to = to.to_owned();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    tokio::spawn(async move {
        while let Ok((mut from, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            let mut onward = UnixStream::connect(&to).await.unwrap();
            tokio::spawn(
                async move { tokio::io::copy_bidirectional(&mut from, &mut onward).await },
            );
        }
    });
    count
}

#[tokio::test]
async fn one_connection_serves_many_requests_and_a_stream_gets_its_own() {
    let (dir, path) = socket();
    let server = serve_local(&path, jobs());
    let counter = dir.path().join("counter.sock");
    let count = count_connections(&counter, &path);
    let client = Client::new(Endpoint::Unix(counter));
    for id in 0..20 {
        let _: Job = soon(client.get(&format!("/jobs/{id}"))).await.unwrap();
        let _ = soon(client.get::<Job>("/jobs/404")).await.unwrap_err();
    }
    assert_eq!(count.load(Ordering::SeqCst), 1);
    // A request without an answer yet does not delay the next one.
    let waiting = tokio::spawn({
        let client = client.clone();
        async move { client.get::<()>("/sleep").await }
    });
    while count.load(Ordering::SeqCst) == 1 {
        let _: Job = soon(client.get("/jobs/1")).await.unwrap();
    }
    waiting.abort();
    server.stop().await;
}

/// Two jobs, one per line, and with `whole` the end of the answer.
fn in_lines(whole: bool) -> axum::response::Response {
    let part = |text: &'static str| Ok::<_, std::io::Error>(text);
    let mut parts =
        vec![part("{\"id\":0,\"name\":\"head\"}\n{\"id\":1,\"na"), part("me\":\"one\"}\n")];
    parts.push(part("{\"id\":2,\"name\":\"two\"}\n"));
    if !whole {
        parts.push(Err(std::io::Error::other("planted")));
    }
    let body = Body::from_stream(stream::iter(parts));
    ([("content-type", "application/x-ndjson")], body).into_response()
}

#[tokio::test]
async fn an_answer_in_lines_is_read_to_its_end_or_not_at_all() {
    let (_dir, path) = socket();
    let router = jobs()
        .route("/whole", get(|| async { in_lines(true) }))
        .route("/cut", get(|| async { in_lines(false) }));
    let server = serve_local(&path, router.clone());
    let key = key();
    let (remote, addr) = serve_tls("127.0.0.1:0", &controller(&key), router).await;
    let (_dir, relayed) = socket();
    let relay = serve_local(&relayed, passing_on(Client::new(tls(addr, &node(&key, "g-1")))));
    for path in [path, relayed] {
        let client = Client::new(Endpoint::Unix(path));
        let ask = async |path| {
            let add = |(_, ids): &mut (Job, Vec<u64>), job: Job| ids.push(job.id);
            soon(client.get_lines(path, |head: Job| (head, Vec::new()), add)).await
        };
        let (head, ids) = ask("/whole").await.unwrap();
        assert_eq!((head.name.as_str(), ids), ("head", vec![1, 2]));
        let error = ask("/cut").await.unwrap_err();
        // A proxy may lose it before its head is sent.
        let status = error.refusal().map(|(status, _)| status);
        let is_lost = matches!(error, ClientError::Interrupted { .. }) || status == Some(502);
        assert!(is_lost, "{error:?}");
        let error = ask("/jobs/404").await.unwrap_err();
        assert_eq!(error.refusal().unwrap().1.code, "job-unknown");
        let error = ask("/jobs/7").await.unwrap_err();
        assert!(matches!(error, ClientError::Broken { .. }), "{error:?}");
    }
    for server in [relay, remote, server] {
        server.stop().await;
    }
}

#[tokio::test]
async fn a_restarted_server_is_found_again() {
    let key = key();
    let (_dir, path) = socket();
    let (remote, addr) = serve_tls("127.0.0.1:0", &controller(&key), jobs()).await;
    let local = serve_local(&path, jobs());
    let clients =
        [Client::new(Endpoint::Unix(path.clone())), Client::new(tls(addr, &node(&key, "g-1")))];
    for client in &clients {
        let _: Job = soon(client.get("/jobs/1")).await.unwrap();
    }
    remote.stop().await;
    local.stop().await;
    for client in &clients {
        let error = soon(client.get::<Job>("/jobs/1")).await.unwrap_err();
        assert!(error.is_unreachable(), "{error}");
    }
    let local = serve_local(&path, jobs());
    let (remote, _) = serve_tls(&addr.to_string(), &controller(&key), jobs()).await;
    for client in &clients {
        let job: Job =
            soon(client.post("/jobs", &Job { id: 1, name: String::new() })).await.unwrap();
        assert_eq!(job.id, 2);
    }
    remote.stop().await;
    local.stop().await;
}

/// Serves raw connections: each answers the number of requests in its entry, reads one more, and
/// closes. Returns the count of all requests.
fn answer_and_hang_up(path: &FilePath, answers: &'static [usize]) -> Arc<AtomicUsize> {
    let listener = UnixListener::bind(path).unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    tokio::spawn(async move {
        for answers in answers {
            let (stream, _) = listener.accept().await.unwrap();
            let mut stream = BufReader::new(stream);
            for answered in 0..=*answers {
                let mut line = String::new();
                // The requests of these tests have no body: an empty line ends them.
                while line != "\r\n" {
                    line.clear();
                    stream.read_line(&mut line).await.unwrap();
                }
                counted.fetch_add(1, Ordering::SeqCst);
                if answered < *answers {
                    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n[]";
                    stream.write_all(answer).await.unwrap();
                }
            }
        }
    });
    count
}

#[tokio::test]
async fn only_a_safe_request_is_retried() {
    let (_dir, path) = socket();
    let count = answer_and_hang_up(&path, &[1, 2]);
    let client = Client::new(Endpoint::Unix(path));
    let _: [u8; 0] = soon(client.get("/")).await.unwrap();
    // The kept connection breaks during this request, which is retried on a new one.
    let _: [u8; 0] = soon(client.get("/")).await.unwrap();
    assert_eq!(count.load(Ordering::SeqCst), 3);

    let (_dir, path) = socket();
    let count = answer_and_hang_up(&path, &[1, 2]);
    let client = Client::new(Endpoint::Unix(path));
    let _: [u8; 0] = soon(client.get("/")).await.unwrap();
    let harmful = Request::delete("/jobs/1").body(Body::empty()).unwrap();
    let error = soon(client.send(harmful)).await.unwrap_err();
    assert!(matches!(error, ClientError::Interrupted { .. }), "{error}");
    assert_eq!(count.load(Ordering::SeqCst), 2);
}

/// A forwarder like kantd: every request on the local socket goes to the controller.
fn passing_on(client: Client) -> Router {
    Router::new().fallback(move |user: User, request: Request| {
        let client = client.clone();
        async move { forward(request, &client, &user).await }
    })
}

#[tokio::test]
async fn a_forwarded_user_arrives_with_the_user_header() {
    let key = key();
    let (_dir, path) = socket();
    let (controller, addr) = serve_tls("127.0.0.1:0", &controller(&key), jobs()).await;
    let kantd = serve_local(&path, passing_on(Client::new(tls(addr, &node(&key, "login-1")))));
    let client = Client::new(Endpoint::Unix(path));
    let who: Who = soon(client.get("/whoami")).await.unwrap();
    let (uid, gid) = me();
    assert_eq!(who, Who { uid, gid, via: "login-1".to_owned() });
    // Requests, answers and refusals pass unchanged.
    let job = Job { id: 1, name: "a".to_owned() };
    let job: Job = soon(client.post("/jobs", &job)).await.unwrap();
    assert_eq!(job.id, 2);
    let error = soon(client.get::<Job>("/jobs/404")).await.unwrap_err();
    assert_eq!(error.refusal().unwrap().1.code, "job-unknown");
    controller.stop().await;
    let error = soon(client.get::<Job>("/jobs/1")).await.unwrap_err();
    let (status, reason) = error.refusal().unwrap();
    assert_eq!((status, reason.code.as_str()), (503, "controller-unreachable"));
    kantd.stop().await;
}

#[tokio::test]
async fn a_forwarder_drops_the_clients_user_header() {
    let key = key();
    let (controller, addr) = serve_tls("127.0.0.1:0", &controller(&key), jobs()).await;
    let client = Client::new(tls(addr, &node(&key, "g-1")));
    let user = User { uid: 1000, gid: 100, has_roles: true, via: Via::Socket, groups: None };
    let request = Request::get("http://elsewhere/whoami")
        .header(USER_HEADER, "0:0")
        .header(USER_HEADER, "0:0")
        .header("connection", "close, x-private")
        .header("x-private", "1")
        .body(Body::empty())
        .unwrap();
    let response = soon(forward(request, &client, &user)).await;
    let body = axum::body::to_bytes(response.into_body(), 4096).await.unwrap();
    let who: Who = serde_json::from_slice(&body).unwrap();
    assert_eq!(who, Who { uid: 1000, gid: 100, via: "g-1".to_owned() });
    controller.stop().await;
}

#[tokio::test]
async fn forwarding_streams_both_ways() {
    let key = key();
    let (_dir, path) = socket();
    let echo = Router::new().route("/echo", post(|request: Request| async { request.into_body() }));
    let (controller, addr) = serve_tls("127.0.0.1:0", &controller(&key), echo).await;
    let kantd = serve_local(&path, passing_on(Client::new(tls(addr, &node(&key, "g-1")))));
    let client = Client::new(Endpoint::Unix(path));

    let (say, said) = mpsc::channel::<&'static str>(1);
    let said = stream::unfold(said, |mut said| async {
        said.recv().await.map(|text| (Ok::<_, std::io::Error>(text), said))
    });
    let request = Request::post("/echo").body(Body::from_stream(said)).unwrap();
    let response = soon(client.send(request)).await.unwrap();
    let mut echoed = response.into_body().into_data_stream();
    // Each word returns before the next is sent: nothing waits for the end of a body.
    for word in ["one", "two", "three"] {
        say.send(word).await.unwrap();
        assert_eq!(soon(echoed.next()).await.unwrap().unwrap(), word);
    }
    drop(say);
    assert!(soon(echoed.next()).await.is_none());
    kantd.stop().await;
    controller.stop().await;
}
