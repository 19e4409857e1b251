//! Requests for several jobs or nodes at once, shared by cancel, hold, release, requeue, suspend,
//! drain and resume.

use crate::failure::{Failure, Kind, OK};
use crate::fetch;
use crate::keys::{self, Keys};
use crate::output::Screen;
use crate::output::screen::{note, print_failure};
use crate::server::{AT_ONCE, Retry, Server};
use futures_util::{Stream, StreamExt as _, stream};
use serde_json::Value;
use std::cell::Cell;
use std::future::ready;
use std::pin::pin;

/// Sends a request for each of these, several concurrently; answers are returned in the order of
/// the keys. After `stop` is set, no further request is sent, but those on their way are answered.
pub fn send_concurrently<'a, K, A, F: Future<Output = A> + 'a>(
    keys: &'a [K],
    stop: &'a Cell<bool>,
    ask: impl Fn(&'a K) -> F + 'a,
) -> impl Stream<Item = (&'a K, A)> + 'a {
    let answer = move |key| {
        let asked = ask(key);
        async move { (key, asked.await) }
    };
    let more = move |_: &&K| ready(!stop.get());
    stream::iter(keys).take_while(more).map(answer).buffered(AT_ONCE)
}

/// The list of the answers about jobs.
pub const JOBS: &str = "jobs";
/// The list of the answers about nodes.
pub const NODES: &str = "nodes";

/// A request that is sent for each of several jobs or nodes.
#[derive(Clone, Copy)]
pub struct Action<'a> {
    pub body: &'a Value,
    pub retry: Retry,
    /// The message for each that was accepted, e.g. `Cancelled`.
    pub done: &'a str,
    /// The list in the answers that names what has changed.
    pub changed: &'static str,
}

/// Sends the request `name` for each of these jobs. After a refusal the others are still sent.
///
/// # Errors
/// [`Failure`] when the controller cannot be reached.
pub async fn act_on_jobs(
    keys: &[Keys],
    name: &str,
    retry: Retry,
    done: &str,
    server: &Server,
    screen: &Screen,
) -> Result<u8, Failure> {
    let path = |key: &str| format!("/v1/jobs/{key}/{name}");
    let action = Action { body: &Value::Null, retry, done, changed: JOBS };
    act_on_each(&keys::flatten(keys), path, action, server, screen).await
}

/// Sends a request for each key to `path(key)`. After a refusal the others are still sent.
///
/// # Errors
/// [`Failure`] when the controller cannot be reached.
pub async fn act_on_each<K: ToString>(
    keys: &[K],
    path: impl Fn(&str) -> String,
    action: Action<'_>,
    server: &Server,
    screen: &Screen,
) -> Result<u8, Failure> {
    act_in_groups(&[keys], path, action, server, screen).await
}

/// The same for several groups: a group starts when the one before has been answered completely.
///
/// # Errors
/// As [`act_on_each`].
pub async fn act_in_groups<K: ToString>(
    groups: &[&[K]],
    path: impl Fn(&str) -> String,
    action: Action<'_>,
    server: &Server,
    screen: &Screen,
) -> Result<u8, Failure> {
    let Action { body, retry, done, changed } = action;
    let (mut code, mut raw, mut errors) = (OK, Vec::new(), Vec::new());
    let (stop, mut lost) = (Cell::new(false), Ok(()));
    for group in groups {
        let ask = |key: &K| {
            let path = path(&key.to_string());
            async move { server.post::<Value, Value>(&path, body, retry).await }
        };
        let mut answers = pin!(send_concurrently(group, &stop, ask));
        while let Some((key, answered)) = answers.next().await {
            let key = key.to_string();
            match answered {
                Ok(answer) if screen.json => raw.push(answer),
                // stdout is closed, but requests on their way are still awaited.
                Ok(_) if lost.is_err() => note(&format!("{done} {key}")),
                Ok(_) => lost = screen.print_line(&format!("{done} {key}")),
                Err(failure) if failure.kind == Kind::Unreachable && lost.is_ok() => {
                    lost = Err(failure);
                }
                // The job is in the requested state; a repeated request can cause this, too. It is
                // reported, but no failure.
                Err(failure)
                    if matches!(failure.error_code(), Some("not_held" | "already_ending")) =>
                {
                    print_failure(&failure);
                }
                Err(failure) => {
                    print_failure(&failure);
                    errors.push(error_json(&key, &failure));
                    code = code.max(failure.kind.exit_code());
                }
            }
            stop.set(lost.is_err());
        }
    }
    if let Err(failure) = lost {
        // Programs also get the accepted requests, if there are any.
        if !screen.json || raw.is_empty() {
            return Err(failure);
        }
        code = code.max(failure.kind.exit_code());
        errors.push(failure.to_json());
    }
    if screen.json {
        let mut answer = fetch::join_lists(raw, changed);
        if let Some(answer) = answer.as_object_mut().filter(|_| !errors.is_empty()) {
            answer.insert("errors".to_owned(), Value::Array(errors));
        }
        screen.print_answer_json(&answer)?;
    }
    Ok(code)
}

/// The error for one key, for programs.
fn error_json(key: &str, failure: &Failure) -> Value {
    let mut error = failure.to_json();
    if let Some(error) = error.as_object_mut() {
        error.insert("of".to_owned(), Value::String(key.to_owned()));
    }
    error
}
