//! Reservations: list, create, update, delete. `choice` chooses nodes and times
//! left open; the state decides who may make one.

mod choice;

use super::audited::AuditRemark;
use super::error::ApiFailure;
use super::slow_query;
use crate::core::Core;
use crate::host_names::{HostNames, group_name, user_name};
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use axum::{Extension, Json};
use common::config::policy::{Names, open_access_warnings};
use common::id::{AccountName, Gid, JobKey, ReservationName, Uid};
use common::policy::{Access, Policy};
use common::reason::Refusal;
use common::reservation::Reservation;
use common::wire::api::{
    Changed, ReservationList, ReservationPatch, ReservationRequest, ReservationView,
};
use query::viewer::Viewer;
use state::Command;
use std::collections::BTreeSet;
use std::sync::Arc;

/// GET /v1/reservations
pub async fn list(
    State(core): State<Arc<Core>>,
    user: net::User,
) -> Result<Json<ReservationList>, ApiFailure> {
    Ok(Json(reservation_views(&core, &user, |_| true).await?))
}

/// POST /v1/reservations
pub async fn create(
    State(core): State<Arc<Core>>,
    user: net::User,
    Extension(remark): Extension<AuditRemark>,
    body: Result<Json<ReservationRequest>, JsonRejection>,
) -> Result<Json<ReservationList>, ApiFailure> {
    let Json(request) = body?;
    remark.set_target(&request.name);
    let actor = core.actor(&user);
    let choice = choice::choose(&core.state.read(), &request, core.now())?;
    let name = request.name.clone();
    let reservation = Reservation {
        name: request.name.clone(),
        nodes: choice.nodes,
        from: choice.from,
        to: choice.to,
        access: resolve_access(request.users, request.groups, request.accounts).await?,
        maintenance: request.maintenance,
        by: actor.uid,
        comment: request.comment,
    };
    let reservation = Box::new(reservation);
    core.propose_command(Command::CreateReservation { actor, reservation }).await?;
    let warnings = reservation_warnings(&core.state.read(), &name);
    for warning in &warnings {
        tracing::warn!("{warning}");
    }
    let made = reservation_views(&core, &user, move |made| *made == name).await?;
    Ok(Json(ReservationList { warnings, ..made }))
}

/// POST /v1/reservations/{name}/update
pub async fn update(
    State(core): State<Arc<Core>>,
    user: net::User,
    Path(name): Path<String>,
    body: Result<Json<ReservationPatch>, JsonRejection>,
) -> Result<Json<ReservationList>, ApiFailure> {
    let Json(patch) = body?;
    let (actor, name): (_, ReservationName) = (core.actor(&user), name.parse()?);
    let there_is = core.state.read().reservation(&name).cloned();
    let old = there_is.ok_or_else(|| Refusal::UnknownReservation { name: name.clone() })?;
    let (has_users, has_groups) = (patch.users.is_some(), patch.groups.is_some());
    let accounts = patch.accounts.clone();
    let asked = resolve_access(
        patch.users.unwrap_or_default(),
        patch.groups.unwrap_or_default(),
        Vec::new(),
    );
    let asked = asked.await?;
    let access = Access {
        users: if has_users { asked.users } else { old.access.users },
        groups: if has_groups { asked.groups } else { old.access.groups },
        accounts: accounts.map_or(old.access.accounts, |names| names.into_iter().collect()),
    };
    let reservation = Box::new(Reservation {
        name: name.clone(),
        nodes: patch.nodes.map_or(old.nodes, |names| names.into_iter().collect()),
        from: patch.from.unwrap_or(old.from),
        to: patch.to.unwrap_or(old.to),
        access,
        maintenance: patch.maintenance.unwrap_or(old.maintenance),
        by: old.by,
        comment: patch.comment.unwrap_or(old.comment),
    });
    core.propose_command(Command::UpdateReservation { actor, reservation }).await?;
    let warnings = reservation_warnings(&core.state.read(), &name);
    let changed = reservation_views(&core, &user, move |changed| *changed == name).await?;
    Ok(Json(ReservationList { warnings, ..changed }))
}

