//! The requests that a service gets, as a router sees them.

use crate::rng::Rng;

/// The time for which the load stays the same, in milliseconds.
const SLOT_MS: u64 = 4_000;
/// The most requests in flight.
const IN_FLIGHT_MAX: u64 = 14;

/// The requests in flight. From `calm_ms` on, when the faults have ended, their number stays.
pub fn requests_in_flight(seed: u64, service: usize, now_ms: u64, calm_ms: Option<u64>) -> u64 {
    in_slot(seed, service, effective(now_ms / SLOT_MS, calm_ms))
}

/// All requests so far. From `calm_ms` on, their rate stays.
pub fn requests(seed: u64, service: usize, now_ms: u64, calm_ms: Option<u64>) -> u64 {
    let in_slot = |slot| in_slot(seed, service, effective(slot, calm_ms));
    let whole: u64 = (0..now_ms / SLOT_MS).map(in_slot).sum();
    whole * (SLOT_MS / 1_000) + in_slot(now_ms / SLOT_MS) * (now_ms % SLOT_MS) / 1_000
}

/// The slot whose load counts: after the faults always the same.
fn effective(slot: u64, calm_ms: Option<u64>) -> u64 {
    let is_calm = calm_ms.is_some_and(|calm_ms| slot * SLOT_MS >= calm_ms);
    if is_calm { u64::MAX >> 8 } else { slot }
}

fn in_slot(seed: u64, service: usize, slot: u64) -> u64 {
    let mut rng = Rng::new(seed, (slot << 8) + service as u64 + 11);
    if rng.percent(25) { 0 } else { rng.below(IN_FLIGHT_MAX + 1) }
}
