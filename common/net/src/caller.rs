//! The identity of a caller: from the kernel on a unix socket, from the certificate over TLS.
//!
//! A daemon may act for a user of its own local socket, by the header [`USER_HEADER`]. From any
//! other caller the header is refused.

use std::net::IpAddr;

use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use thiserror::Error;

use crate::refusal::Refusal;
use crate::role::Role;

/// The header that names the local user of a forwarded request: `<uid>:<gid>`.
pub const USER_HEADER: &str = "x-kant-user";

/// The authenticated peer of a connection.
///
/// An axum extractor, in handlers served by [`crate::serve`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// A process on this host, identified by the kernel (SO_PEERCRED, unix(7)).
    Local {
        /// The effective uid at the time of the connection.
        uid: u32,
        /// The effective gid at the time of the connection.
        gid: u32,
        /// `None` where the kernel does not report it.
        pid: Option<i32>,
    },
    /// A daemon with a certificate of the cluster.
    Peer(Role),
    /// A host without a certificate, at this address. It may use an invitation.
    Stranger(IpAddr),
}

/// The user who makes a request. An axum extractor, like [`Caller`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The same on all hosts of the cluster.
    pub uid: u32,
    /// The primary group.
    pub gid: u32,
    /// The authority for the user's identity.
    pub via: Via,
}

/// The authority for a user's identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Via {
    Socket,
    /// The kantd of the node on which the user made the request.
    Node(String),
    /// Another controller, which forwards a request.
    Controller,
}

/// Why the user of a request is unknown.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CallerError {
    /// A local process sent the header; only the kernel's identity counts.
    #[error(
        "the header {USER_HEADER} is for daemons: on a local socket the kernel identifies the \
         caller"
    )]
    Claimed,
    /// A daemon made a request of its own where a user is required.
    #[error("{role} made a request that requires a user, and named none")]
    Unnamed { role: Role },
    /// A host without a certificate asked for something other than to be enrolled.
    #[error("this host proved no identity: an operator must invite it first")]
    Stranger,
    #[error("the header {USER_HEADER} must be given once and read `<uid>:<gid>`")]
    Malformed,
    /// The router is not served by [`crate::serve`], which is a bug in the daemon.
    #[error("this listener does not identify its callers")]
    Unknown,
}

/// The user of a request, from its connection and headers.
pub fn caller_identity(caller: &Caller, headers: &HeaderMap) -> Result<User, CallerError> {
    let mut named = headers.get_all(USER_HEADER).iter();
    match (caller, named.next(), named.next()) {
        (Caller::Local { uid, gid, .. }, None, _) => {
            Ok(User { uid: *uid, gid: *gid, via: Via::Socket })
        }
        (Caller::Local { .. }, Some(_), _) => Err(CallerError::Claimed),
        (Caller::Stranger(_), ..) => Err(CallerError::Stranger),
        (Caller::Peer(role), None, _) => Err(CallerError::Unnamed { role: role.clone() }),
        (Caller::Peer(_), Some(_), Some(_)) => Err(CallerError::Malformed),
        (Caller::Peer(role), Some(value), None) => {
            let (uid, gid) =
                value.to_str().ok().and_then(parse_ids).ok_or(CallerError::Malformed)?;
            let via = match role {
                Role::Controller => Via::Controller,
                Role::Node { name, .. } => Via::Node(name.clone()),
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
    // FromStr also accepts "+5", which no daemon writes.
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
            CallerError::Stranger => Refusal::new(StatusCode::UNAUTHORIZED, "no_identity", message)
                .hint("for a node: `kantctl admin node invite`, then `kantd join` there"),
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
    fn the_kernel_identifies_callers_on_a_local_socket() {
        let user = caller_identity(&ALICE, &HeaderMap::new()).unwrap();
        assert_eq!(user, User { uid: 1000, gid: 100, via: Via::Socket });
        let claim = caller_identity(&ALICE, &naming(&["0:0"]));
        assert_eq!(claim, Err(CallerError::Claimed));
    }

    #[test]
    fn a_daemon_vouches_for_a_user() {
        let node = Caller::Peer(Role::Node { name: "g-1".to_owned(), enrolment: 1 });
        let user = caller_identity(&node, &naming(&["1000:100"])).unwrap();
        assert_eq!(user, User { uid: 1000, gid: 100, via: Via::Node("g-1".to_owned()) });
        let user = caller_identity(&Caller::Peer(Role::Controller), &naming(&["5:6"])).unwrap();
        assert_eq!(user, User { uid: 5, gid: 6, via: Via::Controller });
        let unnamed = caller_identity(&node, &HeaderMap::new());
        assert!(matches!(unnamed, Err(CallerError::Unnamed { .. })));
    }

    #[test]
    fn a_malformed_user_header_is_refused() {
        let node = Caller::Peer(Role::Node { name: "g-1".to_owned(), enrolment: 1 });
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
