//! Programs in jobs that run: the job's owner asks, the node answers. They run as the owner, in the
//! job's place on one of its nodes, and end with its attempt.
//! Never for anybody but the owner, operators included: that would be to act as them. Never written
//! to the log: such a program is no state.

use super::audited::Remark;
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
use common::wire::api::{
    FeedQuery, LaunchAnswer, LaunchRequest, STDOUT_BYTES, SignalRequest, TASK_STATE, TaskQuery,
};
use common::wire::node::{FeedTask, SignalTask, StartTask, TaskNews, TaskState, WatchTask};
use state::view;
use std::sync::Arc;
use std::time::Duration;

/// The longest one question waits on the node, in seconds.
const WAIT_SECONDS_MAX: u64 = 30;
/// How long a node may take to start a program: it waits for the rest of the gang.
const START_LIMIT: Duration = Duration::from_secs(40);
/// Bytes of a path: PATH_MAX (man limits.h), less its end.
const PATH_BYTES_MAX: usize = 4095;
/// What is fed to a program at once; kantctl sends a sixteenth of it.
pub const FEED_BYTES_MAX: usize = 4 << 20;
/// How much longer a node may take than it was asked to wait.
pub(super) const ANSWER_LIMIT: Duration = Duration::from_secs(15);

/// POST /v1/jobs/{key}/tasks
pub async fn start(
    State(core): State<Arc<Core>>,
    user: net::User,
    Path(key): Path<String>,
    Extension(remark): Extension<Remark>,
    body: Result<Json<LaunchRequest>, JsonRejection>,
) -> Result<Json<LaunchAnswer>, ApiFailure> {
    let Json(request) = body?;
    remark.detail(format!("on node {}: {}", request.node, request.program.join(" ")));
    let key = core.key(&key)?;
    check_owner(&core, key, &user)?;
    check_size(&request)?;
    let (id, node) = place(&core, key, &request)?;
    let LaunchRequest { task, program, environment, work_dir, manner, .. } = request;
    let question = StartTask { question: 0, id, task, program, environment, work_dir, manner };
    let asked = tokio::time::timeout(START_LIMIT, core.hub.start_task(&node, question)).await;
    match asked.ok().flatten().map(|news| news.state) {
        Some(TaskState::Failed(why)) => {
            Err(refused("not_launched", format!("failed to start it on node {node}: {why}")))
        }
        Some(_) => Ok(Json(LaunchAnswer { node, attempt: id.attempt })),
        None => Err(silent(&node)),
    }
}

/// GET /v1/jobs/{key}/tasks/{task}
pub async fn watch(
    State(core): State<Arc<Core>>,
    user: net::User,
    Path((key, task)): Path<(String, u64)>,
    Query(query): Query<TaskQuery>,
) -> Result<Response, ApiFailure> {
    let key = core.key(&key)?;
    check_owner(&core, key, &user)?;
    let TaskQuery { node, attempt, stdout_from, stderr_from, wait_seconds, lease_seconds } = query;
    check_there(&core, key, attempt, &node)?;
    let wait_seconds = wait_seconds.min(WAIT_SECONDS_MAX);
    let (id, task) = (AttemptId { key, attempt }, TaskNumber(task));
    let wait = Span::from_seconds(wait_seconds);
    let lease = Some(Span::from_seconds(lease_seconds)).filter(|lease| !lease.is_zero());
    let question = WatchTask { question: 0, id, task, stdout_from, stderr_from, wait, lease };
    let limit = Duration::from_secs(wait_seconds) + ANSWER_LIMIT;
    let asked = tokio::time::timeout(limit, core.hub.watch_task(&node, question)).await;
    let news = asked.ok().flatten().ok_or_else(|| silent(&node))?;
    Ok(answer(news))
}

