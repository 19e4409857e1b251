//! How many may ask for what costs much at once, and how many of them one user. Never says what
//! they ask for.

use crate::turns::{Limits, Turns};
use std::sync::Arc;
use std::time::Duration;

/// Lists made at once; more wait for their turn.
pub const LISTS_MAX: u32 = 8;
/// Forecasts made at once: each may take a core for seconds.
const FORECASTS_MAX: u32 = 2;
/// Large requests read and carried out at once, of up to 16 MiB each.
const REQUESTS_MAX: u32 = 16;
/// Lists that lie in memory until their readers have taken them: no new one is made beyond that.
const LISTS_BYTES: u64 = 256 << 20;
/// Shorter than kantctl waits for an answer, so that it hears why there is none.
const PATIENCE: Duration = Duration::from_secs(20);
/// Those of one user who wait.
const LINE: u32 = 256;

/// The places there are.
#[derive(Debug)]
pub struct Places {
    /// Of those who ask for lists.
    pub lists: Arc<Turns>,
    /// Of those who look ahead.
    pub forecasts: Arc<Turns>,
    /// Of those who search for moves: one, and no line before it.
    pub searches: Arc<Turns>,
    /// Of those who send much.
    pub requests: Arc<Turns>,
}

impl Default for Places {
    fn default() -> Self {
        let places = |turns, bytes| {
            Turns::new(Limits {
                turns,
                turns_of_one: turns / 2,
                bytes,
                bytes_of_one: bytes / 4,
                line_of_one: LINE,
                patience: PATIENCE,
            })
        };
        Self {
            lists: places(LISTS_MAX, LISTS_BYTES),
            forecasts: places(FORECASTS_MAX, u64::MAX),
            searches: Turns::new(Limits {
                turns: 1,
                turns_of_one: 1,
                bytes: u64::MAX,
                bytes_of_one: u64::MAX,
                line_of_one: 1,
                patience: Duration::ZERO,
            }),
            requests: places(REQUESTS_MAX, u64::MAX),
        }
    }
}
