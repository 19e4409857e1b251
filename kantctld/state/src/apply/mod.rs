//! The commands, one file each: their checks and their effects. This file dispatches them.
//!
//! A command is refused before it changes anything. It reads only the state and its own fields, and
//! fails in no way but by a refusal.

mod admission;
mod bulk_action;
mod cancel_job;
mod checkpoint_job;
mod configure;
mod create_reservation;
mod create_token;
mod deadline_over;
mod delete_reservation;
mod drain_node;
mod enact_round;
mod end_hopeless;
mod enrol_node;
mod finish_job;
mod forget_done;
mod hold_job;
mod invite;
mod lease_over;
#[cfg(feature = "next-rules")]
mod next_rules;
mod node_lost;
mod node_silent;
mod operators;
mod raise_rules;
mod register_node;
mod release_job;
mod report_data;
mod report_health;
mod report_steps;
mod requeue_job;
mod resize_job;
mod resume_job;
mod resume_node;
mod revoke_node;
mod revoke_token;
mod rotate_key;
mod services;
mod start_overdue;
mod submit_job;
mod submit_jobs;
mod submit_set;
mod suspend_job;
mod target;
mod update_job;
mod update_reservation;
mod use_invitation;
mod withdraw_invitation;

pub use admission::check_could_wait;
pub use services::{CheckedDeployment, check_deployment};
pub use update_job::patched_request;

use crate::command::{Command, Stamped};
use crate::dependents;
use crate::event::Event;
use crate::state::State;
use common::reason::Refusal;

/// Carries out a command at the later of its stamp and the last command's. The same state and
/// command give the same state and events, on every replica and in every replay.
pub fn apply(state: &mut State, stamped: &Stamped<Command>) -> Vec<Event> {
    let mut events = Vec::new();
    apply_to(state, &mut events, stamped);
    events
}

/// The same, and adds the events to those of earlier commands.
pub fn apply_to(state: &mut State, events: &mut Vec<Event>, stamped: &Stamped<Command>) {
    state.now = state.now.max(stamped.at);
    let first = events.len();
    let result = carry_out(state, events, &stamped.command);
    dependents::resolve(state, events, first);
    if let Err(refusal) = result {
        events.push(Event::CommandRefused(refusal));
    }
}

/// Calls the function of the command.
fn carry_out(state: &mut State, out: &mut Vec<Event>, command: &Command) -> Result<(), Refusal> {
    match command {
        Command::Configure(settings) => configure::apply(state, out, settings),
        submitted @ (Command::SubmitJob { .. } | Command::SubmitSet { .. }) => {
            submit_set::submission(submitted).and_then(|asked| submit_job::apply(state, out, asked))
        }
        Command::SubmitJobs(many) => submit_jobs::apply(state, out, many),
        action @ (Command::CancelJob { .. }
        | Command::HoldJob { .. }
        | Command::ReleaseJob { .. }
        | Command::RequeueJob { .. }
        | Command::SuspendJob { .. }
        | Command::ResumeJob { .. }
        | Command::ActOnTasks { .. }) => bulk_action::apply(state, out, action),
        Command::UpdateJob { actor, target, patch } => {
            update_job::apply(state, out, actor, *target, patch)
        }
        Command::CheckpointJob { actor, target } => {
            checkpoint_job::apply(state, out, actor, *target)
        }
        Command::ResizeJob { actor, target, size } => {
            resize_job::apply(state, out, actor, *target, *size)
        }
        Command::EnactRound { preempts, shrinks, starts, grows } => {
            enact_round::apply(state, out, (preempts, shrinks), (starts, grows))
        }
        Command::ReportSteps { node, steps } => report_steps::apply(state, out, node, steps),
        Command::ReportHealth { node, findings } => {
            report_health::apply(state, out, node, findings)
        }
        Command::ReportData { node, data } => report_data::apply(state, out, node, data),
        hello @ Command::RegisterNode { .. } => register_node::apply(state, out, hello),
        Command::NodeSilent { name } => node_silent::apply(state, out, name),
        Command::NodeLost { name } => node_lost::apply(state, out, name),
        #[cfg(feature = "next-rules")]
        drain @ Command::DrainWithNote { .. } => operators::apply(state, out, drain),
        by_operator @ (Command::DrainNode { .. }
        | Command::ResumeNode { .. }
        | Command::CreateReservation { .. }
        | Command::UpdateReservation { .. }
        | Command::DeleteReservation { .. }
        | Command::Invite { .. }
        | Command::WithdrawInvitation { .. }
        | Command::RevokeNode { .. }) => operators::apply(state, out, by_operator),
        Command::RaiseRules { to } => raise_rules::apply(state, out, *to),
        Command::RotateKey(action) => rotate_key::apply(state, out, action),
        about_service @ (Command::DeployService(_)
        | Command::ActOnService { .. }
        | Command::AutoscaleService { .. }
        | Command::StartReplicas { .. }
        | Command::StopReplica { .. }
        | Command::EndUpdate { .. }
        | Command::RemoveService { .. }) => services::apply(state, out, about_service),
        Command::UseInvitation { hash, address: at } => use_invitation::apply(state, out, hash, at),
        Command::EnrolNode { hash, name, key } => enrol_node::apply(state, out, hash, (name, key)),
        Command::CreateToken { actor, token } => create_token::apply(state, out, actor, token),
        Command::RevokeToken { actor, id } => revoke_token::apply(state, out, actor, id),
        Command::DeadlineOver { key } => deadline_over::apply(state, out, *key),
        Command::LeaseOver { key } => lease_over::apply(state, out, *key),
        Command::FinishJob { actor, target, exit } => {
            finish_job::apply(state, out, actor, *target, *exit)
        }
        Command::StartOverdue { id } => start_overdue::apply(state, out, *id),
        Command::ForgetDone => forget_done::apply(state, out),
        Command::EndHopeless => end_hopeless::apply(state, out),
    }
}
