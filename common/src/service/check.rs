//! Checks of a specification that need no knowledge of the cluster. kantctl makes them for a quick
//! answer, and the controller makes them again.

use super::{Base, RoleSpec, ServiceSpec};
use crate::autoscale::{Metric, PolicyError, Rule};
use crate::id::{PortName, RoleName, SET_SIZE_MAX};
use crate::job::check::{AskError, check_ask};
use crate::job::{Probe, ProbeAction};
use crate::reason::Refusal;
use crate::time::Span;
use std::collections::BTreeSet;

/// The number of revisions of a service that are kept.
pub const REVISIONS_KEPT: usize = 10;
pub const SERVICES_PER_USER_MAX: usize = 1000;
pub const ROLES_MAX: usize = 16;
/// For each role.
pub const PORTS_MAX: usize = 16;
/// For each role.
pub const REPLICAS_MAX: u32 = 10_000;
/// The longest accepted time in a specification.
const SPAN_MAX: Span = Span::from_minutes(24 * 60);
const PATH_BYTES_MAX: usize = 1024;
const PROBE_COUNT_MAX: u32 = 1000;

/// What is wrong with a specification.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    #[error("a service needs 1 to {ROLES_MAX} roles, this one has {0}")]
    Roles(usize),
    #[error("two roles are called {0}: give each a name of its own")]
    RoleTwice(RoleName),
    #[error("role {role}: min {min} is more than max {max}")]
    Bounds { role: RoleName, min: u32, max: u32 },
    #[error("role {role}: {count} replicas, at most {REPLICAS_MAX} are allowed")]
    TooMany { role: RoleName, count: u32 },
    #[error("role {role}: at most {PORTS_MAX} ports are allowed")]
    TooManyPorts { role: RoleName },
    #[error("role {role}: two ports are called {port}")]
    PortTwice { role: RoleName, port: PortName },
    #[error(
        "role {role}: a probe or `metrics` uses port {port}, which is not declared: add it to the \
         role's ports"
    )]
    UnknownPort { role: RoleName, port: PortName },
    #[error("role {role}: a path must begin with / and have no spaces: `{path}`")]
    Path { role: RoleName, path: String },
    #[error(
        "role {role}: a probe needs a period and a timeout above zero and at most one day, and 1 \
         to {PROBE_COUNT_MAX} failures and successes"
    )]
    ProbeTiming { role: RoleName },
    #[error("role {role}: {problem}")]
    Ask { role: RoleName, problem: AskError },
    #[error("role {role}: an array cannot be a replica: leave --array out")]
    Array { role: RoleName },
    #[error("role {role}: `{option}` does not apply to replicas: leave it out")]
    Option { role: RoleName, option: &'static str },
    #[error("role {role}: {problem}")]
    Autoscale { role: RoleName, problem: PolicyError },
    #[error(
        "role {role}: its autoscaling policy needs what the engines report: add `metrics`, such as \
         metrics = \"/metrics\", or use `concurrency` or `rps` for the role that gets the requests"
    )]
    NoMetrics { role: RoleName },
    #[error("`ratio` needs two roles of this service, and both with an `autoscale` policy: {0}")]
    RatioRole(RoleName),
    #[error("`ratio`: {0}")]
    Ratio(PolicyError),
    #[error("role {role}: the autoscaling policy must have the role's own min and max")]
    AutoscaleBounds { role: RoleName },
    #[error("the entry role {0} is not among the roles, or has no ports")]
    Entry(RoleName),
    #[error("a port of a service needs a role with ports: add `ports` to one")]
    PortWithoutEntry,
    #[error("port {0}: choose one from 1024 to 65535")]
    Port(u16),
    #[error("the update's max_parallel must be at least 1, and max_surge at most max_parallel")]
    Update,
    #[error(
        "the base of this service is {0} replicas, and at most {SET_SIZE_MAX} can start together: \
         lower `min`, or leave `base` out"
    )]
    GangTooLarge(u32),
    #[error("`near` needs base = \"gang\": only replicas that start together are placed together")]
    NearWithoutGang,
    #[error("{what} is longer than a day")]
    TooLong { what: &'static str },
}

impl From<SpecError> for Refusal {
    fn from(problem: SpecError) -> Self {
        Self::BadAsk { message: problem.to_string() }
    }
}

/// Checks a specification.
///
/// # Errors
/// The first problem found.
pub fn check_spec(spec: &ServiceSpec) -> Result<(), SpecError> {
    if !(1..=ROLES_MAX).contains(&spec.roles.len()) {
        return Err(SpecError::Roles(spec.roles.len()));
    }
    let mut names = BTreeSet::new();
    for role in &spec.roles {
        if !names.insert(&role.name) {
            return Err(SpecError::RoleTwice(role.name.clone()));
        }
        check_role(role)?;
    }
    for role in &spec.roles {
        let is_entry = spec.entry_role().is_some_and(|entry| entry.name == role.name);
        check_metrics(role, is_entry)?;
    }
    check_ratio(spec)?;
    if let Some(name) = &spec.entry
        && spec.role(name).is_none_or(|role| role.ports.is_empty())
    {
        return Err(SpecError::Entry(name.clone()));
    }
    if spec.port.is_some() && spec.entry_role().is_none() {
        return Err(SpecError::PortWithoutEntry);
    }
    if let Some(port) = spec.port.filter(|port| *port < 1024) {
        return Err(SpecError::Port(port));
    }
    let gang = u32::try_from(spec.gang().take(usize::from(u16::MAX)).count()).unwrap_or(u32::MAX);
    if gang > SET_SIZE_MAX {
        return Err(SpecError::GangTooLarge(gang));
    }
    if spec.near.is_some() && spec.base != Base::Gang {
        return Err(SpecError::NearWithoutGang);
    }
    let update = &spec.update;
    if update.max_parallel == 0 || update.max_surge > update.max_parallel {
        return Err(SpecError::Update);
    }
    let spans = [
        ("drain_delay", spec.drain_delay),
        ("min_healthy", update.min_healthy),
        ("healthy_deadline", update.healthy_deadline),
        ("progress_deadline", update.progress_deadline),
    ];
    match spans.into_iter().find(|(_, span)| *span > SPAN_MAX) {
        Some((what, _)) => Err(SpecError::TooLong { what }),
        None => Ok(()),
    }
}

