//! Random numbers of the distributions that generated workloads follow.

use fastrand::Rng;
use std::f64::consts::TAU;

/// An exponentially distributed number with this mean.
pub fn exponential(mean: f64, rng: &mut Rng) -> f64 {
    -mean * (1.0 - rng.f64()).ln()
}

/// A log-normally distributed number with this mean.
pub fn log_normal(mean: f64, sigma: f64, rng: &mut Rng) -> f64 {
    // Box and Muller, 1958.
    let radius = (-2.0 * (1.0 - rng.f64()).ln()).sqrt();
    let normal = radius * (TAU * rng.f64()).cos();
    mean * (sigma * normal - sigma * sigma / 2.0).exp()
}
