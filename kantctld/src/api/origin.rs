//! By which way a request came: the controller's own socket, a node that vouched for its user, or
//! another controller, which says the same of what it passes on. Never decides what it may do.

use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, HeaderValue};
use common::id::{ControllerId, NodeName};
use net::{Caller, Role};
use std::convert::Infallible;
use std::fmt;

/// Says that a controller passed this request on, which, and the way by which it came there.
pub(super) const PASSED_ON: &str = "x-kant-passed-on";

/// By which way a request came.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Origin {
    way: Way,
    /// The controller that passed it on.
    pub(super) through: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
enum Way {
    /// A controller's local socket.
    #[default]
    Socket,
    Node(String),
    Controller,
}

impl Origin {
    /// By what the listener has proved, and what a controller says of what it passes on.
    pub(super) fn of(extensions: &Extensions, headers: &HeaderMap) -> Self {
        let caller = extensions.get::<ConnectInfo<Caller>>().map(|ConnectInfo(caller)| caller);
        let way = match caller {
            Some(Caller::Peer(Role::Node(name))) => Way::Node(name.clone()),
            Some(Caller::Peer(Role::Controller)) => {
                return Self::passed_on(headers)
                    .unwrap_or(Self { way: Way::Controller, through: None });
            }
            Some(Caller::Local { .. }) | None => Way::Socket,
        };
        Self { way, through: None }
    }

    fn passed_on(headers: &HeaderMap) -> Option<Self> {
        let (through, way) = headers.get(PASSED_ON)?.to_str().ok()?.split_once(' ')?;
        let way = match (way, way.strip_prefix("node ")) {
            ("socket", _) => Way::Socket,
            (_, Some(name)) => Way::Node(name.to_owned()),
            _ => return None,
        };
        Some(Self { way, through: Some(through.to_owned()) })
    }

    /// What a controller says of a request that it passes on.
    pub(super) fn header(&self, by: ControllerId) -> HeaderValue {
        // A node's name in a certificate has letters, digits and dots; one that has not is a
        // node's all the same.
        let unnamed = HeaderValue::from_static("? node ?");
        HeaderValue::from_str(&format!("{by} {self}")).unwrap_or(unnamed)
    }

    /// What the node that vouches for the user calls itself, also where that is no node's name.
    pub(super) fn voucher(&self) -> Option<&str> {
        match &self.way {
            Way::Node(name) => Some(name),
            Way::Socket | Way::Controller => None,
        }
    }

    /// The node that vouches for the user.
    pub(super) fn node(&self) -> Option<NodeName> {
        NodeName::new(self.voucher()?).ok()
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.way {
            Way::Socket => f.write_str("socket"),
            Way::Node(name) => write!(f, "node {name}"),
            Way::Controller => f.write_str("controller"),
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
            (PASSED_ON.parse::<axum::http::HeaderName>().unwrap(), HeaderValue::from_static(text))
        }));
        Origin::of(&extensions, &headers)
    }

    #[test]
    fn only_a_controller_is_believed_where_a_request_came_from() {
        let node = || Caller::Peer(Role::Node("g-1".to_owned()));
        let local = Caller::Local { uid: 7, gid: 7, pid: None };
        assert_eq!(origin(local, Some("2 node g-9")).to_string(), "socket");
        assert_eq!(origin(node(), Some("2 node g-9")).to_string(), "node g-1");
        let controller = || Caller::Peer(Role::Controller);
        assert_eq!(origin(controller(), None).to_string(), "controller");
        assert_eq!(origin(controller(), Some("2 nonsense")).to_string(), "controller");
        let passed_on = origin(controller(), Some("2 node g-9"));
        assert_eq!(
            (passed_on.to_string().as_str(), passed_on.through.as_deref()),
            ("node g-9", Some("2"))
        );
        assert_eq!(passed_on.node(), Some(NodeName::new("g-9").unwrap()));
    }

    #[test]
    fn what_is_passed_on_is_understood_by_the_next() {
        let first = origin(Caller::Peer(Role::Node("g-1".to_owned())), None);
        let mut headers = HeaderMap::new();
        headers.insert(PASSED_ON, first.header(ControllerId(3)));
        let next = Origin::passed_on(&headers).unwrap();
        assert_eq!((next.node(), next.through.as_deref()), (first.node(), Some("3")));
    }
}
