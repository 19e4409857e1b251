//! The identity of a caller: from the kernel on a unix socket, from the certificate over mutual
//! TLS, from a token on the HTTP listener.
//!
//! A daemon may act for a user of its own local socket, by the header [`USER_HEADER`]. From any
//! other caller the header is refused.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use common::id::Gid;
use thiserror::Error;

use crate::refusal::Refusal;
use crate::role::Role;

/// The header that names the local user of a forwarded request: `<uid>:<gid>`. With
/// `<uid>:<gid>:user`, the user's roles do not count.
pub const USER_HEADER: &str = "x-kant-user";
/// The third part of that header.
const ONLY_USER: &str = "user";

/// How to get a token.
pub const TOKEN_HINT: &str =
    "`kantctl token create --scope=jobs:read` makes one; it is shown only once";

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
    /// A client of the HTTP listener without a valid token.
    Anonymous,
    /// A client of the HTTP listener whose token was checked.
    Program(Program),
}

/// A program that acts for a user by a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    pub uid: u32,
    pub gid: u32,
    /// The id of the token.
    pub token: String,
    /// It is a JSON Web Token, not a token of the cluster.
    pub is_jwt: bool,
    pub has_roles: bool,
}

/// The user who makes a request. An axum extractor, like [`Caller`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The same on all hosts of the cluster.
    pub uid: u32,
    /// The primary group.
    pub gid: u32,
    /// Whether the user's roles count in this request. Otherwise an operator, too, is an ordinary
    /// user.
    pub has_roles: bool,
    /// The authority for the user's identity.
    pub via: Via,
    /// As the controller looked them up for this request; `None` if they are not known.
    pub groups: Option<UserGroups>,
}

/// The groups of a user in the user database. An extension of the request in which it names them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UserGroups(pub Arc<BTreeSet<Gid>>);

/// The authority for a user's identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Via {
    Socket,
    /// The kantd of the node on which the user made the request.
    Node(String),
    /// Another controller, which forwards a request.
    Controller,
    /// The token with this id.
    Token(String),
}

/// Why the user of a request is unknown.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CallerError {
    /// A local process or a program sent the header, which does not count.
    #[error(
        "the header {USER_HEADER} is for daemons: users are identified by the kernel on a local \
         socket, and by their token over HTTP"
    )]
    Claimed,
    #[error("this request needs a token: send `Authorization: Bearer TOKEN`")]
    NoToken,
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
            Ok(User { uid: *uid, gid: *gid, has_roles: true, via: Via::Socket, groups: None })
        }
        (Caller::Anonymous, None, _) => Err(CallerError::NoToken),
        (Caller::Program(program), None, _) => Ok(program.user()),
        (Caller::Local { .. } | Caller::Anonymous | Caller::Program(_), Some(_), _) => {
            Err(CallerError::Claimed)
        }
        (Caller::Stranger(_), ..) => Err(CallerError::Stranger),
        (Caller::Peer(role), None, _) => Err(CallerError::Unnamed { role: role.clone() }),
        (Caller::Peer(_), Some(_), Some(_)) => Err(CallerError::Malformed),
        (Caller::Peer(role), Some(value), None) => {
            let (uid, gid, has_roles) =
                value.to_str().ok().and_then(parse_user).ok_or(CallerError::Malformed)?;
            let via = match role {
                Role::Controller => Via::Controller,
                Role::Node { name, .. } => Via::Node(name.clone()),
            };
            Ok(User { uid, gid, has_roles, via, groups: None })
        }
    }
}

/// The value of [`USER_HEADER`] for a request of this user.
pub(crate) fn user_header(user: &User) -> String {
    let User { uid, gid, has_roles, .. } = user;
    match has_roles {
        true => format!("{uid}:{gid}"),
        false => format!("{uid}:{gid}:{ONLY_USER}"),
    }
}

/// Makes the user that a daemon names an ordinary one for the rest of this request.
pub fn ignore_roles(headers: &mut HeaderMap) {
    let Some(value) = headers.get(USER_HEADER).and_then(|value| value.to_str().ok()) else {
        return;
    };
    if let Some((uid, gid, true)) = parse_user(value)
        && let Ok(value) = HeaderValue::from_str(&format!("{uid}:{gid}:{ONLY_USER}"))
    {
        headers.insert(USER_HEADER, value);
    }
}

fn parse_user(text: &str) -> Option<(u32, u32, bool)> {
    let (uid, rest) = text.split_once(':')?;
    let (gid, has_roles) = match rest.split_once(':') {
        None => (rest, true),
        Some((gid, ONLY_USER)) => (gid, false),
        Some(_) => return None,
    };
    Some((parse_id(uid)?, parse_id(gid)?, has_roles))
}

fn parse_id(text: &str) -> Option<u32> {
    // FromStr also accepts "+5", which no daemon writes.
    text.bytes().all(|b| b.is_ascii_digit()).then_some(())?;
    // The highest value is the kernel's "no such id" (setresuid(2): -1 leaves unchanged).
    text.parse().ok().filter(|id| *id != u32::MAX)
}

