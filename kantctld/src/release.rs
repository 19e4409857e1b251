//! What this build is to other hosts: its release, and the versions of protocols that it speaks.

use common::wire::Protocols;
use common::wire::node::{NODE_PROTOCOL, NODE_PROTOCOLS};
use common::wire::peer::{PEER_PROTOCOL, PEER_PROTOCOLS};

/// The release after this one, as far as the test of a rolling upgrade needs it.
const IS_NEXT: bool = cfg!(feature = "next-rules");

pub const RELEASE: &str = if IS_NEXT { "999.0.0" } else { env!("CARGO_PKG_VERSION") };

/// The versions of the protocol between controllers.
pub const WITH_PEERS: Protocols =
    if IS_NEXT { Protocols::with_previous(PEER_PROTOCOL + 1) } else { PEER_PROTOCOLS };

/// The versions of the protocol between controllers and nodes.
pub const WITH_NODES: Protocols =
    if IS_NEXT { Protocols::with_previous(NODE_PROTOCOL + 1) } else { NODE_PROTOCOLS };