/// POST /v1/jobs/{key}/tasks/{task}/signal
pub async fn signal(
    State(core): State<Arc<Core>>,
    user: net::User,
    Path((key, task)): Path<(String, u64)>,
    Extension(remark): Extension<Remark>,
    body: Result<Json<SignalRequest>, JsonRejection>,
) -> Result<Json<LaunchAnswer>, ApiFailure> {
    let Json(SignalRequest { place, signal }) = body?;
    remark.detail(signal);
    let key = core.key(&key)?;
    check_owner(&core, key, &user)?;
    check_there(&core, key, place.attempt, &place.node)?;
    let id = AttemptId { key, attempt: place.attempt };
    let question = SignalTask { question: 0, id, task: TaskNumber(task), signal };
    let asked = core.hub.signal_task(&place.node, question);
    let asked = tokio::time::timeout(ANSWER_LIMIT, asked).await;
    match asked.ok().flatten().map(|news| news.state) {
        Some(TaskState::Failed(why)) => {
            let node = &place.node;
            Err(refused("not_signalled", format!("failed to send {signal} on node {node}: {why}")))
        }
        Some(_) => Ok(Json(place)),
        None => Err(silent(&place.node)),
    }
}

/// POST /v1/jobs/{key}/tasks/{task}/input
pub async fn feed(
    State(core): State<Arc<Core>>,
    user: net::User,
    Path((key, task)): Path<(String, u64)>,
    Query(query): Query<FeedQuery>,
    body: Bytes,
) -> Result<Json<LaunchAnswer>, ApiFailure> {
    let key = core.key(&key)?;
    check_owner(&core, key, &user)?;
    let FeedQuery { node, attempt, from } = query;
    check_there(&core, key, attempt, &node)?;
    let (id, task) = (AttemptId { key, attempt }, TaskNumber(task));
    let question = FeedTask { question: 0, id, task, from, bytes: body.to_vec() };
    let asked = tokio::time::timeout(ANSWER_LIMIT, core.hub.feed_task(&node, question)).await;
    match asked.ok().flatten().map(|news| news.state) {
        Some(TaskState::Failed(why)) => {
            Err(refused("not_fed", format!("failed to reach it on node {node}: {why}")))
        }
        Some(_) => Ok(Json(LaunchAnswer { node, attempt })),
        None => Err(silent(&node)),
    }
}

/// Standard output, then standard error; headers say where one ends, and how the program is doing.
fn answer(news: TaskNews) -> Response {
    let TaskNews { state, mut stdout, stderr, .. } = news;
    // A header is ASCII, and JSON can be.
    let state = serde_json::to_string(&state).unwrap_or_default();
    let state: String = state.chars().map(|c| if c.is_ascii() { c } else { '?' }).collect();
    let headers = [(STDOUT_BYTES, stdout.len().to_string()), (TASK_STATE, state)];
    stdout.extend(stderr);
    (headers, stdout).into_response()
}

/// Operators end jobs, they do not act as their owners.
pub(super) fn check_owner(core: &Core, key: JobKey, user: &net::User) -> Result<(), ApiFailure> {
    let state = core.state.read();
    let record = state.job(key.job).ok_or(Refusal::UnknownJob { key })?;
    let owner = &record.spec.owner;
    if owner.uid.0 == user.uid {
        return Ok(());
    }
    let message =
        format!("job {key} belongs to user {}: only they may start programs in it", owner.name);
    let refusal = net::Refusal::new(StatusCode::FORBIDDEN, "not_yours", message);
    Err(ApiFailure::Said(refusal))
}

