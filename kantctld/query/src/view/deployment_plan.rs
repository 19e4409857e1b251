//! What a deployment of a service would change, and what it would need (`kantctl service deploy
//! --dry-run`), in sentences.

use super::queues::{queue_held, with_queues_above};
use super::requested::requested_by;
use common::id::QueueName;
use common::job::Ask;
use common::policy::Amounts;
use common::reason::Refusal;
use common::resource::Resources;
use common::service::{RoleSpec, ServiceSpec};
use common::unit::{Bytes, Cpus, Gpus};
use common::wire::api::DeployAnswer;
use state::service::Service;
use state::{CheckedDeployment, Deployment, State};
use std::collections::BTreeMap;

/// What a deployment would do.
///
/// # Errors
/// Why it would be refused.
pub fn deployment_plan(state: &State, deployment: &Deployment) -> Result<DeployAnswer, Refusal> {
    let CheckedDeployment { revision, is_unchanged, .. } =
        state::check_deployment(state, deployment)?;
    let name = deployment.name.clone();
    if is_unchanged {
        let plan = vec!["nothing would change".to_owned()];
        return Ok(DeployAnswer { name, revision, plan });
    }
    let service = state.service(&name);
    let before = service.and_then(Service::spec);
    let spec = &deployment.spec;
    let changes: Vec<(&RoleSpec, RoleChange)> =
        spec.roles.iter().map(|role| (role, RoleChange::of(service, spec, role))).collect();
    let mut plan: Vec<String> =
        changes.iter().map(|(role, change)| change.sentence(role, spec)).collect();
    let is_gone = |role: &&RoleSpec| spec.role(&role.name).is_none();
    let gone = before.into_iter().flat_map(|before| &before.roles).filter(is_gone);
    plan.extend(gone.map(|role| format!("role {}: its replicas would be stopped", role.name)));
    plan.extend(before.and_then(|before| other_keys(before, spec)));
    plan.extend(needs(state, spec, &changes));
    Ok(DeployAnswer { name, revision, plan })
}

/// What happens to the replicas of a role.
#[derive(Debug, Clone, Copy)]
enum RoleChange {
    /// They are the first ones.
    Start {
        wanted: u32,
    },
    Keep,
    Replace {
        wanted: u32,
    },
}

impl RoleChange {
    fn of(service: Option<&Service>, spec: &ServiceSpec, role: &RoleSpec) -> Self {
        let wanted = service.map_or(role.replicas.min, |one| one.wanted(&role.name));
        let wanted = role.replicas.clamp(wanted);
        // As `Service::is_current` compares them.
        let before = service.and_then(Service::spec);
        match before.and_then(|spec| Some((spec.role(&role.name)?, spec.drain_delay))) {
            None => Self::Start { wanted },
            Some(before) if before == (role, spec.drain_delay) => Self::Keep,
            Some(_) => Self::Replace { wanted },
        }
    }

    fn sentence(self, role: &RoleSpec, spec: &ServiceSpec) -> String {
        let name = &role.name;
        match self {
            Self::Start { wanted } => format!("role {name}: {wanted} replicas would be started"),
            Self::Keep => format!("role {name}: its replicas would stay"),
            Self::Replace { wanted } => format!(
                "role {name}: {wanted} replicas would be replaced, {} at a time, with up to {} \
                 beyond the wanted number",
                spec.update.max_parallel, spec.update.max_surge
            ),
        }
    }

    /// The replicas that run in addition to those that run now, at the most.
    fn more(self, spec: &ServiceSpec) -> u32 {
        match self {
            Self::Start { wanted } => wanted,
            Self::Keep => 0,
            Self::Replace { wanted } => spec.update.max_surge.min(wanted),
        }
    }
}

