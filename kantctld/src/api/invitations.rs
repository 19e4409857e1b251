//! Open invitations, as operators see them: without their secrets, of which the state has only
//! hashes.

use super::error::ApiFailure;
use crate::core::Core;
use axum::Json;
use axum::extract::{Path, State};
use common::wire::api::{InvitationList, InvitationView};
use net::User;
use state::Command;
use state::invitation::{Admits, ID_CHARS, Invitation};
use std::sync::Arc;

/// GET /v1/invitations
pub async fn list(
    State(core): State<Arc<Core>>,
    _user: User,
) -> Result<Json<InvitationList>, ApiFailure> {
    Ok(Json(open_invitations(&core)))
}

/// POST /v1/invitations/{id}/withdraw
pub async fn withdraw(
    State(core): State<Arc<Core>>,
    user: User,
    Path(id): Path<String>,
) -> Result<Json<InvitationList>, ApiFailure> {
    core.propose_command(Command::WithdrawInvitation { actor: core.actor(&user), id }).await?;
    Ok(Json(open_invitations(&core)))
}

fn open_invitations(core: &Core) -> InvitationList {
    let (now, state) = (core.now(), core.state.read());
    let is_open = |(_, one): &(&str, &Invitation)| one.until > now && one.is_unused();
    let invitations = state.invitations().filter(is_open).map(view).collect();
    InvitationList { invitations }
}

fn view((hash, invitation): (&str, &Invitation)) -> InvitationView {
    let nodes = match &invitation.admits {
        Admits::Nodes(names) => names.iter().cloned().collect(),
        Admits::Controller | Admits::AnyNode => Vec::new(),
    };
    InvitationView {
        id: hash.chars().take(ID_CHARS).collect(),
        by: invitation.by,
        until: invitation.until,
        controller: invitation.admits == Admits::Controller,
        nodes,
    }
}
