//! Long looks, away from the threads that serve sockets, and only so many at once: lists and
//! forecasts have their own places, so that nobody's forecast holds up everybody's list. Never
//! answers with an empty list where it failed.

use super::error::ApiFailure;
use crate::core::Core;
use axum::http::StatusCode;
use state::State;
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;

/// A list made of a copy of the state, which shares its records: no lock is held meanwhile.
///
/// # Errors
/// When the controller stops, or there is a defect in what looks.
pub async fn list<T: Send + 'static>(
    core: &Arc<Core>,
    view: impl FnOnce(&State) -> T + Send + 'static,
) -> Result<T, ApiFailure> {
    let place = core.places.lists.clone().acquire_owned().await;
    let core = core.clone();
    away(place.ok(), move || {
        let state = core.state.read().clone();
        view(&state)
    })
    .await
}

/// A look ahead: one that holds rounds, or orders all that waits.
///
/// # Errors
/// As [`list`].
pub async fn forecast<T: Send + 'static>(
    core: &Arc<Core>,
    look: impl FnOnce(&Core) -> T + Send + 'static,
) -> Result<T, ApiFailure> {
    let place = core.places.forecasts.clone().acquire_owned().await;
    let core = core.clone();
    away(place.ok(), move || look(&core)).await
}

/// The place is held until the look is over, also when whoever asked has gone.
async fn away<T: Send + 'static>(
    place: Option<OwnedSemaphorePermit>,
    look: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ApiFailure> {
    let looked = tokio::task::spawn_blocking(move || {
        let looked = look();
        drop(place);
        looked
    });
    looked.await.map_err(|error| match error.is_panic() {
        true => {
            let message = "kantctld failed while it looked, which is a defect: please report it \
                           with what its log says";
            said(StatusCode::INTERNAL_SERVER_ERROR, "defect", message)
        }
        false => {
            let message = "the controller stops: ask again in a moment";
            said(StatusCode::SERVICE_UNAVAILABLE, "stopping", message)
        }
    })
}

fn said(status: StatusCode, code: &'static str, message: &str) -> ApiFailure {
    ApiFailure::Said(net::Refusal::new(status, code, message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::places::{LISTS_MAX, Places};
    use axum::response::IntoResponse as _;

    #[tokio::test]
    async fn a_look_that_panics_is_an_error_and_gives_its_place_back() {
        let places = Places::default();
        for _ in 0..=LISTS_MAX {
            let place = places.lists.clone().acquire_owned().await.ok();
            let failure = away(place, || -> u32 { panic!("planted") }).await.unwrap_err();
            let told = failure.into_response();
            assert_eq!(told.status(), StatusCode::INTERNAL_SERVER_ERROR);
        }
        let place = places.lists.clone().acquire_owned().await.ok();
        assert_eq!(away(place, || 42).await.unwrap(), 42);
        assert_eq!(places.lists.available_permits(), LISTS_MAX);
    }
}
