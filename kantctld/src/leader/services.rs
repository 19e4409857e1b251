//! The loop of services: after each change, and when something is due, it proposes which replicas
//! to submit and to stop.

use crate::core::Core;
use common::autoscale::LocalTime;
use common::time::Time;
use futures_util::future::join_all;
use lead::services::{self, DECIDE_EVERY, LOOK_PERIOD};
use state::Command;
use std::convert::Infallible;
use std::time::{Duration, Instant};

/// The shortest time between two looks, so that many changes cause one.
const PAUSE_MIN: Duration = Duration::from_millis(50);

/// The shortest time between two decisions of autoscaling policies.
const DECIDE_PAUSE_MIN: Duration = Duration::from_millis(400);

/// The pause after commands that the log did not accept.
const FAILED_PAUSE: Duration = Duration::from_millis(500);

/// Forgets what nodes reported to an earlier term; to be called before nodes connect.
pub fn forget_node_reports(core: &Core) {
    core.routes.send_replace(None);
    let now = core.now();
    core.readiness.write().start_term(now);
    core.autoscaler.write().clear();
    core.idle_gpus.write().clear();
}

/// Forgets what nodes reported of jobs that have ended since.
fn forget_ended(core: &Core) {
    let (state, now) = (core.state.read(), core.now());
    core.readiness.write().prune(&state, now);
    core.idle_gpus.write().prune(&state);
}

/// Runs for one term; ends when dropped.
pub async fn run(core: &Core) -> Infallible {
    let mut decided_at = None;
    loop {
        let now = core.now();
        let scaled = decide(core, &mut decided_at);
        forget_ended(core);
        let (plan, routes) = {
            let state = core.state.read();
            let readiness = core.readiness.read();
            (
                services::plan_services(&state, &readiness, now),
                services::routes(&state, &readiness, now),
            )
        };
        core.routes.send_if_modified(|before| {
            let is_news = routes.is_some() && *before != routes;
            if is_news {
                *before = routes;
            }
            is_news
        });
        let commands = plan.commands.into_iter().chain(scaled).collect();
        let is_done = carry_out(core, commands).await;
        tokio::time::sleep(if is_done { PAUSE_MIN } else { FAILED_PAUSE }).await;
        let period = if has_policies(core) { DECIDE_EVERY } else { LOOK_PERIOD };
        let until = plan.look_at.map_or(period, |at| at.since(core.now()).min(period));
        let until = Duration::from_millis(until.0);
        // A look is due whether woken or timed out.
        let _ = tokio::time::timeout(until, core.services_changed.notified()).await;
    }
}

/// Whether any role has an autoscaling policy.
fn has_policies(core: &Core) -> bool {
    let state = core.state.read();
    let mut specs = state.services().filter_map(state::service::Service::spec);
    specs.any(|spec| spec.roles.iter().any(|role| role.autoscale.is_some()))
}

/// The decisions of autoscaling policies, if they are due.
fn decide(core: &Core, decided_at: &mut Option<Instant>) -> Vec<Command> {
    let is_due = decided_at.is_none_or(|at| at.elapsed() >= DECIDE_PAUSE_MIN);
    if !is_due || !has_policies(core) {
        return Vec::new();
    }
    *decided_at = Some(Instant::now());
    let now = core.now();
    let (state, readiness) = (core.state.read(), core.readiness.read());
    core.autoscaler.write().decide(&state, &readiness, now, local_time(now))
}

/// The local time of this host, for schedules.
pub fn local_time(now: Time) -> LocalTime {
    let at = i64::try_from(now.0).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    let offset = at.map_or(0, |at| jiff::tz::TimeZone::system().to_offset(at).seconds());
    LocalTime::utc(Time(now.0.saturating_add_signed(i64::from(offset) * 1000)))
}

/// Proposes these together, so that they share an entry. Returns whether the log took them all.
async fn carry_out(core: &Core, commands: Vec<Command>) -> bool {
    let mut is_done = true;
    for result in join_all(commands.into_iter().map(|command| core.propose_command(command))).await
    {
        if let Err(error) = result {
            tracing::debug!("a command for a service failed: {error}");
            is_done = false;
        }
    }
    is_done
}
