//! Services as a table, and one service with its replicas and events.

use super::screen::Screen;
use super::table::{Cell, Column, Table, Tint};
use super::time::local;
use crate::failure::Failure;
use common::job::{Phase, ReplicaHealth};
use common::service::Bounds;
use common::wire::api::{
    ReplicaView, RoleView, ServiceExplanation, ServiceList, ServiceState, ServiceView,
};

const COLUMNS: [Column; 7] = [
    Column::new("NAME").with_min_width(10),
    Column::new("STATE"),
    Column::new("READY").right_aligned(),
    Column::new("WANTED").right_aligned(),
    Column::new("REVISION").right_aligned(),
    Column::new("PORT").right_aligned(),
    Column::new("USER").with_min_width(8),
];

const REPLICAS: [Column; 6] = [
    Column::new("REPLICA").with_min_width(8),
    Column::new("JOB").right_aligned(),
    Column::new("STATE"),
    Column::new("REVISION").right_aligned(),
    Column::new("ADDRESS").with_min_width(12),
    Column::new("WHY").with_min_width(8).with_drop_order(0),
];

/// Services, one per row.
#[must_use]
pub fn table(list: &ServiceList) -> Table {
    let mut table = Table::new(&COLUMNS, &["NAME", "USER"]);
    for one in &list.services {
        let (ready, wanted) = replica_counts(one);
        table.add_row(vec![
            Cell::from(&one.name),
            Cell::from(one.state.word()).with_tint(tint(one.state)),
            Cell::from(ready),
            Cell::from(wanted),
            Cell::from(one.revision.0),
            Cell::from(one.port.map_or_else(|| "-".to_owned(), |port| port.to_string())),
            Cell::from(&one.user),
        ]);
    }
    table
}

const fn tint(state: ServiceState) -> Tint {
    match state {
        ServiceState::Steady => Tint::Good,
        ServiceState::Degraded => Tint::Bad,
        _ => Tint::Waiting,
    }
}

/// The ready and the wanted replicas of all roles.
fn replica_counts(one: &ServiceView) -> (u32, u32) {
    let add =
        |(ready, wanted): (u32, u32), role: &RoleView| (ready + role.ready, wanted + role.wanted);
    one.roles.iter().fold((0, 0), add)
}

/// A service in one line: `updating, revision 2, worker 1 of 3 ready`.
#[must_use]
pub fn summary(one: &ServiceView) -> String {
    let role = |role: &RoleView| format!("{} {} of {} ready", role.name, role.ready, role.wanted);
    let roles: Vec<String> = one.roles.iter().map(role).collect();
    format!("{}, revision {}, {}", one.state.word(), one.revision, roles.join(", "))
}

/// Prints a service with its replicas and its last events.
///
/// # Errors
/// [`Failure`] when stdout is closed.
pub fn print_one(screen: &Screen, one: &ServiceView) -> Result<(), Failure> {
    let line = |name: &str, value: String| screen.print_line(&format!("{name:<11}{value}"));
    line("Service", one.name.to_string())?;
    line("State", one.state.word().to_owned())?;
    line("Revision", revision_text(one))?;
    line("User", one.user.clone())?;
    line("Deployed", local(one.created_at, &screen.zone).to_string())?;
    if let Some(port) = one.port {
        line("Port", format!("{port} on nodes that run a router"))?;
    }
    for role in &one.roles {
        let (min, max) = (role.bounds.min, role.bounds.max);
        line(
            "Role",
            format!("{}: {} of {} ready, {min} to {max}", role.name, role.ready, role.wanted),
        )?;
        if let Some(reason) = &role.autoscale {
            line("", reason.clone())?;
        }
    }
    let mut table = Table::new(&REPLICAS, &["WHY", "ADDRESS"]);
    for role in &one.roles {
        role.replicas.iter().for_each(|replica| table.add_row(replica_row(role, replica)));
    }
    screen.print_line("")?;
    screen.print_table(&table)?;
    if !one.events.is_empty() {
        screen.print_line("")?;
    }
    print_events(screen, one)
}

