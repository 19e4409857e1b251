//! What cancel, hold, release and requeue, and drain and resume, have in common: one wish for each
//! of several jobs or nodes. Never chooses which.

use super::ask;
use crate::failure::{Failure, Kind, OK};
use crate::output::Screen;
use crate::output::screen::complain;
use crate::server::Server;
use common::id::JobKey;
use serde_json::Value;

/// Puts the wish of this name to each of these jobs; `done` is what is said of one it was granted
/// for. One refusal does not keep the others from being asked.
///
/// # Errors
/// [`Failure`] when the controller cannot be reached.
pub async fn jobs(
    keys: &[JobKey],
    wish: &str,
    done: &str,
    server: &Server,
    screen: &Screen,
) -> Result<u8, Failure> {
    let path = |key: &str| format!("/v1/jobs/{key}/{wish}");
    each(keys, path, &Value::Null, done, server, screen).await
}

/// Puts a wish to each of these: `path` is where, `done` what is said of one that was granted.
/// One refusal does not keep the others from being asked.
///
/// # Errors
/// [`Failure`] when the controller cannot be reached.
pub async fn each<K: ToString>(
    keys: &[K],
    path: impl Fn(&str) -> String,
    wish: &Value,
    done: &str,
    server: &Server,
    screen: &Screen,
) -> Result<u8, Failure> {
    let (mut code, mut raw) = (OK, Vec::new());
    for key in keys.iter().map(ToString::to_string) {
        match server.post::<Value, Value>(&path(&key), wish).await {
            Ok(answer) if screen.json => raw.push(answer),
            Ok(_) => screen.line(&format!("{done} {key}"))?,
            Err(failure) if failure.kind == Kind::Unreachable => return Err(failure),
            Err(failure) => {
                complain(&failure);
                code = code.max(failure.kind.code());
            }
        }
    }
    if screen.json {
        screen.answer(&ask::join(raw, "jobs"))?;
    }
    Ok(code)
}
