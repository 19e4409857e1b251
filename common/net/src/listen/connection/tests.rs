//! Tests of connections that make a server wait, on real sockets and with short limits. Each test
//! waits for an event with a deadline.

use super::*;
use crate::listen::{LocalListener, serve_with_limits};
use crate::revocations::Revocations;
use axum::routing::{get, post};
use futures_util::stream;
use std::path::Path;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::sync::mpsc;

/// The limit for an event that does not happen.
const SHORT: Duration = Duration::from_millis(200);
/// The deadline of every test.
const PATIENCE: Duration = Duration::from_secs(20);

const LONG: Limits = Limits { head: PATIENCE, body: PATIENCE, stall: PATIENCE, keep_alive: true };

async fn soon<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(PATIENCE / 2, future).await.expect("took too long")
}

/// A body that reports its end when it is dropped.
struct Watched(mpsc::UnboundedSender<()>);

impl Drop for Watched {
    fn drop(&mut self) {
        // The test may have ended.
        let _ = self.0.send(());
    }
}

/// Serves the tests' requests; reports when an endless answer is dropped.
fn served(path: &Path, limits: Limits) -> mpsc::UnboundedReceiver<()> {
    let (ended, has_ended) = mpsc::unbounded_channel();
    let endless = move || {
        let watched = Watched(ended.clone());
        async move {
            let piece = Ok::<_, Infallible>(Bytes::from(vec![b'x'; 64 << 10]));
            let pieces = stream::unfold((watched, piece), |(watched, piece)| async {
                Some((piece.clone(), (watched, piece)))
            });
            Body::from_stream(pieces)
        }
    };
    let slow = || async {
        tokio::time::sleep(3 * SHORT).await;
        "at last"
    };
    let router = Router::new()
        .route("/endless", get(endless))
        .route("/slow", get(slow))
        .route("/echo", post(|text: String| async { text }));
    let listener = LocalListener::bind(path).unwrap();
    tokio::spawn(serve_with_limits(
        listener,
        router,
        std::future::pending(),
        limits,
        Revocations::default(),
    ));
    has_ended
}

/// All bytes received on a connection after `sent`, until the server closes it.
async fn exchange(path: &Path, sent: &str) -> String {
    let mut stream = UnixStream::connect(path).await.unwrap();
    stream.write_all(sent.as_bytes()).await.unwrap();
    let mut bytes = Vec::new();
    soon(stream.read_to_end(&mut bytes)).await.unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[tokio::test]
async fn a_connection_that_sends_no_whole_head_is_ended_and_so_is_an_idle_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kant.sock");
    let _ended = served(&path, Limits { head: SHORT, ..LONG });
    for sent in ["", "POST /echo HTTP/1.1\r\nHost: kant\r\nX-Slow: "] {
        let answer = exchange(&path, sent).await;
        assert!(!answer.contains("200 OK"), "{answer}");
    }
    let head = "POST /echo HTTP/1.1\r\nHost: kant\r\nContent-Length: 5\r\n\r\n";
    let answer = exchange(&path, &format!("{head}hello")).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("hello"), "{answer}");
}

#[tokio::test]
async fn an_answer_that_takes_long_to_make_is_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kant.sock");
    let _ended = served(&path, Limits { head: SHORT, body: SHORT, stall: SHORT, ..LONG });
    let answer = exchange(&path, "GET /slow HTTP/1.1\r\nHost: kant\r\n\r\n").await;
    assert!(answer.ends_with("at last"), "{answer}");
}

#[tokio::test]
async fn a_request_that_does_not_end_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kant.sock");
    let _ended = served(&path, Limits { body: SHORT, ..LONG });
    let head = "POST /echo HTTP/1.1\r\nHost: kant\r\nContent-Length: 5\r\n\r\n";
    let answer = exchange(&path, &format!("{head}hel")).await;
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
}

#[tokio::test]
async fn a_client_that_stops_reading_is_disconnected() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kant.sock");
    let mut ended = served(&path, Limits { stall: SHORT, ..LONG });
    let mut stream = UnixStream::connect(&path).await.unwrap();
    stream.write_all(b"GET /endless HTTP/1.1\r\nHost: kant\r\n\r\n").await.unwrap();
    soon(ended.recv()).await.unwrap();
    let mut rest = Vec::new();
    let _ = soon(stream.read_to_end(&mut rest)).await;
    assert!(rest.starts_with(b"HTTP/1.1 200 OK"), "what was under way is still there");
}
