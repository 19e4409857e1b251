//! The priorities of waiting jobs, factor by factor, as computed by the engine.

use super::error::ApiFailure;
use super::slow_query::forecast;
use crate::core::Core;
use axum::Json;
use axum::extract::{Query, State};
use common::id::JobKey;
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
    let jobs = forecast(&core, user.uid, move |core| list_of(core, &viewer, &named, now)).await??;
    Ok(Json(PriorityList { jobs, as_of: now }))
}

/// The priorities of all waiting jobs that the user sees.
///
/// # Errors
/// As [`forecast`].
pub(super) async fn priorities(
    core: &Arc<Core>,
    user: &net::User,
) -> Result<Vec<PriorityView>, ApiFailure> {
    let (now, viewer) = (core.now(), core.viewer(user));
    Ok(forecast(core, user.uid, move |core| list_of(core, &viewer, &[], now)).await??)
}

fn list_of(
    core: &Core,
    viewer: &Viewer,
    named: &[JobKey],
    now: Time,
) -> Result<Vec<PriorityView>, Refusal> {
    let state = &core.state.read().clone();
    let seen = |key: &JobKey| state.job(key.job).is_some_and(|record| viewer.sees(record));
    // A hidden job is answered as one that does not exist, also by how it was named.
    if let Some(key) = named.iter().find(|key| !seen(&state.meant(**key))) {
        return Err(Refusal::UnknownJob { key: *key });
    }
    let named: Vec<JobKey> = named.iter().map(|key| state.meant(*key)).collect();
    let snapshot = core.scheduler_cache.with_current(&core.state, now, engine::Snapshot::clone);
    let places: Vec<(u32, JobKey)> = (1..).zip(engine::in_order(&snapshot, now)).collect();
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
            let named = breakdown.named().map(|(name, factor)| FactorView {
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
