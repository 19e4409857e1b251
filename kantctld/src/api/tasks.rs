//! Programs started in running jobs. They run as the owner, within the job's allocation on one of
//! its nodes, and end with its attempt. Only the owner may start them: for an operator it would
//! mean to act as another user. They are not part of the replicated state.

use super::audited::AuditRemark;
use super::error::ApiFailure;
use crate::core::Core;
use axum::body::Bytes;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use common::id::{Attempt, AttemptId, JobKey, NodeName, TaskNumber};
use common::job::Phase;
use common::job::check::{ENVIRONMENT_BYTES_MAX, check_step_name};
use common::reason::Refusal;
use common::time::Span;
use common::token::is_token_variable;
use common::wire::api::{
    FeedQuery, LaunchAnswer, LaunchRequest, STDOUT_BYTES, SignalRequest, TASK_STATE, TaskQuery,
};
use common::wire::node::{FeedTask, SignalTask, StartTask, TaskNews, TaskState, WatchTask};
use query::view;
use query::viewer::Viewer;
use std::sync::Arc;
use std::time::Duration;

/// The longest wait of one request on the node, in seconds.
const WAIT_SECONDS_MAX: u64 = 30;
/// The longest start of a program: the node waits for the rest of the gang.
const START_LIMIT: Duration = Duration::from_secs(40);
/// The longest path in bytes: PATH_MAX (man limits.h) without the terminator.
const PATH_BYTES_MAX: usize = 4095;
/// The most input sent to a program at once; kantctl sends a sixteenth of this.
pub const FEED_BYTES_MAX: usize = 4 << 20;
/// How much longer than the requested wait a node may take.
pub(super) const ANSWER_LIMIT: Duration = Duration::from_secs(15);

/// POST /v1/jobs/{key}/tasks
pub async fn start(
    State(core): State<Arc<Core>>,
    _user: net::User,
    Path(key): Path<String>,
    Extension(remark): Extension<AuditRemark>,
    body: Result<Json<LaunchRequest>, JsonRejection>,
) -> Result<Json<LaunchAnswer>, ApiFailure> {
    let Json(request) = body?;
    remark.set_detail(format!("on node {}: {}", request.node, request.program.join(" ")));
    let key = core.parse_job_key(&key)?;
    check_size(&request)?;
    let (id, node) = find_node(&core, key, &request)?;
    let LaunchRequest { task, program, mut environment, work_dir, manner, .. } = request;
    environment.retain(|name, value| !is_token_variable(name, value));
    let question = StartTask { question: 0, id, task, program, environment, work_dir, manner };
    let asked = tokio::time::timeout(START_LIMIT, core.sessions.start_task(&node, question)).await;
    match asked.ok().flatten().map(|news| news.state) {
        Some(TaskState::Failed(why)) => {
            Err(refused("not_launched", format!("failed to start it on node {node}: {why}")))
        }
        Some(_) => Ok(Json(LaunchAnswer { node, attempt: id.attempt })),
        None => Err(node_silent(&node)),
    }
}

/// GET /v1/jobs/{key}/tasks/{task}
pub async fn watch(
    State(core): State<Arc<Core>>,
    _user: net::User,
    Path((key, task)): Path<(String, u64)>,
    Query(query): Query<TaskQuery>,
) -> Result<Response, ApiFailure> {
    let key = core.parse_job_key(&key)?;
    let TaskQuery { node, attempt, stdout_from, stderr_from, wait_seconds, lease_seconds } = query;
    check_runs_on_node(&core, key, attempt, &node)?;
    let wait_seconds = wait_seconds.min(WAIT_SECONDS_MAX);
    let (id, task) = (AttemptId { key, attempt }, TaskNumber(task));
    let wait = Span::from_seconds(wait_seconds);
    let lease = Some(Span::from_seconds(lease_seconds)).filter(|lease| !lease.is_zero());
    let question = WatchTask { question: 0, id, task, stdout_from, stderr_from, wait, lease };
    let limit = Duration::from_secs(wait_seconds) + ANSWER_LIMIT;
    let asked = tokio::time::timeout(limit, core.sessions.watch_task(&node, question)).await;
    let news = asked.ok().flatten().ok_or_else(|| node_silent(&node))?;
    Ok(output_response(news))
}

