//! Long looks, away from the threads that serve sockets, and only so many at once, half of them one
//! user's: lists and forecasts have their own places, so that nobody's forecast holds up
//! everybody's list. Never answers with an empty list where it failed.

use super::error::ApiFailure;
use super::shelf::{self, Filling};
use crate::core::Core;
use crate::turns::{NoTurn, Turn, Turns};
use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;
use state::State;
use std::sync::Arc;
use tokio::sync::oneshot;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const LINES: HeaderValue = HeaderValue::from_static("application/x-ndjson");

/// A short list made of a copy of the state, which shares its records: no lock is held meanwhile.
///
/// # Errors
/// When the user asks for too much at once, the controller stops, or there is a defect in what
/// looks.
pub async fn list<T: Send + 'static>(
    core: &Arc<Core>,
    uid: u32,
    view: impl FnOnce(&State) -> T + Send + 'static,
) -> Result<T, ApiFailure> {
    let turn = turn(&core.places.lists, uid).await?;
    let core = core.clone();
    let (looked, _turn) = away(turn, move || {
        let state = core.state.read().clone();
        view(&state)
    })
    .await?;
    Ok(looked)
}

/// A list that may be long, as the answer: what is not read yet counts as its user's.
///
/// # Errors
/// As [`list`], and what the view says.
pub async fn answer<T: Serialize>(
    core: &Arc<Core>,
    uid: u32,
    view: impl FnOnce(&State) -> Result<T, ApiFailure> + Send + 'static,
) -> Result<Response, ApiFailure> {
    let headers = HeaderMap::from_iter([(CONTENT_TYPE, JSON)]);
    written(core, uid, move |state| Ok((headers, text(&view(state)?)?))).await
}

/// An answer as JSON.
fn text(answer: &impl Serialize) -> Result<Vec<u8>, ApiFailure> {
    // What this controller writes of its own is text throughout.
    let defect = |error| defect(&format!("failed to write an answer: {error}"));
    serde_json::to_vec(answer).map_err(defect)
}

/// The same of a view that writes it.
///
/// # Errors
/// As [`answer`].
pub async fn written(
    core: &Arc<Core>,
    uid: u32,
    write: impl FnOnce(&State) -> Result<(HeaderMap, Vec<u8>), ApiFailure> + Send + 'static,
) -> Result<Response, ApiFailure> {
    let turn = turn(&core.places.lists, uid).await?;
    let core = core.clone();
    let (looked, turn) = away(turn, move || {
        let state = core.state.read().clone();
        write(&state)
    })
    .await?;
    let (headers, bytes) = looked?;
    Ok((headers, shelf::response(bytes, turn, shelf::PATIENCE)).into_response())
}

/// Why an answer in lines ends before its end.
pub enum Cut {
    /// Nobody reads it any more.
    Unread,
    /// A line cannot be written, which is a defect.
    Unwritable(serde_json::Error),
}

/// Documents that make up an answer, a line each.
pub struct Lines {
    filling: Filling,
    part: Vec<u8>,
    /// Told once there is something to hand out.
    begun: Option<oneshot::Sender<()>>,
}

impl Lines {
    /// A line less of a part than the connection takes at once.
    const FULL: usize = shelf::PIECE_BYTES - (4 << 10);

    fn to(filling: Filling, begun: oneshot::Sender<()>) -> Self {
        Self { filling, part: Vec::with_capacity(shelf::PIECE_BYTES), begun: Some(begun) }
    }

    /// Adds one.
    ///
    /// # Errors
    /// [`Cut`]: no more are wanted.
    pub fn add(&mut self, line: &impl Serialize) -> Result<(), Cut> {
        serde_json::to_writer(&mut self.part, line).map_err(Cut::Unwritable)?;
        self.part.push(b'\n');
        match self.part.len() < Self::FULL || self.hand_over() {
            true => Ok(()),
            false => Err(Cut::Unread),
        }
    }

    fn hand_over(&mut self) -> bool {
        let next = Vec::with_capacity(shelf::PIECE_BYTES);
        let is_read = self.filling.put(std::mem::replace(&mut self.part, next));
        // Whoever asked may have gone.
        let _ = self.begun.take().map(|begun| begun.send(()));
        is_read
    }

    fn end(mut self) {
        self.hand_over();
        self.filling.end();
    }
}

/// A list that may be long, a line each, read while it is written. What goes wrong before there is
/// anything to read is an error; after that the answer breaks off, and nobody takes it for the
/// whole.
///
/// # Errors
/// As [`answer`].
pub async fn lines(
    core: &Arc<Core>,
    uid: u32,
    write: impl FnOnce(&State, &mut Lines) -> Result<(), Cut> + Send + 'static,
) -> Result<Response, ApiFailure> {
    let (filling, body) = shelf::open(turn(&core.places.lists, uid).await?, shelf::PATIENCE);
    let core = core.clone();
    let write = move |lines: &mut Lines| {
        let state = core.state.read().clone();
        write(&state, lines)
    };
    in_lines(filling, body, write).await
}

