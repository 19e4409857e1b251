//! The rate of the clock that an emulated processor has from this host's processor.

use anyhow::{Context, Result};
use std::time::{Duration, Instant};

/// How long the counter is watched. Its rate is then exact to a few parts in a million; the guest's
/// kernel accepts one that is right to 1 %.
const WATCHED: Duration = Duration::from_millis(50);

/// One measurement can be wrong if this process loses its processor between the two readings of a
/// pair; the median of this many is not.
const MEASUREMENTS: usize = 5;

/// The rate of the time stamp counter in kHz. QEMU's emulated processor counts with the host's, so
/// that this is also the guest's rate. Left alone, the guest's kernel measures it with an emulated
/// timer, and on a busy host finds a fifth of the true rate: its clock then runs five times too
/// fast, and every time-out in the guest ends too early.
///
/// # Errors
/// When the counter stands still.
pub fn counter_khz() -> Result<u64> {
    let mut rates: Vec<u64> = (0..MEASUREMENTS).filter_map(|_| measure()).collect();
    rates.sort_unstable();
    rates.get(rates.len() / 2).copied().context("the processor's time stamp counter stands still")
}

fn measure() -> Option<u64> {
    let (begin, from) = (Instant::now(), counter());
    std::thread::sleep(WATCHED);
    let (watched, to) = (begin.elapsed(), counter());
    let ticks = u128::from(to.checked_sub(from)?);
    let khz = ticks * 1_000_000 / watched.as_nanos();
    u64::try_from(khz).ok().filter(|khz| *khz > 0)
}

#[cfg(target_arch = "x86_64")]
fn counter() -> u64 {
    // SAFETY: every x86_64 processor has the instruction, and it reads no memory.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// The machine is not made on other hosts.
#[cfg(not(target_arch = "x86_64"))]
fn counter() -> u64 {
    0
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn two_measurements_agree_to_the_percent_that_a_kernel_accepts() {
        let (one, two) = (counter_khz().unwrap(), counter_khz().unwrap());
        assert!(one.abs_diff(two) * 100 < one, "{one} and {two} kHz");
    }
}
