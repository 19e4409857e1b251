//! Support for the tests: a controller with scripted answers, and kantctl as users run it.

pub mod elf;
pub mod pty;
pub mod sample_answers;
pub mod sample_cluster;
pub mod slurm_link;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use common::job::state::slurm_state;
use common::job::{ExitStatus, Outcome, Phase};
use common::reason::WaitReason;
use common::time::Time;
use common::unit::Bytes;
use common::wire::api::{JobList, JobView, Looked, ReasonView};
use net::{ListenError, LocalListener, Refusal, serve};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};

/// The longest wait of any test.
pub const TIMEOUT: Duration = Duration::from_secs(30);

/// A request that the controller received.
#[derive(Debug, Clone)]
pub struct ReceivedRequest {
    /// The request line: `POST /v1/jobs?x=y`.
    pub line: String,
    /// The JSON body; null without one.
    pub body: Value,
}

/// A directory with a controller's socket, and the requests that the controller received.
pub struct TestController {
    pub dir: tempfile::TempDir,
    requests: Arc<Mutex<Vec<ReceivedRequest>>>,
}

impl TestController {
    /// A controller that is not running: nothing listens on its socket.
    pub fn empty() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), requests: Arc::default() }
    }

    /// A controller that answers with `answer`, given the request and the number of earlier ones.
    pub fn answering<R: IntoResponse>(
        answer: impl Fn(&ReceivedRequest, usize) -> R + Send + Sync + 'static,
    ) -> Self {
        let controller = Self::empty();
        controller.serve(answer);
        controller
    }

    pub fn serve<R: IntoResponse>(
        &self,
        answer: impl Fn(&ReceivedRequest, usize) -> R + Send + Sync + 'static,
    ) {
        let (requests, answer) = (self.requests.clone(), Arc::new(answer));
        let router = Router::new().fallback(move |request: Request| {
            let (requests, answer) = (requests.clone(), answer.clone());
            async move {
                let received = read_request(request).await;
                let before = {
                    let mut requests = requests.lock().unwrap();
                    requests.push(received.clone());
                    requests.len() - 1
                };
                let answer = answer(&received, before).into_response();
                match received.line.contains("lines=true") {
                    true => as_lines(answer).await,
                    false => answer,
                }
            }
        });
        let listener = bind(&self.socket());
        tokio::spawn(serve(listener, router, std::future::pending()));
    }

    pub fn socket(&self) -> PathBuf {
        self.dir.path().join("kant.sock")
    }

    pub fn requests(&self) -> Vec<ReceivedRequest> {
        self.requests.lock().unwrap().clone()
    }

    /// The received request lines: `POST /v1/jobs`.
    pub fn request_lines(&self) -> Vec<String> {
        self.requests().into_iter().map(|request| request.line).collect()
    }

    /// Writes a file into the directory.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// kantctl with this controller, without a user's environment.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kantctl"));
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.dir.path())
            .env("KANT_SOCKET", self.socket())
            .current_dir(self.dir.path())
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    /// Runs kantctl to its end.
    pub async fn kantctl(&self, words: &[&str]) -> Finished {
        finish(self.command(words).spawn().unwrap()).await
    }

    /// Runs kantctl to its end with `input` on standard input.
    pub async fn kantctl_reading(&self, words: &[&str], input: &[u8]) -> Finished {
        let mut child = self.command(words).stdin(Stdio::piped()).spawn().unwrap();
        // kantctl may exit before it has read all input.
        let _ = child.stdin.take().unwrap().write_all(input).await;
        finish(child).await
    }
}

/// Breaks the connection off after the beginning of a list.
pub fn cut_short(list: Response) -> Response {
    ([(CUT, "1")], list).into_response()
}

const CUT: &str = "x-cut-short";

/// A list of jobs in lines, as tables request it; a refusal unchanged.
async fn as_lines(answer: Response) -> Response {
    let (head, body) = answer.into_parts();
    let bytes = to_bytes(body, usize::MAX).await.unwrap();
    let is_list = head.status.is_success();
    let list = is_list.then(|| serde_json::from_slice::<JobList>(&bytes).ok()).flatten();
    let Some(list) = list else { return Response::from_parts(head, Body::from(bytes)) };
    let looked = serde_json::to_string(&Looked { as_of: list.as_of });
    let jobs = list.jobs.iter().map(serde_json::to_string);
    let lines: Vec<String> = std::iter::once(looked).chain(jobs).map(Result::unwrap).collect();
    let mut parts: Vec<std::io::Result<String>> = vec![Ok(lines.join("\n") + "\n")];
    if head.headers.contains_key(CUT) {
        parts.push(Err(std::io::Error::other("cut short")));
    }
    let body = Body::from_stream(futures_util::stream::iter(parts));
    ([(CONTENT_TYPE, "application/x-ndjson")], body).into_response()
}

