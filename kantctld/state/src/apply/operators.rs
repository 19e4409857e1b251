//! The commands of operators that concern no job.

use super::{
    create_reservation, delete_reservation, drain_node, invite, resume_node, revoke_node,
    update_reservation, withdraw_invitation,
};
use crate::command::Command;
use crate::event::Event;
use crate::state::State;
use common::reason::Refusal;

pub(super) fn apply(
    state: &mut State,
    out: &mut Vec<Event>,
    command: &Command,
) -> Result<(), Refusal> {
    match command {
        Command::DrainNode { actor, name, reason } => {
            drain_node::apply(state, out, actor, name, reason)
        }
        #[cfg(feature = "next-rules")]
        Command::DrainWithNote { actor, name, reason, note } => {
            super::next_rules::drain(state, out, actor, (name, reason), note)
        }
        Command::ResumeNode { actor, name } => resume_node::apply(state, out, actor, name),
        Command::CreateReservation { actor, reservation } => {
            create_reservation::apply(state, out, actor, reservation)
        }
        Command::UpdateReservation { actor, reservation } => {
            update_reservation::apply(state, out, actor, reservation)
        }
        Command::DeleteReservation { actor, name } => {
            delete_reservation::apply(state, out, actor, name)
        }
        Command::Invite { actor, hash, lasts, admits } => {
            invite::apply(state, out, actor, (hash, *lasts, admits))
        }
        Command::WithdrawInvitation { actor, id } => {
            withdraw_invitation::apply(state, out, actor, id)
        }
        Command::RevokeNode { actor, name } => revoke_node::apply(state, out, actor, name),
        // The caller passes no other command.
        _ => Ok(()),
    }
}
