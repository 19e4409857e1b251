//! Rounds as short texts, and reservations, for the tests of this crate.

use super::name;
use crate::{Decision, Snapshot, schedule};
use common::cpuset::CpuSet;
use common::id::{ReservationName, Uid};
use common::policy::Access;
use common::reservation::Reservation;
use common::resource::Share;
use common::time::Time;

/// What the round at 02:30 starts, and where: `1 a:0-1 b` (GPUs after the colon).
pub(crate) fn placed(snapshot: &Snapshot) -> Vec<String> {
    placed_at(snapshot, Time(9_000_000))
}

/// What a round at that time starts, and where.
pub(crate) fn placed_at(snapshot: &Snapshot, now: Time) -> Vec<String> {
    let round = schedule(snapshot, now);
    let shown = |share: &Share| {
        let gpus: CpuSet = share.gpus.iter().map(|gpu| u32::from(gpu.0)).collect();
        if gpus.is_empty() { share.node.to_string() } else { format!("{}:{gpus}", share.node) }
    };
    let started = round.decisions.iter().filter_map(|decision| match decision {
        Decision::Start { key, allocation, .. } => {
            let shares: Vec<String> = allocation.shares().iter().map(shown).collect();
            Some(format!("{key} {}", shares.join(" ")))
        }
        Decision::Preempt { .. } | Decision::Shrink { .. } | Decision::Grow { .. } => None,
    });
    let mut started: Vec<String> = started.collect();
    started.sort();
    started
}

/// A reservation that all users may use.
pub(crate) fn booking(text: &str, nodes: &[&str], from: Time, to: Time) -> Reservation {
    Reservation {
        name: ReservationName::new(text).unwrap(),
        nodes: nodes.iter().map(|node| name(node)).collect(),
        from,
        to,
        access: Access::default(),
        maintenance: false,
        by: Uid(0),
        comment: String::new(),
    }
}
