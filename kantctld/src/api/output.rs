//! A job's script and output, for its owner and those who may see what is not theirs. Output is
//! read on the job's node as the owner, and passed through.

use super::error::ApiFailure;
use super::right_check::check_action;
use crate::core::Core;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use common::id::{AttemptId, JobKey, NodeName};
use common::job::pattern::{PatternFacts, absolute, fill};
use common::job::{Owner, Phase};
use common::reason::Refusal;
use common::right::JobAction;
use common::time::Span;
use common::wire::api::OutputQuery;
use common::wire::node::{OutputStream, ReadOutput};
use query::view;
use query::viewer::Viewer;
use std::sync::Arc;
use std::time::Duration;

/// Set on an answer once the output is complete.
const ENDED: HeaderName = HeaderName::from_static("x-kant-ended");
/// The most bytes in one answer.
const CHUNK_BYTES_MAX: u32 = 1 << 20;
/// The longest wait of one request on the node, in seconds.
const WAIT_SECONDS_MAX: u64 = 30;
/// How much longer than that a node may take.
const ANSWER_LIMIT: Duration = Duration::from_secs(15);

/// The location of a job's output.
struct OutputSource {
    node: NodeName,
    id: AttemptId,
    owner: Owner,
    path: String,
    over: bool,
}

/// GET /v1/jobs/{key}/script
pub async fn script(
    State(core): State<Arc<Core>>,
    _user: net::User,
    Path(key): Path<String>,
) -> Result<String, ApiFailure> {
    let key = core.parse_job_key(&key)?;
    let state = core.state.read();
    let gone = || match state.is_textless(key.job) {
        true => Refusal::TextsGone { job: key.job },
        false => Refusal::UnknownJob { key },
    };
    let script = view::script(&state, key.job).ok_or_else(gone)?;
    Ok(script.to_owned())
}

/// GET /v1/jobs/{key}/output
pub async fn read(
    State(core): State<Arc<Core>>,
    user: net::User,
    Path(key): Path<String>,
    Query(query): Query<OutputQuery>,
) -> Result<Response, ApiFailure> {
    let chunk = read_chunk(&core, &user, core.parse_job_key(&key)?, &query).await?;
    let ended = if chunk.is_end { "1" } else { "0" };
    Ok(([(ENDED, ended)], chunk.bytes).into_response())
}

/// A part of the output.
pub(super) struct Chunk {
    pub bytes: Vec<u8>,
    /// The job has ended, and this is the rest.
    pub is_end: bool,
}

/// Reads a part of the output on the job's node. The right is checked for each part.
pub(super) async fn read_chunk(
    core: &Core,
    user: &net::User,
    key: JobKey,
    query: &OutputQuery,
) -> Result<Chunk, ApiFailure> {
    check_action(core, user, key, JobAction::Read).await?;
    let source = output_source(core, &core.viewer(user), key, query.stream)?;
    let wait_seconds = if source.over { 0 } else { query.wait_seconds.min(WAIT_SECONDS_MAX) };
    let question = ReadOutput {
        question: 0,
        id: source.id,
        owner: source.owner,
        path: source.path,
        offset: query.offset,
        bytes_max: CHUNK_BYTES_MAX,
        wait: Span::from_seconds(wait_seconds),
    };
    let limit = Duration::from_secs(wait_seconds) + ANSWER_LIMIT;
    let answer =
        tokio::time::timeout(limit, core.sessions.read_output(&source.node, question)).await;
    let chunk = answer.ok().flatten().ok_or_else(|| ApiFailure::Output {
        status: StatusCode::BAD_GATEWAY,
        code: "node_silent",
        message: format!("node {} has the output and does not answer", source.node),
    })?;
    if let Some(message) = chunk.error {
        let (status, code) = (StatusCode::UNPROCESSABLE_ENTITY, "output_unreadable");
        return Err(ApiFailure::Output { status, code, message });
    }
    Ok(Chunk { is_end: source.over && chunk.bytes.is_empty(), bytes: chunk.bytes })
}

fn output_source(
    core: &Core,
    viewer: &Viewer,
    key: JobKey,
    stream: OutputStream,
) -> Result<OutputSource, ApiFailure> {
    let waits = core.last_waits();
    let job = view::job_view(&core.state.read(), viewer, key, &waits)
        .ok_or(Refusal::UnknownJob { key })?;
    let Some(share) = job.allocation.as_ref().and_then(|a| a.shares().first()) else {
        let why = job.reason.map(|r| format!(": {}", r.sentence)).unwrap_or_default();
        return Err(ApiFailure::Output {
            status: StatusCode::CONFLICT,
            code: "not_started",
            message: format!("job {key} has no output yet, it is {}{why}", job.phase),
        });
    };
    let pattern = match (stream, &job.ask.stderr) {
        (OutputStream::Stderr, Some(pattern)) => pattern,
        _ => job.ask.stdout_pattern(),
    };
    let facts = PatternFacts {
        key,
        number: job.number,
        job_name: &job.ask.name,
        user: &job.owner.name,
        node: &share.node,
        node_rank: 0,
        task_rank: 0,
    };
    Ok(OutputSource {
        node: share.node.clone(),
        id: AttemptId { key, attempt: common::id::Attempt(job.attempt) },
        path: absolute(&job.ask.work_dir, &fill(pattern, &facts)),
        owner: job.owner,
        over: job.phase == Phase::Done,
    })
}