async fn in_lines(
    filling: Filling,
    body: Body,
    write: impl FnOnce(&mut Lines) -> Result<(), Cut> + Send + 'static,
) -> Result<Response, ApiFailure> {
    let (begun, has_begun) = oneshot::channel();
    tokio::task::spawn_blocking(move || {
        let mut lines = Lines::to(filling, begun);
        match write(&mut lines) {
            Ok(()) => lines.end(),
            Err(Cut::Unread) => {}
            Err(Cut::Unwritable(error)) => tracing::error!("failed to write a list: {error}"),
        }
    });
    has_begun.await.map_err(|_| defect("kantctld failed while it looked"))?;
    Ok(([(CONTENT_TYPE, LINES)], body).into_response())
}

/// A look ahead: one that holds rounds, or orders all that waits.
///
/// # Errors
/// As [`list`].
pub async fn forecast<T: Send + 'static>(
    core: &Arc<Core>,
    uid: u32,
    look: impl FnOnce(&Core) -> T + Send + 'static,
) -> Result<T, ApiFailure> {
    let turn = turn(&core.places.forecasts, uid).await?;
    away_for(core, turn, look).await
}

/// The same, with a turn that is had already.
///
/// # Errors
/// When the controller stops, or there is a defect in what looks.
pub async fn away_for<T: Send + 'static>(
    core: &Arc<Core>,
    turn: Turn,
    look: impl FnOnce(&Core) -> T + Send + 'static,
) -> Result<T, ApiFailure> {
    let core = core.clone();
    Ok(away(turn, move || look(&core)).await?.0)
}

/// Waits for a turn.
///
/// # Errors
/// 429 where the user's own requests are in the way.
pub async fn turn(turns: &Arc<Turns>, uid: u32) -> Result<Turn, ApiFailure> {
    turns.turn(uid).await.map_err(too_many)
}

fn too_many(why: NoTurn) -> ApiFailure {
    let hint = "wait for answers before you ask again, or ask for less: `kantctl queue --user`, \
                one `kantctl watch` for many jobs, an array or `kantctl submit --batch` for many \
                submits";
    let refusal = net::Refusal::new(StatusCode::TOO_MANY_REQUESTS, TOO_MANY, why.to_string());
    ApiFailure::Said(refusal.hint(hint))
}

/// The code of a refusal of one request too many. Nothing was done.
const TOO_MANY: &str = "too_many_requests";

/// The turn is held until the look is over, also when whoever asked has gone.
async fn away<T: Send + 'static>(
    turn: Turn,
    look: impl FnOnce() -> T + Send + 'static,
) -> Result<(T, Turn), ApiFailure> {
    let looked = tokio::task::spawn_blocking(move || (look(), turn));
    looked.await.map_err(|error| match error.is_panic() {
        true => defect("kantctld failed while it looked"),
        false => {
            let message = "the controller stops: ask again in a moment";
            said(StatusCode::SERVICE_UNAVAILABLE, "stopping", message)
        }
    })
}

fn defect(what: &str) -> ApiFailure {
    let message = format!("{what}, which is a defect: please report it with what its log says");
    said(StatusCode::INTERNAL_SERVER_ERROR, "defect", &message)
}

fn said(status: StatusCode, code: &'static str, message: &str) -> ApiFailure {
    ApiFailure::Said(net::Refusal::new(status, code, message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::places::{LISTS_MAX, Places};

    #[tokio::test]
    async fn a_look_that_panics_is_an_error_and_gives_its_turn_back() {
        let places = Places::default();
        for _ in 0..=LISTS_MAX {
            let turn = places.lists.turn(1).await.unwrap();
            let failure = away(turn, || -> u32 { panic!("planted") }).await.unwrap_err();
            let told = failure.into_response();
            assert_eq!(told.status(), StatusCode::INTERNAL_SERVER_ERROR);
        }
        let turn = places.lists.turn(1).await.unwrap();
        assert_eq!(away(turn, || 42).await.unwrap().0, 42);
    }

    #[tokio::test]
    async fn a_list_that_cannot_be_begun_is_an_error_and_one_that_fails_later_breaks_off() {
        let open = || async {
            let places = Places::default();
            shelf::open(places.lists.turn(1).await.unwrap(), shelf::PATIENCE)
        };
        let (filling, body) = open().await;
        let failure = in_lines(filling, body, |_| panic!("planted")).await.unwrap_err();
        assert_eq!(failure.into_response().status(), StatusCode::INTERNAL_SERVER_ERROR);

        let (filling, body) = open().await;
        let fails_late = |lines: &mut Lines| -> Result<(), Cut> {
            (0..100_000).try_for_each(|number: u32| lines.add(&number))?;
            panic!("planted")
        };
        let told = in_lines(filling, body, fails_late).await.unwrap();
        assert_eq!(told.status(), StatusCode::OK);
        assert!(axum::body::to_bytes(told.into_body(), usize::MAX).await.is_err());

        let (filling, body) = open().await;
        let told = in_lines(filling, body, |lines| lines.add(&7)).await.unwrap();
        assert_eq!(axum::body::to_bytes(told.into_body(), usize::MAX).await.unwrap(), "7\n");
    }

    #[test]
    fn who_asks_too_much_is_told_what_to_do_instead() {
        let ApiFailure::Said(refusal) = too_many(NoTurn::Line(256)) else { panic!("no refusal") };
        assert_eq!(refusal.status, StatusCode::TOO_MANY_REQUESTS);
        assert!(refusal.error.message.contains("256 requests of yours"), "{refusal:?}");
        assert!(refusal.error.hint.is_some_and(|hint| hint.contains("--batch")));
    }
}