/// Prints why a service has the replicas that it has.
///
/// # Errors
/// [`Failure`] when stdout is closed.
pub fn print_explanation(screen: &Screen, one: &ServiceExplanation) -> Result<(), Failure> {
    screen.print_line(&format!("{}, revision {}: {}", one.name, one.revision, one.state.word()))?;
    for role in &one.roles {
        let line = |name: &str, value: &str| screen.print_line(&format!("  {name:<11}{value}"));
        let Bounds { min, max } = role.bounds;
        let (wanted, ready) = (role.wanted, role.ready);
        screen.print_line("")?;
        screen.print_line(&format!(
            "{}: {wanted} wanted ({min} to {max}), {ready} ready",
            role.name
        ))?;
        let (at, by) = &role.set;
        let at = at.map(|at| format!("{} ", local(at, &screen.zone))).unwrap_or_default();
        line("Set", &format!("{at}{by}"))?;
        if wanted > min {
            line("Extra", &format!("{} beyond `min` may be preempted", wanted - min))?;
        }
        let is_new = |decision: &&String| !by.ends_with(*decision);
        let texts =
            [("Now", role.decision.as_ref().filter(is_new)), ("Measured", role.measured.as_ref())];
        let outlook = role.outlook.iter();
        let changes =
            outlook.flat_map(|outlook| [("More", &outlook.more), ("Fewer", &outlook.fewer)]);
        for (name, text) in
            texts.into_iter().filter_map(|(name, text)| Some((name, text?))).chain(changes)
        {
            line(name, text)?;
        }
        for (at, missing) in role.missing.iter().enumerate() {
            line(if at == 0 { "Not ready" } else { "" }, missing)?;
        }
    }
    Ok(())
}

fn revision_text(one: &ServiceView) -> String {
    let healthy = match one.healthy_revision {
        Some(healthy) if healthy == one.revision => "healthy".to_owned(),
        Some(healthy) => format!("the last healthy one is {healthy}"),
        None => "none has been healthy yet".to_owned(),
    };
    format!("{} ({healthy})", one.revision)
}

fn replica_row(role: &RoleView, replica: &ReplicaView) -> Vec<Cell> {
    let (state, tint) = match (replica.phase, replica.health) {
        (_, Some(health)) => (health.word().to_owned(), health_tint(health)),
        (Phase::Running, None) => ("running".to_owned(), Tint::Waiting),
        (phase, None) => (phase.to_string(), Tint::Waiting),
    };
    let host = replica.host.as_deref().unwrap_or_default();
    let ports = replica.ports.iter().map(|port| format!("{host}:{}", port.number));
    let ports: Vec<String> = ports.collect();
    vec![
        Cell::from(format!("{}.{}", role.name, replica.ordinal)),
        Cell::from(replica.job.to_string()),
        Cell::from(state).with_tint(tint),
        Cell::from(replica.revision.0),
        Cell::from(if ports.is_empty() { "-".to_owned() } else { ports.join(" ") }),
        Cell::from(replica.why.clone().unwrap_or_default()),
    ]
}

const fn health_tint(health: ReplicaHealth) -> Tint {
    match health {
        ReplicaHealth::Ready => Tint::Good,
        ReplicaHealth::NotReady => Tint::Bad,
        ReplicaHealth::Starting | ReplicaHealth::Draining => Tint::Waiting,
    }
}

/// Prints the last events of a service, the oldest first.
///
/// # Errors
/// [`Failure`] when stdout is closed.
pub fn print_events(screen: &Screen, one: &ServiceView) -> Result<(), Failure> {
    for event in &one.events {
        let by = event.by.as_ref().map(|by| format!(" (by {by})")).unwrap_or_default();
        let at = local(event.event.at, &screen.zone);
        screen.print_line(&format!("{at}  {}{by}", event.text))?;
    }
    Ok(())
}
