//! The ratio of two roles that need each other, prefill and decode: kept within a band after each
//! role's own policy has decided.
//!
//! Source: the need is that of P/D-Serve (arXiv 2408.08147), where throughput depends on the ratio.
//! The rule is ours: a role that has too many for the band gives up those that its load does not
//! need, and only for the rest gets the other role more.

use common::autoscale::{Bounds, Fraction, RatioBand, Replicas};
use serde::{Deserialize, Serialize};

/// One value for each of the two roles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Pair<T> {
    pub prefill: T,
    pub decode: T,
}

/// One of the two roles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Role {
    /// What its own policy wants.
    pub wanted: Replicas,
    /// The replicas that its measured load would keep at their target, in thousandths: 2.5 replicas
    /// for 5 requests in flight at a target of 2.
    pub load: Fraction,
    pub bounds: Bounds,
}

/// The numbers for both roles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Balance {
    pub wanted: Pair<Replicas>,
    /// Whether the band holds. Bounds, and small numbers, may not permit it.
    pub in_band: bool,
}

/// Brings two roles into the band of prefill replicas for each decode replica. Both are zero or
/// none is: a request needs both. The bounds of each role come last.
#[must_use]
pub fn balance_roles(band: &RatioBand, roles: Pair<Role>) -> Balance {
    let Pair { prefill, decode } = roles;
    let mut wanted = Pair { prefill: prefill.wanted, decode: decode.wanted };
    if wanted.prefill.is_zero() && wanted.decode.is_zero() {
        let bounds = (prefill.bounds.min, decode.bounds.min);
        if bounds == (Replicas::ZERO, Replicas::ZERO) {
            return Balance { wanted, in_band: true };
        }
    }
    wanted.prefill = prefill.bounds.clamp(wanted.prefill.max(Replicas::ONE));
    wanted.decode = decode.bounds.clamp(wanted.decode.max(Replicas::ONE));
    let (least, most) = (band.min, band.max);
    // An idle role gets no more for the ratio: both would never go to zero.
    let is_idle = prefill.load.is_zero() && decode.load.is_zero();
    let more = |role: Role, wanted, needed| {
        if is_idle { wanted } else { role.raise_within_bounds(wanted, needed) }
    };
    if is_above(wanted, most) {
        // Too many prefill replicas, or too few decode replicas.
        let permitted = times(wanted.decode, most);
        wanted.prefill = prefill.lower_within_bounds(wanted.prefill, permitted);
        wanted.decode = more(decode, wanted.decode, divided(wanted.prefill, most));
    } else if is_below(wanted, least) {
        let permitted = divided_down(wanted.prefill, least);
        wanted.decode = decode.lower_within_bounds(wanted.decode, permitted);
        wanted.prefill = more(prefill, wanted.prefill, times_up(wanted.decode, least));
    }
    Balance { wanted, in_band: !is_above(wanted, most) && !is_below(wanted, least) }
}

impl Role {
    /// Fewer replicas, as far as the load and the bounds permit.
    fn lower_within_bounds(&self, wanted: Replicas, permitted: Replicas) -> Replicas {
        let loaded = Replicas(u32::try_from(self.load.0.div_ceil(1000)).unwrap_or(u32::MAX));
        let least = permitted.max(loaded).max(self.bounds.min).max(Replicas::ONE);
        wanted.min(least)
    }

    fn raise_within_bounds(&self, wanted: Replicas, needed: Replicas) -> Replicas {
        wanted.max(needed.min(self.bounds.max))
    }
}

/// The numbers of a ratio in thousandths, to be compared without a division.
fn scaled(replicas: Replicas, factor: u64) -> u64 {
    u64::from(replicas.0).saturating_mul(factor)
}

fn is_above(wanted: Pair<Replicas>, most: Fraction) -> bool {
    scaled(wanted.prefill, 1000) > scaled(wanted.decode, most.0)
}

fn is_below(wanted: Pair<Replicas>, least: Fraction) -> bool {
    scaled(wanted.prefill, 1000) < scaled(wanted.decode, least.0)
}

fn saturating_replicas(number: u64) -> Replicas {
    Replicas(u32::try_from(number).unwrap_or(u32::MAX))
}

fn times(number: Replicas, factor: Fraction) -> Replicas {
    saturating_replicas(scaled(number, factor.0) / 1000)
}

fn times_up(number: Replicas, factor: Fraction) -> Replicas {
    saturating_replicas(scaled(number, factor.0).div_ceil(1000))
}

/// Rounded up. The largest number for a factor of zero.
fn divided(number: Replicas, factor: Fraction) -> Replicas {
    let quotient = scaled(number, 1000).checked_next_multiple_of(factor.0);
    saturating_replicas(
        quotient.and_then(|product| product.checked_div(factor.0)).unwrap_or(u64::MAX),
    )
}