/// A node is asked of its own jobs only: nobody's programs are a way to keep other nodes busy.
fn check_there(
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

/// What no node could run is not sent to one.
fn check_size(request: &LaunchRequest) -> Result<(), Refusal> {
    let refuse = |message: String| Err(Refusal::BadAsk { message });
    let is_path = request.program.first().is_some_and(|program| program.starts_with('/'));
    if !is_path || !request.work_dir.starts_with('/') {
        return refuse("name the program and its directory by their full paths".to_owned());
    }
    let longest = request.program.first().map_or(0, String::len).max(request.work_dir.len());
    if longest > PATH_BYTES_MAX {
        return refuse(format!(
            "a path of {longest} bytes is longer than any file's: {PATH_BYTES_MAX} are allowed"
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
            "the program's arguments and environment have {} bytes together, and may have \
             {ENVIRONMENT_BYTES_MAX}: hand it a file instead",
            words + variables
        ));
    }
    Ok(())
}

/// The attempt that runs, and the node that was meant.
fn place(
    core: &Core,
    key: JobKey,
    request: &LaunchRequest,
) -> Result<(AttemptId, NodeName), ApiFailure> {
    let waits = core.last_waits();
    let state = core.state.read();
    let job = view::job_view(&state, key, &waits).ok_or(Refusal::UnknownJob { key })?;
    let attempt = Attempt(job.attempt);
    // While it starts: its first node may run before the controller has heard of the others.
    if !matches!(job.phase, Phase::Starting | Phase::Running) {
        let verb = "start a program in".to_owned();
        return Err(Refusal::WrongPhase { key, verb, phase: job.phase }.into());
    }
    if let Some(asking) = request.attempt.filter(|asking| *asking != attempt) {
        let message = format!("attempt {asking} of job {key} is over: attempt {attempt} runs");
        return Err(refused("attempt_over", message));
    }
    let allocation = job.allocation.as_ref();
    let nodes = || allocation.into_iter().flat_map(|all| all.shares()).map(|share| &share.node);
    let address = |node: &NodeName| state.node(node).map(|node| node.address.as_str());
    let by_name = nodes().find(|node| node.as_str() == request.node);
    let by_address = || nodes().find(|node| address(node) == Some(request.node.as_str()));
    let node = by_name.or_else(by_address).ok_or_else(|| {
        let has = common::hostlist::fold(nodes());
        let message = format!("job {key} does not run on node {}: it has {has}", request.node);
        refused("not_its_node", message)
    })?;
    Ok((AttemptId { key, attempt }, node.clone()))
}

pub(super) fn refused(code: &'static str, message: String) -> ApiFailure {
    ApiFailure::Output { status: StatusCode::CONFLICT, code, message }
}

pub(super) fn silent(node: &NodeName) -> ApiFailure {
    ApiFailure::Output {
        status: StatusCode::BAD_GATEWAY,
        code: "node_silent",
        message: format!("node {node} did not answer: it is out of contact, or hangs"),
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
    fn what_is_too_large_or_depends_on_where_one_stands_is_refused() {
        assert_eq!(check_size(&request()), Ok(()));
        let says = |request: LaunchRequest| check_size(&request).unwrap_err().to_string();
        let large = || "x".repeat(ENVIRONMENT_BYTES_MAX / 2);
        let environment = BTreeMap::from([("A".to_owned(), large())]);
        let program = vec!["/bin/true".to_owned(), large()];
        let refused = says(LaunchRequest { program, environment, ..request() });
        assert!(refused.contains("may have 1048576"), "{refused}");
        for program in [vec![], vec!["true".to_owned()]] {
            let refused = says(LaunchRequest { program, ..request() });
            assert!(refused.contains("full paths"), "{refused}");
        }
        let refused = says(LaunchRequest { work_dir: "here".to_owned(), ..request() });
        assert!(refused.contains("full paths"), "{refused}");
    }

    #[test]
    fn an_answer_says_where_its_output_ends_and_how_the_program_does() {
        let state = TaskState::Failed("im Kübel\n".to_owned());
        let news = TaskNews { question: 1, state, stdout: b"ab".to_vec(), stderr: b"c".to_vec() };
        let answer = answer(news);
        assert_eq!(answer.headers()[STDOUT_BYTES], "2");
        assert_eq!(answer.headers()[TASK_STATE], r#"{"failed":"im K?bel\n"}"#);
    }
}
