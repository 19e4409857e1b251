//! Probes: how a node finds out whether a replica has started, is ready for requests, and is alive.
//!
//! Source: Kubernetes' probes and their defaults (period 10 s, timeout 1 s, 3 failures).

use crate::id::PortName;
use crate::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a probe does. A probe succeeds if it does so within its timeout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProbeAction {
    /// GET of this path; any status from 200 to 399 is a success.
    Http { port: PortName, path: String },
    /// The same with TLS. The certificate is not checked.
    Https { port: PortName, path: String },
    /// A connection.
    Tcp { port: PortName },
    /// A shell command, run as the user inside the replica; exit code 0 is a success.
    Command { line: String },
}

impl ProbeAction {
    /// The port that is probed.
    #[must_use]
    pub const fn port(&self) -> Option<&PortName> {
        match self {
            Self::Http { port, .. } | Self::Https { port, .. } | Self::Tcp { port } => Some(port),
            Self::Command { .. } => None,
        }
    }
}

impl fmt::Display for ProbeAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http { port, path } => write!(f, "GET {path} on port {port}"),
            Self::Https { port, path } => write!(f, "GET {path} with TLS on port {port}"),
            Self::Tcp { port } => write!(f, "connection to port {port}"),
            Self::Command { line } => write!(f, "command {line}"),
        }
    }
}

/// A probe and its timing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Probe {
    pub action: ProbeAction,
    /// From the end of one probe to the next.
    pub period: Span,
    pub timeout: Span,
    /// Failures in a row that count as a failure.
    pub failures: u32,
    /// Successes in a row that count as a success again.
    pub successes: u32,
}

impl Probe {
    pub const PERIOD: Span = Span::from_seconds(10);
    pub const TIMEOUT: Span = Span::from_seconds(1);
    pub const FAILURES: u32 = 3;

    /// A probe with the usual timing.
    #[must_use]
    pub const fn new(action: ProbeAction) -> Self {
        let (period, timeout) = (Self::PERIOD, Self::TIMEOUT);
        Self { action, period, timeout, failures: Self::FAILURES, successes: 1 }
    }
}

/// The probes of a role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Probes {
    /// Until it succeeds, the replica is neither ready nor checked for liveness.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub startup: Option<Probe>,
    /// Only a ready replica gets requests. `None`: a replica is ready once it has started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub readiness: Option<Probe>,
    /// A replica that fails it is ended, and another one takes its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub liveness: Option<Probe>,
    /// How long a replica may take to start, for example to load a model.
    pub startup_max: Span,
}

impl Probes {
    pub const STARTUP_MAX: Span = Span::from_minutes(20);

    /// All probes.
    pub fn all(&self) -> impl Iterator<Item = &Probe> {
        [&self.startup, &self.readiness, &self.liveness].into_iter().flatten()
    }
}

impl Default for Probes {
    fn default() -> Self {
        Self { startup: None, readiness: None, liveness: None, startup_max: Self::STARTUP_MAX }
    }
}