async fn read_request(request: Request) -> ReceivedRequest {
    let line = format!("{} {}", request.method(), request.uri());
    let bytes = to_bytes(request.into_body(), usize::MAX).await.unwrap();
    ReceivedRequest { line, body: serde_json::from_slice(&bytes).unwrap_or(Value::Null) }
}

#[derive(Debug)]
pub struct Finished {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

pub async fn finish(child: Child) -> Finished {
    let output = tokio::time::timeout(TIMEOUT, child.wait_with_output());
    let output = output.await.expect("took too long").unwrap();
    let done = Finished {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    };
    assert!(!done.err.contains("panicked"), "{}", done.err);
    done
}

impl Finished {
    /// Asserts this exit code, an empty stdout, and each of these texts on stderr.
    #[track_caller]
    pub fn refused(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert_eq!(self.out, "", "stdout is data");
        for word in words {
            assert!(self.err.contains(word), "no {word:?} in: {}", self.err);
        }
    }

    /// Asserts success and returns stdout.
    #[track_caller]
    pub fn good(&self) -> &str {
        assert_eq!(self.code, Some(0), "{self:?}");
        &self.out
    }
}

pub const NOW: Time = Time(1_700_000_000_000);

/// A job of ada's.
pub fn job(key: &str, phase: Phase, outcome: Option<Outcome>) -> JobView {
    let (state, code) = slurm_state(phase, outcome);
    let begun = (phase != Phase::Pending).then_some(NOW);
    let exit =
        ExitStatus { code: if outcome == Some(Outcome::Failed) { 3 } else { 0 }, signal: None };
    let detail = WaitReason::Held;
    let reason = ReasonView { code: "JobHeldUser".into(), sentence: detail.to_string(), detail };
    JobView {
        phase,
        outcome,
        state: state.to_owned(),
        state_code: code.to_owned(),
        reason: (phase == Phase::Pending).then_some(reason),
        attempt: u32::from(begun.is_some()),
        submitted_at: NOW,
        started_at: begun,
        ended_at: outcome.map(|_| NOW),
        memory: Bytes::from_mib(512),
        exit: outcome.map(|_| exit),
        ..testkit::job_view(key)
    }
}

/// A list of jobs as an answer.
pub fn jobs(jobs: Vec<JobView>) -> Value {
    serde_json::to_value(JobList { jobs, total: None, as_of: NOW }).unwrap()
}

/// A job that completed.
pub fn completed(key: &str) -> JobView {
    job(key, Phase::Done, Some(Outcome::Completed))
}

/// A JSON answer.
pub fn json(value: Value) -> Response {
    axum::Json(value).into_response()
}

/// A piece of output.
pub fn output(bytes: &[u8], ended: bool) -> Response {
    let mut response = Body::from(bytes.to_vec()).into_response();
    if ended {
        response.headers_mut().insert("x-kant-ended", "1".parse().unwrap());
    }
    response
}

/// A refusal in the controller's format.
pub fn refusal(status: u16, message: &str) -> Response {
    refused_as("no", status, message)
}

/// A refusal with an error code.
#[allow(dead_code)] // only some of the tests need it
pub fn refused_as(code: &'static str, status: u16, message: &str) -> Response {
    let status = axum::http::StatusCode::from_u16(status).unwrap();
    Refusal::new(status, code, message).with_hint("try something else").into_response()
}

/// The key in `POST /v1/jobs/{key}/verb`.
pub fn key_in(what: &str) -> &str {
    what.split('/').nth(3).unwrap_or_default()
}

/// Binds the socket. A listener that was just closed may still be open in a process that another
/// test has forked and that has not yet called exec: then it is tried again.
fn bind(path: &Path) -> LocalListener {
    let begun = Instant::now();
    loop {
        match LocalListener::bind(path) {
            Err(ListenError::InUse { .. }) if begun.elapsed() < TIMEOUT => {
                std::thread::yield_now();
            }
            bound => return bound.unwrap(),
        }
    }
}
