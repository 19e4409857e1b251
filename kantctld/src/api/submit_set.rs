//! POST /v1/jobs/set: a set of jobs that start and end together. Checked, resolved and proposed as
//! one job is, and answered once all of it is on disk. Never takes a part of a set.

use super::audited::Remark;
use super::error::ApiFailure;
use super::origin::Origin;
use super::submit::{both, doubt, join_environment, owner, refuse_a_set_that_never_fits};
use crate::core::Core;
use crate::room::Room;
use axum::extract::rejection::JsonRejection;
use axum::{Extension, Json, extract};
use common::id::Uid;
use common::job::check::{check_ask, check_script};
use common::job::check_size;
use common::reason::Refusal;
use common::wire::api::{SetRequest, SubmitAnswer};
use state::{Command, Event};
use std::sync::Arc;

pub async fn submit(
    extract::State(core): extract::State<Arc<Core>>,
    Extension(room): Extension<Arc<Room>>,
    user: net::User,
    origin: Origin,
    Extension(remark): Extension<Remark>,
    body: Result<Json<SetRequest>, JsonRejection>,
) -> Result<Json<SubmitAnswer>, ApiFailure> {
    let Json(request) = body?;
    check_size(request.asks.len()).map_err(Refusal::from)?;
    request.asks.iter().try_for_each(check_ask)?;
    check_script(request.script.as_bytes())?;
    let environment = join_environment(&request.environment)?;
    let known = core.state.read().request(Uid(user.uid), &request.request_key).is_some();
    if !known {
        room.check()?;
        refuse_a_set_that_never_fits(&core, &request.asks).await?;
    }
    let (owner, groups) = owner(&core, &user).await?;
    let operator = core.actor(owner.uid).operator;
    let note = request.asks.first().and_then(|ask| core.mail.note(ask));
    let command = Command::SubmitSet {
        request_key: request.request_key,
        owner,
        groups,
        operator,
        via: origin.node(),
        asks: request.asks,
        script: request.script,
        environment,
    };
    let events = core.command(command).await?;
    // The first of them has the number that the set is called by.
    let accepted = events.iter().find_map(|event| match event {
        Event::JobSubmitted { job, tasks, .. } => Some(SubmitAnswer {
            job: *job,
            tasks: *tasks,
            warning: both(note.clone(), doubt(&core, *job)),
        }),
        _ => None,
    });
    let unsaid = || Refusal::BadAsk {
        message: "the controller did not say what became of it: see `kantctl queue`".to_owned(),
    };
    let answer = accepted.ok_or_else(unsaid)?;
    remark.target(answer.job);
    Ok(Json(answer))
}