/// The changed keys that need no replacement of replicas.
fn other_keys(before: &ServiceSpec, spec: &ServiceSpec) -> Option<String> {
    let port = |port: Option<u16>| port.map_or_else(|| "none".to_owned(), |port| port.to_string());
    let from_to = format!("port ({} to {})", port(before.port), port(spec.port));
    let keys = [
        (from_to.as_str(), before.port != spec.port),
        ("entry", before.entry != spec.entry),
        ("base", before.base != spec.base),
        ("near", before.near != spec.near),
        ("ratio", before.ratio != spec.ratio),
        ("protocol", before.protocol != spec.protocol),
        ("affinity", before.affinity != spec.affinity),
        ("hold", before.hold != spec.hold),
        ("token", before.token != spec.token),
        ("update", before.update != spec.update),
    ];
    let changed: Vec<&str> =
        keys.iter().filter(|(_, is_changed)| *is_changed).map(|(key, _)| *key).collect();
    (!changed.is_empty())
        .then(|| format!("would change at once, without new replicas: {}", changed.join(", ")))
}

/// What the deployment needs in addition to what runs, for each queue, and what its quota is.
fn needs(state: &State, spec: &ServiceSpec, changes: &[(&RoleSpec, RoleChange)]) -> Vec<String> {
    let mut more: BTreeMap<&QueueName, Resources> = BTreeMap::new();
    for (role, change) in changes {
        let replicas = change.more(spec);
        let Some(queue) = queue_of(state, &role.ask).filter(|_| replicas > 0) else { continue };
        let one = requested_by(state, &role.ask);
        let sum = more.entry(queue).or_default();
        *sum = sum.plus(Resources {
            cpus: one.cpus.times(replicas),
            memory: one.memory.times(replicas),
            gpus: Gpus(one.gpus.0.saturating_mul(replicas)),
        });
    }
    let held = queue_held(state);
    let mut lines = Vec::new();
    for (name, more) in more {
        lines.push(format!("queue {name}: needs room for {} more", amounts(more)));
        for queue in with_queues_above(state, name) {
            let held = held.get(&queue.name).map_or_else(Resources::default, |held| Resources {
                cpus: held.cpus,
                memory: held.memory,
                gpus: Gpus(held.gpus_milli.values().map(|milli| milli.0.div_ceil(1000)).sum()),
            });
            lines.extend(quota_line(&queue.name, &queue.quota.amounts, held, more));
        }
    }
    lines
}

fn queue_of<'a>(state: &'a State, ask: &'a Ask) -> Option<&'a QueueName> {
    let default = || state.queues().iter().find(|queue| queue.default).map(|queue| &queue.name);
    ask.queue.as_ref().or_else(default)
}

/// How a quota compares with what is held and needed. `None`: it names none of these resources.
fn quota_line(
    queue: &QueueName,
    quota: &Amounts,
    held: Resources,
    more: Resources,
) -> Option<String> {
    // Kinds of GPUs are summed, because a request may leave the kind open.
    let of_kinds = (!quota.gpus.is_empty()).then(|| Gpus(quota.gpus.values().map(|n| n.0).sum()));
    let gpus = quota.gpus_any.or(of_kinds).filter(|_| more.gpus.0 > 0);
    let after = held.plus(more);
    let parts: Vec<(String, bool)> = [
        gpus.map(|most| {
            (format!("{} + {} of {} GPUs", held.gpus, more.gpus, most), after.gpus > most)
        }),
        quota.cpus.map(|most| {
            (format!("{} + {} of {} CPUs", held.cpus, more.cpus, most), after.cpus > most)
        }),
        quota.memory.map(|most| {
            let text = format!("{} + {} of {} memory", held.memory, more.memory, most);
            (text, after.memory > most)
        }),
    ]
    .into_iter()
    .flatten()
    .collect();
    if parts.is_empty() {
        return None;
    }
    let is_above = parts.iter().any(|(_, is_above)| *is_above);
    let texts: Vec<String> = parts.into_iter().map(|(text, _)| text).collect();
    let verdict = if is_above { "more than its quota" } else { "within its quota" };
    Some(format!("queue {queue}: {}: {verdict}", texts.join(", ")))
}

/// `4 GPUs, 8 CPUs, 16G`
fn amounts(resources: Resources) -> String {
    let Resources { gpus, cpus, memory } = resources;
    let parts = [
        (gpus != Gpus::default()).then(|| format!("{gpus} GPUs")),
        (cpus != Cpus::default()).then(|| format!("{cpus} CPUs")),
        (memory != Bytes::ZERO).then(|| memory.to_string()),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