/// POST /v1/reservations/{name}/delete
pub async fn delete(
    State(core): State<Arc<Core>>,
    user: net::User,
    Path(name): Path<String>,
) -> Result<Json<Changed>, ApiFailure> {
    let (actor, name): (_, ReservationName) = (core.actor(&user), name.parse()?);
    let waiting = jobs_in(&core.state.read(), &name);
    core.propose_command(Command::DeleteReservation { actor, name }).await?;
    Ok(Json(Changed { jobs: waiting }))
}

/// Likely mistakes in a reservation.
fn reservation_warnings(state: &state::State, name: &ReservationName) -> Vec<String> {
    // Only the reservation is checked here.
    let accounts = state.settings().map(|settings| settings.accounts.clone());
    let policy = Policy { accounts: accounts.unwrap_or_default(), ..Policy::default() };
    open_access_warnings(&policy, state.reservation(name))
}

/// The access rules. Reads the host's user database.
async fn resolve_access(
    users: Vec<String>,
    groups: Vec<String>,
    accounts: Vec<AccountName>,
) -> Result<Access, Refusal> {
    let accounts = accounts.into_iter().collect();
    let look = tokio::task::spawn_blocking(move || {
        let unknown = |what: &str, name: &str| Refusal::BadAsk {
            message: format!(
                "{what} `{name}` does not exist on the controller's host: give a number"
            ),
        };
        let user = |name: &String| match name.parse() {
            Ok(uid) => Ok(Uid(uid)),
            Err(_) => HostNames.user(name).ok_or_else(|| unknown("user", name)),
        };
        let group = |name: &String| match name.parse() {
            Ok(gid) => Ok(Gid(gid)),
            Err(_) => HostNames.group(name).ok_or_else(|| unknown("group", name)),
        };
        let users = users.iter().map(user).collect::<Result<BTreeSet<Uid>, Refusal>>()?;
        let groups = groups.iter().map(group).collect::<Result<BTreeSet<Gid>, Refusal>>()?;
        Ok::<_, Refusal>((users, groups))
    });
    let stopped =
        |_| Refusal::BadAsk { message: "the controller is stopping: try again".to_owned() };
    let (users, groups) = look.await.map_err(stopped)??;
    Ok(Access { users, groups, accounts })
}

/// The unfinished jobs that asked for a reservation.
fn jobs_in(state: &state::State, name: &ReservationName) -> Vec<JobKey> {
    let asks = |key: &JobKey| {
        state.job(key.job).is_some_and(|record| record.spec.ask.reservation.as_ref() == Some(name))
    };
    state.live().filter(asks).collect()
}

/// The reservations that `wanted` selects and that have not ended.
///
/// # Errors
/// As [`slow_query::run`].
pub(super) async fn reservation_views(
    core: &Arc<Core>,
    user: &net::User,
    wanted: impl Fn(&ReservationName) -> bool + Send + 'static,
) -> Result<ReservationList, ApiFailure> {
    let (as_of, viewer) = (core.now(), core.viewer(user));
    let list = slow_query::run(core, user.uid, move |state| {
        let here = state.reservations().filter(|r| r.to > as_of && wanted(&r.name));
        let mut views: Vec<ReservationView> =
            here.map(|r| reservation_view(state, &viewer, r)).collect();
        views.sort_by(|a, b| (a.from, &a.name).cmp(&(b.from, &b.name)));
        views
    });
    Ok(ReservationList { reservations: list.await?, as_of, warnings: Vec::new() })
}

fn reservation_view(
    state: &state::State,
    viewer: &Viewer,
    reservation: &Reservation,
) -> ReservationView {
    let Reservation { name, nodes, from, to, access, maintenance, by, comment } = reservation;
    ReservationView {
        name: name.clone(),
        nodes: nodes.iter().cloned().collect(),
        from: *from,
        to: *to,
        users: access.users.iter().map(|user| user_name(user.0)).collect(),
        groups: access.groups.iter().map(|group| group_name(*group)).collect(),
        accounts: access.accounts.iter().cloned().collect(),
        maintenance: *maintenance,
        by: user_name(by.0),
        comment: comment.clone(),
        jobs: jobs_in(state, name).into_iter().filter(|key| viewer.sees_key(state, *key)).collect(),
    }
}
