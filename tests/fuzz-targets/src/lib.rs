//! The functions that the fuzzer in fuzz/ calls with arbitrary bytes. A panic, a hang or unbounded
//! memory is a finding. `tests/corpus.rs` replays the kept inputs in the gate.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is how a target reports a finding")]

mod scratch;

mod files;
mod http;
mod languages;
mod log;
mod wire;

/// A function to call with arbitrary bytes.
pub struct Target {
    pub name: &'static str,
    pub run: fn(&[u8]),
    /// Directories below the root of the repository with further inputs to begin with.
    pub seeds: &'static [&'static str],
}

const fn target(name: &'static str, run: fn(&[u8]), seeds: &'static [&'static str]) -> Target {
    Target { name, run, seeds }
}

const WIRE: &[&str] = &["common/tests/golden/current"];

pub const TARGETS: &[Target] = &[
    target("api_body", wire::api_body, WIRE),
    target("node_message", wire::node_message, WIRE),
    target("peer_message", wire::peer_message, WIRE),
    target("raft_message", log::raft_message, &["kantctld/replica/tests/golden/current"]),
    target("wal_recovery", log::wal_recovery, &["kantctld/wal/tests/golden/current"]),
    target("raft_snapshot", log::raft_snapshot, &["kantctld/replica/tests/golden/current"]),
    target("state_snapshot", log::state_snapshot, &["kantctld/state/tests/golden/current"]),
    target("backup", log::backup, &["kantctld/state/tests/golden/current"]),
    target("directives", languages::directives, &["etc/examples"]),
    target("attribute", languages::attribute, &[]),
    target("hostlist", languages::hostlist, &[]),
    target("time", languages::time, &[]),
    target("http_head", http::head, &[]),
    target("token", http::token, &[]),
    target("invitation", http::invitation, &[]),
    target("jwt", http::jwt, &["common/jwt/tests/fixtures"]),
    target("config", files::config, &["etc"]),
    target("topology", files::topology, &[]),
    target("service_file", files::service_file, &["etc/examples"]),
    target("route_table", files::route_table, &[]),
    target("oci_config", files::oci_config, &[]),
    target("step_journal", files::step_journal, &[]),
    target("engine_metrics", files::engine_metrics, &[]),
    target("trace", files::trace, &[]),
];

/// The target with this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
