//! POST /v1/jobs/set: submission of a heterogeneous job, checked, proposed and accepted as a whole.

use super::audited::AuditRemark;
use super::error::ApiFailure;
use super::origin::Origin;
use super::right_check::check_dependencies;
use super::submit::{join_environment, owner, propose, refuse_a_set_that_never_fits};
use crate::core::Core;
use crate::disk_guard::DiskGuard;
use axum::extract::rejection::JsonRejection;
use axum::{Extension, Json, extract};
use common::id::Uid;
use common::job::check::{check_ask, check_script};
use common::job::check_size;
use common::reason::Refusal;
use common::wire::api::{SetRequest, SubmitAnswer};
use state::Command;
use std::sync::Arc;

pub async fn submit(
    extract::State(core): extract::State<Arc<Core>>,
    Extension(disk_guard): Extension<Arc<DiskGuard>>,
    user: net::User,
    origin: Origin,
    Extension(remark): Extension<AuditRemark>,
    body: Result<Json<SetRequest>, JsonRejection>,
) -> Result<Json<SubmitAnswer>, ApiFailure> {
    let Json(request) = body?;
    check_size(request.asks.len()).map_err(Refusal::from)?;
    request.asks.iter().try_for_each(check_ask)?;
    check_script(request.script.as_bytes())?;
    let environment = join_environment(&request.environment)?;
    let known = core.state.read().answered_request(Uid(user.uid), &request.request_key).is_some();
    if !known {
        for ask in &request.asks {
            check_dependencies(&core, &user, ask)?;
        }
        disk_guard.check()?;
        refuse_a_set_that_never_fits(&core, &request.asks).await?;
    }
    let (owner, groups) = owner(&core, &user).await?;
    let operator = core.actor(&user).operator;
    let note = request.asks.first().and_then(|ask| core.mail.warning(ask));
    let command = Command::SubmitSet {
        request_key: request.request_key,
        owner,
        groups,
        operator,
        via: origin.vouching_node(),
        asks: request.asks,
        script: request.script,
        environment,
    };
    propose(&core, &remark, note, command).await
}
