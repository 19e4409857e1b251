//! Arithmetic on amounts in thousandths. Results are cut where an amount has no place for them.

use common::autoscale::{Replicas, THOUSANDTHS_MAX};

/// The quotient of two amounts, rounded up. `None` if the divisor is zero.
pub fn divide_up(dividend: u128, divisor: u128) -> Option<Replicas> {
    let quotient = dividend.checked_next_multiple_of(divisor)? / divisor;
    Some(Replicas(u32::try_from(quotient).unwrap_or(u32::MAX)))
}

/// The product of amounts, at most the largest number.
pub fn product<const N: usize>(factors: [u64; N]) -> u128 {
    factors.into_iter().fold(1, |product: u128, factor| product.saturating_mul(factor.into()))
}

/// An amount of at most [`THOUSANDTHS_MAX`].
pub fn narrow(amount: u128) -> u64 {
    u64::try_from(amount).unwrap_or(u64::MAX).min(THOUSANDTHS_MAX)
}