/// POST /v1/jobs/{key}/tasks/{task}/signal
pub async fn signal(
    State(core): State<Arc<Core>>,
    _user: net::User,
    Path((key, task)): Path<(String, u64)>,
    Extension(remark): Extension<AuditRemark>,
    body: Result<Json<SignalRequest>, JsonRejection>,
) -> Result<Json<LaunchAnswer>, ApiFailure> {
    let Json(SignalRequest { place, signal }) = body?;
    remark.set_detail(signal);
    let key = core.parse_job_key(&key)?;
    check_runs_on_node(&core, key, place.attempt, &place.node)?;
    let id = AttemptId { key, attempt: place.attempt };
    let question = SignalTask { question: 0, id, task: TaskNumber(task), signal };
    let asked = core.sessions.signal_task(&place.node, question);
    let asked = tokio::time::timeout(ANSWER_LIMIT, asked).await;
    match asked.ok().flatten().map(|news| news.state) {
        Some(TaskState::Failed(why)) => {
            let node = &place.node;
            Err(refused("not_signalled", format!("failed to send {signal} on node {node}: {why}")))
        }
        Some(_) => Ok(Json(place)),
        None => Err(node_silent(&place.node)),
    }
}

/// POST /v1/jobs/{key}/tasks/{task}/input
pub async fn send_input(
    State(core): State<Arc<Core>>,
    _user: net::User,
    Path((key, task)): Path<(String, u64)>,
    Query(query): Query<FeedQuery>,
    body: Bytes,
) -> Result<Json<LaunchAnswer>, ApiFailure> {
    let key = core.parse_job_key(&key)?;
    let FeedQuery { node, attempt, from } = query;
    check_runs_on_node(&core, key, attempt, &node)?;
    let (id, task) = (AttemptId { key, attempt }, TaskNumber(task));
    let question = FeedTask { question: 0, id, task, from, bytes: body.to_vec() };
    let asked = tokio::time::timeout(ANSWER_LIMIT, core.sessions.feed_task(&node, question)).await;
    match asked.ok().flatten().map(|news| news.state) {
        Some(TaskState::Failed(why)) => {
            Err(refused("not_fed", format!("failed to pass input to it on node {node}: {why}")))
        }
        Some(_) => Ok(Json(LaunchAnswer { node, attempt })),
        None => Err(node_silent(&node)),
    }
}

/// Standard output, then standard error; headers have the length of the first, and the status.
fn output_response(news: TaskNews) -> Response {
    let TaskNews { state, mut stdout, stderr, .. } = news;
    // A header value must be ASCII.
    let state = serde_json::to_string(&state).unwrap_or_default();
    let state: String = state.chars().map(|c| if c.is_ascii() { c } else { '?' }).collect();
    let headers = [(STDOUT_BYTES, stdout.len().to_string()), (TASK_STATE, state)];
    stdout.extend(stderr);
    (headers, stdout).into_response()
}

/// Checks that the attempt runs on the node, so that a user cannot keep other nodes busy.
fn check_runs_on_node(
    core: &Core,
    key: JobKey,
    attempt: Attempt,
    node: &NodeName,
) -> Result<(), ApiFailure> {
    let state = core.state.read();
    let (_, element) = state.element(key).ok_or(Refusal::UnknownJob { key })?;
    let past = element.past().map(|past| (past.attempt, &past.run));
    let present = element.run.as_deref().map(|run| (element.attempt, run));
    let run = past.chain(present).find(|(number, _)| *number == attempt);
    if run.is_some_and(|(_, run)| run.rank(node).is_some()) {
        return Ok(());
    }
    let message = format!("attempt {attempt} of job {key} does not run on node {node}");
    Err(refused("not_its_node", message))
}

/// Refuses what no node could run.
fn check_size(request: &LaunchRequest) -> Result<(), Refusal> {
    let refuse = |message: String| Err(Refusal::BadAsk { message });
    let is_path = request.program.first().is_some_and(|program| program.starts_with('/'));
    if !is_path || !request.work_dir.starts_with('/') {
        return refuse("give absolute paths for the program and its working directory".to_owned());
    }
    let longest = request.program.first().map_or(0, String::len).max(request.work_dir.len());
    if longest > PATH_BYTES_MAX {
        return refuse(format!(
            "a path has {longest} bytes, and paths may have at most {PATH_BYTES_MAX}"
        ));
    }
    let words: usize = request.program.iter().map(|word| word.len() + 1).sum();
    let variables = request.environment.iter();
    let variables: usize = variables.map(|(name, value)| name.len() + value.len() + 2).sum();
    if let Some(step) = &request.manner.step {
        check_step_name(&step.name)?;
    }
    if words + variables > ENVIRONMENT_BYTES_MAX {
        return refuse(format!(
            "the program's arguments and environment have {} bytes in total, and may have \
             {ENVIRONMENT_BYTES_MAX}: pass a file instead",
            words + variables
        ));
    }
    Ok(())
}

