//! The requests that a service gets, as a router sees them.

use crate::rng::Rng;

/// The time for which the load stays the same, in milliseconds.
const SLOT_MS: u64 = 4_000;
/// The most requests in flight.
const IN_FLIGHT_MAX: u64 = 14;

/// The requests in flight. After the faults, which is when `is_calm`, their number stays.
pub fn requests_in_flight(seed: u64, service: usize, now_ms: u64, is_calm: bool) -> u64 {
    let slot = if is_calm { u64::MAX >> 8 } else { now_ms / SLOT_MS };
    in_slot(seed, service, slot)
}

/// All requests so far.
pub fn requests(seed: u64, service: usize, now_ms: u64) -> u64 {
    let whole: u64 = (0..now_ms / SLOT_MS).map(|slot| in_slot(seed, service, slot)).sum();
    whole * (SLOT_MS / 1_000)
        + in_slot(seed, service, now_ms / SLOT_MS) * (now_ms % SLOT_MS) / 1_000
}

fn in_slot(seed: u64, service: usize, slot: u64) -> u64 {
    let mut rng = Rng::new(seed, (slot << 8) + service as u64 + 11);
    if rng.percent(25) { 0 } else { rng.below(IN_FLIGHT_MAX + 1) }
}
