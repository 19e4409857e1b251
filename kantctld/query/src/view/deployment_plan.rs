//! What a deployment of a service would change, and what it would need (`kantctl service deploy
//! --dry-run`), in sentences.

mod need;
mod role_plan;

use super::queues::queue_held;
use common::reason::Refusal;
use common::service::{RoleSpec, ServiceSpec};
use common::wire::api::DeployAnswer;
use need::{Need, queue_lines};
use role_plan::RolePlan;
use state::service::Service;
use state::{CheckedDeployment, Deployment, State};
use std::collections::BTreeMap;

/// What a deployment would do.
///
/// # Errors
/// Why it would be refused.
pub fn deployment_plan(state: &State, deployment: &Deployment) -> Result<DeployAnswer, Refusal> {
    let CheckedDeployment { revision, is_unchanged, asks, .. } =
        state::check_deployment(state, deployment)?;
    let name = deployment.name.clone();
    if is_unchanged {
        let plan = vec!["nothing would change".to_owned()];
        return Ok(DeployAnswer { name, revision, plan });
    }
    let (service, spec) = (state.service(&name), &deployment.spec);
    let roles: Vec<RolePlan<'_>> =
        spec.roles.iter().map(|role| RolePlan::new(state, &name, spec, role)).collect();
    let mut plan: Vec<String> = roles.iter().map(RolePlan::sentence).collect();
    let before = service.and_then(Service::spec);
    let is_gone = |role: &&RoleSpec| spec.role(&role.name).is_none();
    let gone = before.into_iter().flat_map(|before| &before.roles).filter(is_gone);
    plan.extend(gone.map(|role| format!("role {}: its replicas would be stopped", role.name)));
    plan.extend(before.and_then(|before| other_keys(before, spec)));
    if let Some(service) = service {
        if service.update.is_some() {
            plan.push(format!("the update to revision {} would end", service.current));
        }
        if service.is_paused {
            plan.push("its pause would end".to_owned());
        }
    }
    // What is needed at the most, less what its replicas have.
    let mut needs: BTreeMap<_, (Need, Need)> = BTreeMap::new();
    for (role, ask) in roles.iter().zip(&asks) {
        let Some(queue) = &ask.queue else { continue };
        let most = &mut needs.entry(queue.clone()).or_default().0;
        *most = most.plus(&Need::of(state, ask).times(role.most_at_a_time()));
    }
    for record in state.replicas_of(&name) {
        let ask = &record.spec.ask;
        let Some(queue) = &ask.queue else { continue };
        let has = &mut needs.entry(queue.clone()).or_default().1;
        *has = has.plus(&Need::of(state, ask));
    }
    let held = queue_held(state);
    for (queue, (most, has)) in needs {
        plan.extend(queue_lines(state, &held, &queue, &most.less(&has)));
    }
    Ok(DeployAnswer { name, revision, plan })
}

/// The changed keys that need no replacement of replicas.
fn other_keys(before: &ServiceSpec, spec: &ServiceSpec) -> Option<String> {
    let port = |port: Option<u16>| port.map_or_else(|| "none".to_owned(), |port| port.to_string());
    let from_to = format!("port ({} to {})", port(before.port), port(spec.port));
    let entry = |spec: &ServiceSpec| spec.entry_role().map(|role| role.name.clone());
    let keys = [
        (from_to.as_str(), before.port != spec.port),
        ("entry", entry(before) != entry(spec)),
        ("base", before.base != spec.base),
        ("near", before.near != spec.near),
        ("ratio", before.ratio != spec.ratio),
        ("affinity", before.affinity != spec.affinity),
        ("hold", before.hold != spec.hold),
        ("token", before.token != spec.token),
        ("update", before.update != spec.update),
    ];
    let changed: Vec<&str> =
        keys.iter().filter(|(_, is_changed)| *is_changed).map(|(key, _)| *key).collect();
    let keys = changed.join(", ");
    (!changed.is_empty()).then(|| format!("would change without new replicas: {keys}"))
}

#[cfg(test)]
mod tests;