/// Rounded down. The largest number for a factor of zero.
fn divided_down(number: Replicas, factor: Fraction) -> Replicas {
    saturating_replicas(scaled(number, 1000).checked_div(factor.0).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn role(wanted: u32, load: u64) -> Role {
        let bounds = Bounds { min: Replicas(0), max: Replicas(20) };
        Role { wanted: Replicas(wanted), load: Fraction(load), bounds }
    }

    fn balance(prefill: Role, decode: Role) -> (u32, u32, bool) {
        // One prefill replica for 1 to 4 decode replicas.
        let band = RatioBand { min: Fraction(250), max: Fraction::WHOLE };
        let Balance { wanted, in_band } = balance_roles(&band, Pair { prefill, decode });
        (wanted.prefill.0, wanted.decode.0, in_band)
    }

    #[test]
    fn a_ratio_within_the_band_stays() {
        assert_eq!(balance(role(2, 1500), role(6, 5000)), (2, 6, true));
    }

    #[test]
    fn surplus_that_no_load_needs_is_given_up() {
        assert_eq!(balance(role(6, 2500), role(3, 3000)), (3, 3, true));
        assert_eq!(balance(role(1, 500), role(9, 3500)), (1, 4, true));
    }

    #[test]
    fn surplus_that_the_load_needs_brings_more_of_the_other_role() {
        assert_eq!(balance(role(6, 5500), role(3, 3000)), (6, 6, true));
        assert_eq!(balance(role(6, 4500), role(3, 3000)), (5, 5, true), "a part is given up");
        assert_eq!(balance(role(1, 900), role(9, 9000)), (3, 9, true));
    }

    #[test]
    fn both_go_to_zero_together() {
        assert_eq!(balance(role(0, 0), role(0, 0)), (0, 0, true));
        assert_eq!(balance(role(0, 0), role(1, 0)), (1, 1, true));
        assert_eq!(balance(role(1, 400), role(0, 0)), (1, 1, true));
        let bounds = Bounds { min: Replicas(2), max: Replicas(20) };
        let kept = Role { bounds, ..role(0, 0) };
        assert_eq!(balance(role(0, 0), kept), (1, 2, true), "one role may not go to zero");
    }

    #[test]
    fn idle_roles_are_not_kept_from_zero_by_the_band() {
        // Two decode replicas for each prefill replica.
        let band = RatioBand { min: Fraction(250), max: Fraction(500) };
        let number = |prefill, decode| balance_roles(&band, Pair { prefill, decode }).wanted;
        let idle = Pair { prefill: Replicas(1), decode: Replicas(1) };
        assert_eq!(number(role(0, 0), role(1, 0)), idle);
        let busy = Pair { prefill: Replicas(1), decode: Replicas(2) };
        assert_eq!(number(role(1, 100), role(1, 0)), busy);
    }

    #[test]
    fn bounds_come_last() {
        let bounds = Bounds { min: Replicas(0), max: Replicas(2) };
        let small = Role { bounds, ..role(9, 0) };
        assert_eq!(balance(small, role(15, 15_000)), (2, 15, false));
    }

    proptest! {
        #[test]
        fn bounds_and_the_load_always_hold(
            wanted in (0..30_u32, 0..30_u32),
            load in (0..30_000_u64, 0..30_000_u64),
            band in (0..2000_u64, 1..2000_u64),
            bounds in (0..5_u32, 0..30_u32, 0..5_u32, 0..30_u32),
        ) {
            let band = RatioBand { min: Fraction(band.0), max: Fraction(band.0 + band.1) };
            let role = |wanted: u32, load: u64, min: u32, span: u32| {
                let bounds = Bounds { min: Replicas(min), max: Replicas(min + span + 1) };
                Role { wanted: Replicas(wanted), load: Fraction(load), bounds }
            };
            let prefill = role(wanted.0, load.0, bounds.0, bounds.1);
            let decode = role(wanted.1, load.1, bounds.2, bounds.3);
            let balance = balance_roles(&band, Pair { prefill, decode });
            for (role, number) in
                [(prefill, balance.wanted.prefill), (decode, balance.wanted.decode)]
            {
                prop_assert_eq!(role.bounds.clamp(number), number);
                let loaded = Replicas(role.load.0.div_ceil(1000) as u32);
                prop_assert!(number >= role.bounds.clamp(role.wanted.min(loaded)));
            }
            let is_zero = |number: Replicas| number.is_zero();
            prop_assert_eq!(is_zero(balance.wanted.prefill), is_zero(balance.wanted.decode));
        }
    }
}
