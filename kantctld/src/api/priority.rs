//! The priorities of waiting jobs, factor by factor, as computed by the engine.

use super::error::ApiFailure;
use super::slow_query::{self, forecast};
use crate::core::Core;
use axum::Json;
use axum::extract::{Query, State};
use common::id::{JobKey, QueueName};
use common::job::Phase;
use common::policy::Order;
use common::reason::Refusal;
use common::time::Time;
use common::wire::api::{FactorView, PriorityList, PriorityQuery, PriorityView};
use engine::order::multifactor::PriorityBreakdown;
use query::viewer::Viewer;
use std::collections::BTreeMap;
use std::sync::Arc;

/// GET /v1/priority
pub async fn list(
    State(core): State<Arc<Core>>,
    user: net::User,
    Query(query): Query<PriorityQuery>,
) -> Result<Json<PriorityList>, ApiFailure> {
    let named = query.job.split(',').filter(|word| !word.is_empty());
    let named = named.map(str::parse).collect::<Result<Vec<JobKey>, _>>()?;
    let now = core.now();
    let viewer = core.viewer(&user);
    let jobs =
        forecast(&core, user.uid, move |core| priority_views(core, &viewer, &named, now)).await??;
    Ok(Json(PriorityList { jobs, as_of: now }))
}

/// The priorities of the waiting jobs that the user sees: of one job, or of all. Where the queue
/// orders its jobs by other means, a job has none. `None`: as many forecasts as a user may make are
/// in progress. A list of jobs does not wait for them.
///
/// # Errors
/// If the controller stops, or the query panics.
pub(super) async fn priorities(
    core: &Arc<Core>,
    user: &net::User,
    job: Option<JobKey>,
) -> Result<Option<BTreeMap<JobKey, i64>>, ApiFailure> {
    let (now, viewer) = (core.now(), core.viewer(user));
    let keys = slow_query::run(core, user.uid, move |state| prioritised_jobs(state, &viewer, job));
    let keys = keys.await?;
    if keys.is_empty() {
        return Ok(Some(BTreeMap::new()));
    }
    let Ok(permit) = core.admission.forecasts.take(user.uid) else { return Ok(None) };
    let points = move |core: &Core| {
        let snapshot = core.scheduler_cache.with_current(&core.state, now, engine::Snapshot::clone);
        let breakdowns = engine::priority_breakdowns(&snapshot, now, &keys);
        breakdowns.into_iter().map(|(key, breakdown)| (key, breakdown.points)).collect()
    };
    Ok(Some(slow_query::run_with_permit(core, permit, points).await?))
}

/// The waiting jobs in queues that order them by priority.
fn prioritised_jobs(state: &state::State, viewer: &Viewer, job: Option<JobKey>) -> Vec<JobKey> {
    let by_priority = |queue: &QueueName| {
        state.queue(queue).is_some_and(|queue| queue.order == Order::Multifactor)
    };
    let is_part = |key: &JobKey, job: JobKey| {
        let set = state.job(key.job).and_then(|record| record.set);
        key.job == job.job || set.is_some_and(|set| set.first == job.job)
    };
    let is_wanted = |key: &JobKey| {
        // A job has all tasks of its array, and its components have ids behind its own.
        let is_named =
            job.is_none_or(|job| *key == job || job.index.is_none() && is_part(key, job));
        let found = state.element(*key).filter(|(_, one)| is_named && one.phase == Phase::Pending);
        found.is_some_and(|(record, _)| {
            viewer.sees(record) && record.spec.ask.queue.as_ref().is_some_and(by_priority)
        })
    };
    state.live().filter(is_wanted).collect()
}

fn priority_views(
    core: &Core,
    viewer: &Viewer,
    named: &[JobKey],
    now: Time,
) -> Result<Vec<PriorityView>, Refusal> {
    let state = &core.state.read().clone();
    let seen = |key: &JobKey| state.job(key.job).is_some_and(|record| viewer.sees(record));
    // A hidden job is answered as one that does not exist, also by how it was named.
    if let Some(key) = named.iter().find(|key| !seen(&state.resolve_key(**key))) {
        return Err(Refusal::UnknownJob { key: *key });
    }
    let named: Vec<JobKey> = named.iter().map(|key| state.resolve_key(*key)).collect();
    let snapshot = core.scheduler_cache.with_current(&core.state, now, engine::Snapshot::clone);
    let places: Vec<(u32, JobKey)> =
        (1..).zip(engine::waiting_jobs_in_order(&snapshot, now)).collect();
    let wanted = |key: &JobKey| {
        named.is_empty() || named.contains(key) || named.contains(&JobKey::single(key.job))
    };
    let places: Vec<(u32, JobKey)> =
        places.into_iter().filter(|(_, key)| wanted(key) && seen(key)).collect();
    let keys: Vec<JobKey> = places.iter().map(|(_, key)| *key).collect();
    let breakdowns: BTreeMap<JobKey, PriorityBreakdown> =
        engine::priority_breakdowns(&snapshot, now, &keys).into_iter().collect();
    Ok(places
        .into_iter()
        .filter_map(|(place, key)| priority_view(state, key, place, breakdowns.get(&key)?))
        .collect())
}

fn priority_view(
    state: &state::State,
    key: JobKey,
    place: u32,
    breakdown: &PriorityBreakdown,
) -> Option<PriorityView> {
    let (record, element) = state.element(key).filter(|(_, e)| e.phase == Phase::Pending)?;
    let ask = &record.spec.ask;
    let queue = state.queue(ask.queue.as_ref()?)?;
    let nice = |weight: i64| FactorView {
        name: "nice".to_owned(),
        weight,
        value: f64::from(ask.nice),
        points: weight * i64::from(ask.nice),
    };
    let (total, factors) = match queue.order {
        Order::Multifactor => {
            let named = breakdown.factors_by_name().map(|(name, factor)| FactorView {
                name: name.to_owned(),
                weight: i64::from(factor.weight),
                value: factor.factor,
                points: factor.points,
            });
            (breakdown.points, named.into_iter().chain([nice(-1)]).collect())
        }
        Order::Fifo => {
            let qos = ask.qos.as_ref().and_then(|name| state.qos(name));
            let ranked = [("queue", queue.priority), ("qos", qos.map_or(0, |qos| qos.priority))];
            let ranked = ranked.map(|(name, priority)| FactorView {
                name: name.to_owned(),
                weight: 0,
                value: f64::from(priority),
                points: 0,
            });
            (0, ranked.into_iter().chain([nice(0)]).collect())
        }
    };
    Some(PriorityView {
        key,
        user: record.spec.owner.name.clone(),
        queue: queue.name.clone(),
        order: queue.order,
        total,
        factors,
        position: (!element.held).then_some(place),
    })
}
