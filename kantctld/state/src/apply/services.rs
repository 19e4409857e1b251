//! The commands about services and their replicas.

mod act_on_service;
mod autoscale_service;
mod deploy_service;
mod end_update;
mod remove_service;
mod start_replicas;
mod stop_replica;

pub use deploy_service::{CheckedDeployment, check_deployment};

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
        Command::DeployService(deployment) => deploy_service::apply(state, out, deployment),
        Command::ActOnService { actor, name, action } => {
            act_on_service::apply(state, out, actor, name, action)
        }
        Command::AutoscaleService { service, role, replicas, reason } => {
            autoscale_service::apply(state, out, (service, role), *replicas, reason)
        }
        Command::StartReplicas { service, revision, places } => {
            start_replicas::apply(state, out, service, *revision, places)
        }
        Command::StopReplica { key, why } => stop_replica::apply(state, out, *key, *why),
        Command::EndUpdate { service, revision, failure } => {
            end_update::apply(state, out, service, *revision, failure.as_ref())
        }
        Command::RemoveService { name } => remove_service::apply(state, out, name),
        // The caller passes no other command.
        _ => Ok(()),
    }
}
