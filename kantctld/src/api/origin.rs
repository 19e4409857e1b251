//! The origin of a request: the controller's local socket, a node that vouches for the user, a
//! program with a token, or the origin that a forwarding controller reports.

use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, HeaderValue};
use common::id::{ControllerId, NodeName};
use net::{Caller, Role};
use std::convert::Infallible;
use std::fmt;
use std::net::IpAddr;

/// The header of a forwarded request: the forwarding controller, and the request's origin there.
pub(super) const FORWARDED: &str = "x-kant-passed-on";

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Origin {
    way: Way,
    /// The controller that forwarded it.
    pub(super) through: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
enum Way {
    /// A controller's local socket.
    #[default]
    Socket,
    /// The name, and the number of the enrolment.
    Node(String, u32),
    /// A program with the token of this id.
    Token(String),
    /// A program with a JSON Web Token of this id.
    Jwt(String),
    Controller,
    /// A host without a certificate, at this address.
    Stranger(IpAddr),
    /// A client of the HTTP listener without a token.
    Anonymous,
}

impl Origin {
    /// As proved by the listener or, for a forwarded request, reported by the controller.
    pub(super) fn of(extensions: &Extensions, headers: &HeaderMap) -> Self {
        let caller = extensions.get::<ConnectInfo<Caller>>().map(|ConnectInfo(caller)| caller);
        let way = match caller {
            Some(Caller::Peer(Role::Node { name, enrolment })) => {
                Way::Node(name.clone(), *enrolment)
            }
            Some(Caller::Stranger(from)) => Way::Stranger(*from),
            Some(Caller::Program(program)) => match program.is_jwt {
                true => Way::Jwt(program.token.clone()),
                false => Way::Token(program.token.clone()),
            },
            Some(Caller::Anonymous) => Way::Anonymous,
            Some(Caller::Peer(Role::Controller)) => {
                return Self::from_forwarded_header(headers)
                    .unwrap_or(Self { way: Way::Controller, through: None });
            }
            Some(Caller::Local { .. }) | None => Way::Socket,
        };
        Self { way, through: None }
    }

    fn from_forwarded_header(headers: &HeaderMap) -> Option<Self> {
        let (through, way) = headers.get(FORWARDED)?.to_str().ok()?.split_once(' ')?;
        let way = match way.split_once(' ') {
            None if way == "socket" => Way::Socket,
            Some(("node", named)) => {
                let (name, enrolment) = named.rsplit_once(' ')?;
                Way::Node(name.to_owned(), enrolment.parse().ok()?)
            }
            Some(("token", id)) => Way::Token(id.to_owned()),
            Some(("jwt", id)) => Way::Jwt(id.to_owned()),
            _ => return None,
        };
        Some(Self { way, through: Some(through.to_owned()) })
    }

    /// The header value for a request that this controller forwards.
    pub(super) fn header(&self, by: ControllerId) -> HeaderValue {
        let text = match &self.way {
            Way::Node(_, enrolment) => format!("{by} {self} {enrolment}"),
            _ => format!("{by} {self}"),
        };
        // A node name in a certificate should have only letters, digits and dots. With any other
        // name the request still counts as one of a node.
        let unnamed = HeaderValue::from_static("? node ? 0");
        HeaderValue::from_str(&text).unwrap_or(unnamed)
    }

    /// The node, and the number of its enrolment, whose certificate proved the origin.
    pub(super) fn certificate(&self) -> Option<(&str, u32)> {
        match &self.way {
            Way::Node(name, enrolment) => Some((name, *enrolment)),
            _ => None,
        }
    }

    /// The name in the certificate of the vouching node, even if it is no valid node name.
    pub(super) fn vouching_name(&self) -> Option<&str> {
        match &self.way {
            Way::Node(name, _) => Some(name),
            _ => None,
        }
    }

    /// The id of the program's token.
    pub(super) fn token(&self) -> Option<&str> {
        match &self.way {
            Way::Token(id) => Some(id),
            _ => None,
        }
    }

    /// Whether the program has a JSON Web Token.
    pub(super) const fn is_jwt(&self) -> bool {
        matches!(self.way, Way::Jwt(_))
    }

    /// The vouching node.
    pub(super) fn vouching_node(&self) -> Option<NodeName> {
        NodeName::new(self.vouching_name()?).ok()
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.way {
            Way::Socket => f.write_str("socket"),
            Way::Node(name, _) => write!(f, "node {name}"),
            Way::Token(id) => write!(f, "token {id}"),
            Way::Jwt(id) => write!(f, "jwt {id}"),
            Way::Anonymous => f.write_str("http"),
            Way::Controller => f.write_str("controller"),
            Way::Stranger(from) => write!(f, "stranger {from}"),
        }
    }
}

impl<S: Sync> FromRequestParts<S> for Origin {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of(&parts.extensions, &parts.headers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(caller: Caller, header: Option<&'static str>) -> Origin {
        let (mut extensions, mut headers) = (Extensions::new(), HeaderMap::new());
        extensions.insert(ConnectInfo(caller));
        headers.extend(header.map(|text| {
            (FORWARDED.parse::<axum::http::HeaderName>().unwrap(), HeaderValue::from_static(text))
        }));
        Origin::of(&extensions, &headers)
    }

    #[test]
    fn the_reported_origin_counts_only_from_a_controller() {
        let node = || Caller::Peer(Role::Node { name: "g-1".to_owned(), enrolment: 1 });
        let local = Caller::Local { uid: 7, gid: 7, pid: None };
        assert_eq!(origin(local, Some("2 node g-9 3")).to_string(), "socket");
        assert_eq!(origin(node(), Some("2 node g-9 3")).to_string(), "node g-1");
        let controller = || Caller::Peer(Role::Controller);
        assert_eq!(origin(controller(), None).to_string(), "controller");
        assert_eq!(origin(controller(), Some("2 nonsense")).to_string(), "controller");
        let forwarded = origin(controller(), Some("2 node g-9 3"));
        assert_eq!(
            (forwarded.to_string().as_str(), forwarded.through.as_deref()),
            ("node g-9", Some("2"))
        );
        assert_eq!(forwarded.vouching_node(), Some(NodeName::new("g-9").unwrap()));
    }

    #[test]
    fn the_header_of_a_forwarded_request_can_be_parsed() {
        let first = origin(Caller::Peer(Role::Node { name: "g-1".to_owned(), enrolment: 1 }), None);
        let mut headers = HeaderMap::new();
        headers.insert(FORWARDED, first.header(ControllerId(3)));
        let next = Origin::from_forwarded_header(&headers).unwrap();
        assert_eq!(
            (next.vouching_node(), next.through.as_deref()),
            (first.vouching_node(), Some("3"))
        );
    }

    #[test]
    fn the_leader_learns_the_token_of_a_forwarded_request() {
        let token = "0123456789ab".to_owned();
        let program = |is_jwt| net::Program {
            uid: 7,
            gid: 7,
            token: token.clone(),
            is_jwt,
            has_roles: false,
        };
        let first = origin(Caller::Program(program(false)), Some("2 socket"));
        assert_eq!(
            (first.token(), first.to_string().as_str()),
            (Some(&*token), "token 0123456789ab")
        );
        let mut headers = HeaderMap::new();
        headers.insert(FORWARDED, first.header(ControllerId(3)));
        assert_eq!(Origin::from_forwarded_header(&headers).unwrap().token(), Some(&*token));
        let first = origin(Caller::Program(program(true)), None);
        headers.insert(FORWARDED, first.header(ControllerId(3)));
        let forwarded = Origin::from_forwarded_header(&headers).unwrap();
        assert!(forwarded.is_jwt() && forwarded.token().is_none(), "{forwarded}");
        assert_eq!(origin(Caller::Anonymous, Some("2 token 0123456789ab")).token(), None);
    }
}
