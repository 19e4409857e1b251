//! What a replica does on its node, by its revision, and by chance.

use crate::rng::Rng;
use common::id::AttemptId;

/// What the replicas of a revision do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Works,
    NeverReady,
    Crashes,
}

impl Kind {
    /// The script of a revision, from which [`replica_plan`] reads the kind.
    pub(super) fn script(self, number: u32) -> String {
        let word = match self {
            Self::Works => "works",
            Self::NeverReady => "never-ready",
            Self::Crashes => "crashes",
        };
        format!("#!/bin/sh\n{word} {number}\n")
    }

    fn parse(script: &str) -> Self {
        match script.lines().nth(1).and_then(|line| line.split(' ').next()) {
            Some("never-ready") => Self::NeverReady,
            Some("crashes") => Self::Crashes,
            _ => Self::Works,
        }
    }
}

/// What happens to a replica once it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It runs until it is stopped.
    Stays,
    /// It does not answer for this time, in milliseconds.
    Flaps { for_ms: u64 },
    /// Its liveness probe fails.
    NotLive,
    /// It exits with this code.
    Exits(u8),
}

/// The course of an attempt of a replica. Times are in milliseconds after its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplicaPlan {
    /// When it answers; `None`: never.
    pub ready_ms: Option<u64>,
    pub fate: Fate,
    pub fate_ms: u64,
    /// Its fate comes to pass also after the faults.
    pub is_certain: bool,
    /// How long the node takes to notice a change.
    pub probe_ms: u64,
    /// Its prolog hangs until a stop.
    pub is_stuck: bool,
}

/// Whether replicas with this script never answer.
pub fn is_never_ready(script: &str) -> bool {
    Kind::parse(script) == Kind::NeverReady
}

/// The course of an attempt, the same on each call.
pub fn replica_plan(seed: u64, script: &str, id: AttemptId) -> ReplicaPlan {
    let mut rng = Rng::new(seed, (u64::from(id.key.job.0) << 12) + u64::from(id.attempt.0) + 7);
    let kind = Kind::parse(script);
    let fate = match rng.below(100) {
        _ if kind == Kind::Crashes => Fate::Exits(1),
        _ if kind == Kind::NeverReady => Fate::Stays,
        0..20 => Fate::Flaps { for_ms: rng.between(200, 6_000) },
        20..28 => Fate::NotLive,
        28..36 => Fate::Exits(u8::from(rng.percent(50))),
        _ => Fate::Stays,
    };
    let is_certain = kind == Kind::Crashes;
    ReplicaPlan {
        ready_ms: (kind != Kind::NeverReady).then(|| rng.between(100, 2_500)),
        fate,
        fate_ms: if is_certain { rng.between(100, 1_500) } else { rng.between(500, 25_000) },
        is_certain,
        probe_ms: rng.between(10, 700),
        is_stuck: rng.below(1_000) < 2,
    }
}