impl Program {
    fn user(&self) -> User {
        let Self { uid, gid, token, has_roles, .. } = self.clone();
        User { uid, gid, has_roles, via: Via::Token(token), groups: None }
    }
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
        let user = caller_identity(&caller, &parts.headers)?;
        Ok(Self { groups: parts.extensions.get::<UserGroups>().cloned(), ..user })
    }
}

impl From<CallerError> for Refusal {
    fn from(error: CallerError) -> Self {
        let message = error.to_string();
        match error {
            CallerError::Claimed => Refusal::new(StatusCode::BAD_REQUEST, "user-claimed", message)
                .with_hint(format!("leave the header {USER_HEADER} out")),
            CallerError::NoToken => {
                Refusal::new(StatusCode::UNAUTHORIZED, "no-token", message).with_hint(TOKEN_HINT)
            }
            CallerError::Unnamed { .. } => {
                Refusal::new(StatusCode::BAD_REQUEST, "user-unnamed", message)
            }
            CallerError::Stranger => Refusal::new(StatusCode::UNAUTHORIZED, "no_identity", message)
                .with_hint("for a node: `kantctl admin node invite`, then `kantd join` there"),
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
        let has_roles = true;
        let (via, groups) = (Via::Socket, None);
        assert_eq!(user, User { uid: 1000, gid: 100, has_roles, via, groups });
        let claim = caller_identity(&ALICE, &naming(&["0:0"]));
        assert_eq!(claim, Err(CallerError::Claimed));
    }

    #[test]
    fn a_daemon_vouches_for_a_user() {
        let node = Caller::Peer(Role::Node { name: "g-1".to_owned(), enrolment: 1 });
        let user = caller_identity(&node, &naming(&["1000:100"])).unwrap();
        let (has_roles, via) = (true, Via::Node("g-1".to_owned()));
        assert_eq!(user, User { uid: 1000, gid: 100, has_roles, via, groups: None });
        let user = caller_identity(&Caller::Peer(Role::Controller), &naming(&["5:6"])).unwrap();
        let (via, groups) = (Via::Controller, None);
        assert_eq!(user, User { uid: 5, gid: 6, has_roles, via, groups });
        let unnamed = caller_identity(&node, &HeaderMap::new());
        assert!(matches!(unnamed, Err(CallerError::Unnamed { .. })));
    }

    #[test]
    fn a_token_identifies_a_program_and_nothing_else_does() {
        let none = HeaderMap::new();
        assert_eq!(caller_identity(&Caller::Anonymous, &none), Err(CallerError::NoToken));
        let token = "0123456789ab".to_owned();
        let (token_id, is_jwt) = (token.clone(), false);
        let program = Program { uid: 1000, gid: 100, token: token_id, is_jwt, has_roles: false };
        let program = Caller::Program(program);
        let user = caller_identity(&program, &none).unwrap();
        let (via, groups) = (Via::Token(token), None);
        let expected = User { uid: 1000, gid: 100, has_roles: false, via, groups };
        assert_eq!(user, expected);
        for caller in [Caller::Anonymous, program] {
            let claim = caller_identity(&caller, &naming(&["0:0"]));
            assert_eq!(claim, Err(CallerError::Claimed));
        }
    }

    #[test]
    fn a_forwarded_request_has_no_more_rights_than_the_first() {
        for has_roles in [true, false] {
            let (via, groups) = (Via::Controller, None);
            let user = User { uid: 0, gid: 7, has_roles, via, groups };
            let header = user_header(&user);
            let read = caller_identity(&Caller::Peer(Role::Controller), &naming(&[&header]));
            assert_eq!(read, Ok(user));
        }
    }

    #[test]
    fn roles_that_do_not_count_are_gone_for_the_rest_of_the_request() {
        for named in ["5:6", "5:6:user"] {
            let mut headers = naming(&[named]);
            ignore_roles(&mut headers);
            let user = caller_identity(&Caller::Peer(Role::Controller), &headers).unwrap();
            assert_eq!((user.uid, user.gid, user.has_roles), (5, 6, false), "{named}");
        }
        let mut headers = naming(&["root"]);
        ignore_roles(&mut headers);
        let user = caller_identity(&Caller::Peer(Role::Controller), &headers);
        assert_eq!(user, Err(CallerError::Malformed), "it stays as it is, and is refused");
    }

    #[test]
    fn a_malformed_user_header_is_refused() {
        let node = Caller::Peer(Role::Node { name: "g-1".to_owned(), enrolment: 1 });
        let cases: [&[&str]; 11] = [
            &[""],
            &["1000"],
            &["1000:"],
            &["+1:2"],
            &["-1:2"],
            &["1:2:3"],
            &["1:2:"],
            &["1:2:user:"],
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
