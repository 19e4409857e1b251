//! Steps of running jobs. The first node of a job keeps the list of its steps and answers. Steps
//! are visible to all who can see the job; only the owner opens and closes them. Who may signal
//! them and read their output is as for the job. Steps are not part of the replicated state.

use super::audited::AuditRemark;
use super::error::ApiFailure;
use super::right_check::check_action;
use super::tasks::{ANSWER_LIMIT, node_silent, refused};
use crate::core::Core;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use axum::{Extension, Json};
use common::id::{Attempt, AttemptId, JobKey, NodeName};
use common::job::Phase;
use common::job::check::check_step_name;
use common::reason::Refusal;
use common::right::JobAction;
use common::wire::api::StepList;
use common::wire::node::{AskSteps, StepAnswer, StepWish};
use query::view;
use query::viewer::Viewer;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// GET /v1/jobs/{key}/steps
pub async fn list(
    State(core): State<Arc<Core>>,
    _user: net::User,
    Path(key): Path<String>,
) -> Result<Json<StepList>, ApiFailure> {
    let key = core.parse_job_key(&key)?;
    let (id, node) = first_node(&core, key, "list the steps of")?;
    match ask_node(&core, id, &node, StepWish::List).await? {
        StepAnswer::List(steps) => Ok(Json(StepList { steps })),
        StepAnswer::Refused(why) => Err(refused("no_steps", format!("node {node}: {why}"))),
        _ => Err(node_silent(&node)),
    }
}

/// POST /v1/jobs/{key}/steps
pub async fn handle_step_request(
    State(core): State<Arc<Core>>,
    user: net::User,
    Path(key): Path<String>,
    Extension(remark): Extension<AuditRemark>,
    body: Result<Json<StepWish>, JsonRejection>,
) -> Result<Json<StepAnswer>, ApiFailure> {
    let Json(wish) = body?;
    note_wish(&remark, &wish);
    let key = core.parse_job_key(&key)?;
    let action = match &wish {
        StepWish::List => JobAction::See,
        StepWish::Listen { .. } => JobAction::Read,
        StepWish::Signal { .. } => JobAction::Signal,
        _ => JobAction::RunPrograms,
    };
    check_action(&core, &user, key, action).await?;
    let (id, node) = first_node(&core, key, "start a program in")?;
    check_size(&core, key, &wish)?;
    Ok(Json(ask_node(&core, id, &node, wish).await?))
}

/// Writes an audit detail for wishes that change something: the start and end of a step, and
/// signals.
fn note_wish(remark: &AuditRemark, wish: &StepWish) {
    match wish {
        StepWish::Open(ask) => remark.set_detail(format!("open {}", ask.name)),
        StepWish::Close { number, exit } => remark.set_detail(format!("close {number}: {exit}")),
        StepWish::Signal { number, signal } => remark.set_detail(format!("{signal} to {number}")),
        // The client chooses where it begins, so each one is written if the job is another user's.
        StepWish::Listen { .. } => remark.mark_repeated_of_owner(),
        StepWish::Hold { .. } | StepWish::Say { .. } | StepWish::Speak { .. } | StepWish::List => {
            remark.mark_repeated()
        }
    }
}

/// Checks that a step uses only nodes of its job, each once, which also bounds what the first node
/// stores about it.
fn check_size(core: &Core, key: JobKey, wish: &StepWish) -> Result<(), ApiFailure> {
    let StepWish::Open(ask) = wish else { return Ok(()) };
    let refuse = |message: String| Err(Refusal::BadAsk { message }.into());
    check_step_name(&ask.name).map_err(Refusal::from)?;
    let state = core.state.read();
    let (_, element) = state.element(key).ok_or(Refusal::UnknownJob { key })?;
    let Some(run) = element.run.as_deref() else { return Ok(()) };
    let mut named = BTreeSet::new();
    for node in ask.tasks.iter().map(|(node, _)| node).chain(&ask.others) {
        if run.rank(node).is_none() {
            return refuse(format!("job {key} does not run on node {node}"));
        }
        if !named.insert(node) {
            return refuse(format!("the step names node {node} twice"));
        }
    }
    Ok(())
}

async fn ask_node(
    core: &Core,
    id: AttemptId,
    node: &NodeName,
    wish: StepWish,
) -> Result<StepAnswer, ApiFailure> {
    let wait = match &wish {
        StepWish::Hold { wait, .. } | StepWish::Listen { wait, .. } => {
            Duration::from_millis(wait.0)
        }
        _ => Duration::ZERO,
    };
    let asked = core.sessions.ask_steps(node, AskSteps { question: 0, id, wish });
    let news = tokio::time::timeout(wait + ANSWER_LIMIT, asked).await;
    Ok(news.ok().flatten().ok_or_else(|| node_silent(node))?.answer)
}

/// The live attempt, and its first node.
fn first_node(core: &Core, key: JobKey, verb: &str) -> Result<(AttemptId, NodeName), ApiFailure> {
    let waits = core.last_waits();
    let state = core.state.read();
    let job =
        view::job_view(&state, &Viewer::ALL, key, &waits).ok_or(Refusal::UnknownJob { key })?;
    let lives = [Phase::Starting, Phase::Running, Phase::Suspended, Phase::Completing];
    let first = job.allocation.as_ref().and_then(|all| all.shares().first());
    match first.filter(|_| lives.contains(&job.phase)) {
        Some(share) => Ok((AttemptId { key, attempt: Attempt(job.attempt) }, share.node.clone())),
        None => {
            let verb = verb.to_owned();
            Err(Refusal::WrongPhase { key, verb, phase: job.phase }.into())
        }
    }
}
