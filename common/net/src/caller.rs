//! Who calls: what the kernel says on a unix socket, what the certificate says over TLS.
//!
//! A daemon may speak for a user it has met on its own socket, by the header [`USER_HEADER`];
//! nobody else may. This file never decides what a user may do.

use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use thiserror::Error;

use crate::identity::Role;
use crate::refusal::Refusal;

/// The header in which a daemon names the local user whose request it passes on: `<uid>:<gid>`.
pub const USER_HEADER: &str = "x-kant-user";

/// The other end of a connection, as the listener has proved it.
///
/// An axum extractor, in handlers served by [`crate::serve`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// A process on this host, as the kernel knows it (SO_PEERCRED, unix(7)).
    Local {
        /// The process's effective user id when it connected.
        uid: u32,
        /// The process's effective group id when it connected.
        gid: u32,
        /// The process's id, where the kernel gives one.
        pid: Option<i32>,
    },
    /// A daemon with a certificate from the cluster key.
    Peer(Role),
}

/// The user on whose behalf a request is made. An axum extractor, like [`Caller`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The user's id, the same on all hosts of the cluster.
    pub uid: u32,
    /// The user's primary group id.
    pub gid: u32,
    /// Who vouches for it.
    pub via: Via,
}

/// Who says that a user is who it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Via {
    Socket,
    /// The kantd of a node, where the user called.
    Node(String),
    /// Another controller, which passes on what it was asked.
    Controller,
}

/// Why a request has no user.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CallerError {
    /// A local process claims to be somebody; the kernel's word stands.
    #[error("the header {USER_HEADER} is for daemons: on a local socket the kernel says who calls")]
    Claimed,
    /// A daemon calls for itself where a user is needed.
    #[error("{role} asked for something that only a user can ask for, and named none")]
    Unnamed { role: Role },
    /// The header is there but says nothing usable.
    #[error("the header {USER_HEADER} must be given once and read `<uid>:<gid>`")]
    Malformed,
    /// The router is not served by [`crate::serve`]: a mistake in the daemon.
    #[error("this listener does not say who calls")]
    Unknown,
}

/// The user a request comes from, by the connection it came on and its headers.
pub fn caller_identity(caller: &Caller, headers: &HeaderMap) -> Result<User, CallerError> {
    let mut named = headers.get_all(USER_HEADER).iter();
    match (caller, named.next(), named.next()) {
        (Caller::Local { uid, gid, .. }, None, _) => {
            Ok(User { uid: *uid, gid: *gid, via: Via::Socket })
        }
        (Caller::Local { .. }, Some(_), _) => Err(CallerError::Claimed),
        (Caller::Peer(role), None, _) => Err(CallerError::Unnamed { role: role.clone() }),
        (Caller::Peer(_), Some(_), Some(_)) => Err(CallerError::Malformed),
        (Caller::Peer(role), Some(value), None) => {
            let (uid, gid) =
                value.to_str().ok().and_then(parse_ids).ok_or(CallerError::Malformed)?;
            let via = match role {
                Role::Controller => Via::Controller,
                Role::Node(name) => Via::Node(name.clone()),
            };
            Ok(User { uid, gid, via })
        }
    }
}

fn parse_ids(text: &str) -> Option<(u32, u32)> {
    let (uid, gid) = text.split_once(':')?;
    Some((parse_id(uid)?, parse_id(gid)?))
}

fn parse_id(text: &str) -> Option<u32> {
    // FromStr also takes "+5", which nobody here writes.
    text.bytes().all(|b| b.is_ascii_digit()).then_some(())?;
    // The highest value is the kernel's "no such id" (setresuid(2): -1 leaves unchanged).
    text.parse().ok().filter(|id| *id != u32::MAX)
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = CallerError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, CallerError> {
        parts
            .extensions
            .get::<ConnectInfo<Caller>>()
            .map(|ConnectInfo(caller)| caller.clone())
            .ok_or(CallerError::Unknown)
    }
}

impl<S: Sync> FromRequestParts<S> for User {
    type Rejection = CallerError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, CallerError> {
        let caller = Caller::from_request_parts(parts, state).await?;
        caller_identity(&caller, &parts.headers)
    }
}

impl From<CallerError> for Refusal {
    fn from(error: CallerError) -> Self {
        let message = error.to_string();
        match error {
            CallerError::Claimed => Refusal::new(StatusCode::BAD_REQUEST, "user-claimed", message)
                .hint(format!("leave the header {USER_HEADER} out")),
            CallerError::Unnamed { .. } => {
                Refusal::new(StatusCode::BAD_REQUEST, "user-unnamed", message)
            }
            CallerError::Malformed => {
                Refusal::new(StatusCode::BAD_REQUEST, "user-malformed", message)
            }
            CallerError::Unknown => {
                Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "caller-unknown", message)
            }
        }
    }
}

impl IntoResponse for CallerError {
    fn into_response(self) -> Response {
        Refusal::from(self).into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALICE: Caller = Caller::Local { uid: 1000, gid: 100, pid: Some(7) };

    fn naming(values: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(USER_HEADER, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn the_kernels_word_stands_on_a_local_socket() {
        let user = caller_identity(&ALICE, &HeaderMap::new()).unwrap();
        assert_eq!(user, User { uid: 1000, gid: 100, via: Via::Socket });
        let claim = caller_identity(&ALICE, &naming(&["0:0"]));
        assert_eq!(claim, Err(CallerError::Claimed));
    }

    #[test]
    fn a_daemon_vouches_for_a_user() {
        let node = Caller::Peer(Role::Node("g-1".to_owned()));
        let user = caller_identity(&node, &naming(&["1000:100"])).unwrap();
        assert_eq!(user, User { uid: 1000, gid: 100, via: Via::Node("g-1".to_owned()) });
        let user = caller_identity(&Caller::Peer(Role::Controller), &naming(&["5:6"])).unwrap();
        assert_eq!(user, User { uid: 5, gid: 6, via: Via::Controller });
        let nobody = caller_identity(&node, &HeaderMap::new());
        assert!(matches!(nobody, Err(CallerError::Unnamed { .. })));
    }

    #[test]
    fn a_malformed_voucher_is_no_voucher() {
        let node = Caller::Peer(Role::Node("g-1".to_owned()));
        let cases: [&[&str]; 9] = [
            &[""],
            &["1000"],
            &["1000:"],
            &["+1:2"],
            &["-1:2"],
            &["1:2:3"],
            &["4294967295:1"],
            &["99999999999:1"],
            &["1:2", "1:2"],
        ];
        for case in cases {
            let answer = caller_identity(&node, &naming(case));
            assert_eq!(answer, Err(CallerError::Malformed), "{case:?}");
        }
    }
}
