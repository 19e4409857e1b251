//! Ports for daemons and services. Many clusters run at once in one process: each gets ports of its
//! own, since a port that was found free and released can be taken before its daemon binds it.

use anyhow::Context as _;
use std::net::TcpListener;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

/// Below the ports that the kernel gives to outgoing connections (`ip_local_port_range` in ip(7)).
const LISTENERS: Range<u16> = 10_000..20_000;
const REPLICAS: Range<u16> = 20_000..30_000;
/// More than the replicas of any test on one node.
const REPLICAS_PER_NODE: u16 = 100;

static LISTENERS_GIVEN: AtomicU32 = AtomicU32::new(0);
static NODES_GIVEN: AtomicU32 = AtomicU32::new(0);

/// A port that is free, and that this process gives once in ten thousand times.
///
/// # Errors
/// When there is none.
pub fn free_port() -> anyhow::Result<u16> {
    (0..LISTENERS.len())
        .map(|_| next(&LISTENERS_GIVEN, &LISTENERS, 1))
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .context("no port is free")
}

/// The ports of a node's replicas, as `service_ports` in its configuration.
pub(crate) fn service_ports() -> String {
    let first = next(&NODES_GIVEN, &REPLICAS, REPLICAS_PER_NODE);
    format!("{first}-{}", first + REPLICAS_PER_NODE - 1)
}

/// The first port of the next block. Processes that run at once mostly begin at different ones.
fn next(given: &AtomicU32, range: &Range<u16>, block: u16) -> u16 {
    let blocks = range.len() as u32 / u32::from(block);
    let start = std::process::id().wrapping_mul(617);
    let at = given.fetch_add(1, Ordering::Relaxed).wrapping_add(start) % blocks;
    range.start + at as u16 * block
}
