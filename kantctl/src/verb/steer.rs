//! What cancel, hold, release, requeue and suspend, and drain and resume, have in common: one wish
//! for each of several jobs or nodes, several on their way at once. Never chooses which.

use super::ask;
use crate::failure::{Failure, Kind, OK};
use crate::output::Screen;
use crate::output::screen::{note, print_failure};
use crate::server::{AT_ONCE, Again, Server};
use common::id::JobKey;
use futures_util::{Stream, StreamExt as _, stream};
use serde_json::Value;
use std::cell::Cell;
use std::future::ready;
use std::pin::pin;

/// Asks for each of these, several at once; the answers come in the order of the keys. After
/// `stop` nobody else is asked for, and those who were are still answered.
pub fn answers<'a, K, A, F: Future<Output = A> + 'a>(
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

/// Puts the wish of this name to each of these jobs; `done` is what is said of one it was granted
/// for, `again` what it would do twice. One refusal does not keep the others from being asked.
///
/// # Errors
/// [`Failure`] when the controller cannot be reached.
pub async fn jobs(
    keys: &[JobKey],
    wish: &str,
    again: Again,
    done: &str,
    server: &Server,
    screen: &Screen,
) -> Result<u8, Failure> {
    let path = |key: &str| format!("/v1/jobs/{key}/{wish}");
    each(keys, path, (&Value::Null, again), done, server, screen).await
}

/// Puts a wish to each of these: `path` is where, `done` what is said of one that was granted. With
/// the wish comes what it would do if it were granted twice. One refusal does not keep the others
/// from being asked.
///
/// # Errors
/// [`Failure`] when the controller cannot be reached.
pub async fn each<K: ToString>(
    keys: &[K],
    path: impl Fn(&str) -> String,
    wish: (&Value, Again),
    done: &str,
    server: &Server,
    screen: &Screen,
) -> Result<u8, Failure> {
    waves(&[keys], path, wish, done, server, screen).await
}

/// The same of several lots: nobody of one is asked for before all of the one before are answered.
///
/// # Errors
/// As [`each`].
pub async fn waves<K: ToString>(
    lots: &[&[K]],
    path: impl Fn(&str) -> String,
    (wish, again): (&Value, Again),
    done: &str,
    server: &Server,
    screen: &Screen,
) -> Result<u8, Failure> {
    let (mut code, mut raw, mut errors) = (OK, Vec::new(), Vec::new());
    let (stop, mut lost) = (Cell::new(false), Ok(()));
    for lot in lots {
        let ask = |key: &K| {
            let path = path(&key.to_string());
            async move { server.post::<Value, Value>(&path, wish, again).await }
        };
        let mut answers = pin!(answers(lot, &stop, ask));
        while let Some((key, answered)) = answers.next().await {
            let key = key.to_string();
            match answered {
                Ok(answer) if screen.json => raw.push(answer),
                // Nobody reads any more, and what is on its way is awaited all the same.
                Ok(_) if lost.is_err() => note(&format!("{done} {key}")),
                Ok(_) => lost = screen.line(&format!("{done} {key}")),
                Err(failure) if failure.kind == Kind::Unreachable && lost.is_ok() => {
                    lost = Err(failure);
                }
                // As was wished, and a wish may reach the controller twice: worth a word, no
                // failure.
                Err(failure) if failure.code() == Some("not_held") => print_failure(&failure),
                Err(failure) => {
                    print_failure(&failure);
                    errors.push(told(&key, &failure));
                    code = code.max(failure.kind.code());
                }
            }
            stop.set(lost.is_err());
        }
    }
    if let Err(failure) = lost {
        // A program is told what was granted, too, if anything was.
        if !screen.json || raw.is_empty() {
            return Err(failure);
        }
        code = code.max(failure.kind.code());
        errors.push(failure.to_json());
    }
    if screen.json {
        let mut answer = ask::join(raw, "jobs");
        if let Some(answer) = answer.as_object_mut().filter(|_| !errors.is_empty()) {
            answer.insert("errors".to_owned(), Value::Array(errors));
        }
        screen.answer(&answer)?;
    }
    Ok(code)
}

/// What was refused of what, for programs.
fn told(key: &str, failure: &Failure) -> Value {
    let mut error = failure.to_json();
    if let Some(error) = error.as_object_mut() {
        error.insert("of".to_owned(), Value::String(key.to_owned()));
    }
    error
}