/// The running attempt, and the requested node.
fn find_node(
    core: &Core,
    key: JobKey,
    request: &LaunchRequest,
) -> Result<(AttemptId, NodeName), ApiFailure> {
    let waits = core.last_waits();
    let state = core.state.read();
    let job =
        view::job_view(&state, &Viewer::ALL, key, &waits).ok_or(Refusal::UnknownJob { key })?;
    let attempt = Attempt(job.attempt);
    // Also while it starts: its first node may run before the controller knows of the others.
    if !matches!(job.phase, Phase::Starting | Phase::Running) {
        let verb = "start a program in".to_owned();
        return Err(Refusal::WrongPhase { key, verb, phase: job.phase }.into());
    }
    if let Some(asking) = request.attempt.filter(|asking| *asking != attempt) {
        let message = format!("attempt {asking} of job {key} has ended: attempt {attempt} runs");
        return Err(refused("attempt_over", message));
    }
    let allocation = job.allocation.as_ref();
    let nodes = || allocation.into_iter().flat_map(|all| all.shares()).map(|share| &share.node);
    let address = |node: &NodeName| state.node(node).map(|node| node.address.as_str());
    let by_name = nodes().find(|node| node.as_str() == request.node);
    let by_address = || nodes().find(|node| address(node) == Some(request.node.as_str()));
    let node = by_name.or_else(by_address).ok_or_else(|| {
        let has = common::hostlist::compress(nodes());
        let message = format!("job {key} does not run on node {}: it runs on {has}", request.node);
        refused("not_its_node", message)
    })?;
    Ok((AttemptId { key, attempt }, node.clone()))
}

pub(super) fn refused(code: &'static str, message: String) -> ApiFailure {
    ApiFailure::Output { status: StatusCode::CONFLICT, code, message }
}

pub(super) fn node_silent(node: &NodeName) -> ApiFailure {
    ApiFailure::Output {
        status: StatusCode::BAD_GATEWAY,
        code: "node_silent",
        message: format!("node {node} did not answer: it is disconnected or hangs"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn request() -> LaunchRequest {
        LaunchRequest {
            task: TaskNumber(1),
            node: "g1".to_owned(),
            attempt: None,
            program: vec!["/bin/true".to_owned()],
            environment: BTreeMap::new(),
            work_dir: "/".to_owned(),
            manner: common::wire::node::Manner::default(),
        }
    }

    #[test]
    fn requests_that_are_too_large_or_have_relative_paths_are_refused() {
        assert_eq!(check_size(&request()), Ok(()));
        let says = |request: LaunchRequest| check_size(&request).unwrap_err().to_string();
        let large = || "x".repeat(ENVIRONMENT_BYTES_MAX / 2);
        let environment = BTreeMap::from([("A".to_owned(), large())]);
        let program = vec!["/bin/true".to_owned(), large()];
        let refused = says(LaunchRequest { program, environment, ..request() });
        assert!(refused.contains("may have 1048576"), "{refused}");
        for program in [vec![], vec!["true".to_owned()]] {
            let refused = says(LaunchRequest { program, ..request() });
            assert!(refused.contains("absolute paths"), "{refused}");
        }
        let refused = says(LaunchRequest { work_dir: "here".to_owned(), ..request() });
        assert!(refused.contains("absolute paths"), "{refused}");
    }

    #[test]
    fn headers_have_the_length_of_the_output_and_the_status() {
        let state = TaskState::Failed("im Kübel\n".to_owned());
        let news = TaskNews { question: 1, state, stdout: b"ab".to_vec(), stderr: b"c".to_vec() };
        let answer = output_response(news);
        assert_eq!(answer.headers()[STDOUT_BYTES], "2");
        assert_eq!(answer.headers()[TASK_STATE], r#"{"failed":"im K?bel\n"}"#);
    }
}