fn check_role(role: &RoleSpec) -> Result<(), SpecError> {
    let name = || role.name.clone();
    let (min, max) = (role.replicas.min, role.replicas.max);
    if min > max {
        return Err(SpecError::Bounds { role: name(), min, max });
    }
    if max > REPLICAS_MAX {
        return Err(SpecError::TooMany { role: name(), count: max });
    }
    if role.ports.len() > PORTS_MAX {
        return Err(SpecError::TooManyPorts { role: name() });
    }
    let mut ports = BTreeSet::new();
    if let Some(port) = role.ports.iter().find(|port| !ports.insert(*port)) {
        return Err(SpecError::PortTwice { role: name(), port: port.clone() });
    }
    if role.probes.startup_max > SPAN_MAX {
        return Err(SpecError::TooLong { what: "startup_max" });
    }
    role.probes.all().try_for_each(|probe| check_probe(role, probe))?;
    check_ask(&role.ask).map_err(|problem| SpecError::Ask { role: name(), problem })?;
    if role.ask.array.is_some() {
        return Err(SpecError::Array { role: name() });
    }
    let unfit = [
        ("--dependency", role.ask.dependency.is_some()),
        ("--deadline", role.ask.deadline.is_some()),
        ("--begin", role.ask.begin_at.is_some()),
        ("--hold", role.ask.hold),
    ];
    if let Some((option, _)) = unfit.into_iter().find(|(_, is_given)| *is_given) {
        return Err(SpecError::Option { role: name(), option });
    }
    let Some(policy) = &role.autoscale else { return Ok(()) };
    policy.validate().map_err(|problem| SpecError::Autoscale { role: name(), problem })?;
    if (policy.min.0, policy.max.0) != (min, max) {
        return Err(SpecError::AutoscaleBounds { role: name() });
    }
    Ok(())
}

/// Routers measure only the role that gets the requests; all else comes from the engines.
fn check_metrics(role: &RoleSpec, is_entry: bool) -> Result<(), SpecError> {
    if let Some(source) = &role.metrics {
        check_port(role, &source.port)?;
        check_path(role, &source.path)?;
        return Ok(());
    }
    let Some(policy) = &role.autoscale else { return Ok(()) };
    let is_known = match &policy.rule {
        Rule::Fixed => true,
        Rule::Concurrency(_) | Rule::Rps(_) => is_entry,
        Rule::Utilisation(rule) => match rule.metric {
            Metric::GpuUsage => role.ask.request.gpus.is_some(),
            Metric::InFlight | Metric::Rps => is_entry,
            Metric::Waiting | Metric::KvUsage | Metric::Ttft | Metric::Itl => false,
        },
        Rule::Queue(_) | Rule::Latency(_) => false,
    };
    if is_known { Ok(()) } else { Err(SpecError::NoMetrics { role: role.name.clone() }) }
}

fn check_ratio(spec: &ServiceSpec) -> Result<(), SpecError> {
    let Some(ratio) = &spec.ratio else { return Ok(()) };
    ratio.band.validate().map_err(SpecError::Ratio)?;
    let scales = |name: &RoleName| spec.role(name).is_some_and(|role| role.autoscale.is_some());
    let unfit = [&ratio.prefill, &ratio.decode].into_iter().find(|name| !scales(name));
    let twice = (ratio.prefill == ratio.decode).then_some(&ratio.decode);
    unfit.or(twice).map_or(Ok(()), |name| Err(SpecError::RatioRole(name.clone())))
}

fn check_port(role: &RoleSpec, port: &PortName) -> Result<(), SpecError> {
    if role.ports.contains(port) {
        return Ok(());
    }
    Err(SpecError::UnknownPort { role: role.name.clone(), port: port.clone() })
}

fn check_path(role: &RoleSpec, path: &str) -> Result<(), SpecError> {
    let is_sound = path.starts_with('/')
        && path.len() <= PATH_BYTES_MAX
        && path.bytes().all(|byte| byte.is_ascii_graphic());
    if is_sound {
        return Ok(());
    }
    Err(SpecError::Path { role: role.name.clone(), path: path.to_owned() })
}

fn check_probe(role: &RoleSpec, probe: &Probe) -> Result<(), SpecError> {
    probe.action.port().map_or(Ok(()), |port| check_port(role, port))?;
    if let ProbeAction::Http { path, .. } | ProbeAction::Https { path, .. } = &probe.action {
        check_path(role, path)?;
    }
    let spans = [probe.period, probe.timeout];
    let counts = [probe.failures, probe.successes];
    let is_sound = spans.iter().all(|span| !span.is_zero() && *span <= SPAN_MAX)
        && counts.iter().all(|count| (1..=PROBE_COUNT_MAX).contains(count));
    if is_sound { Ok(()) } else { Err(SpecError::ProbeTiming { role: role.name.clone() }) }
}

#[cfg(test)]
mod tests;
