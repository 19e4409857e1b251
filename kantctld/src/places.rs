//! How many may look at the cluster at once. Never says what they look at.

use std::sync::Arc;
use tokio::sync::Semaphore;

/// Lists made at once; more wait for their turn.
pub const LISTS_MAX: usize = 8;
/// Forecasts made at once: each may take a core for seconds.
const FORECASTS_MAX: usize = 2;

/// The places there are.
#[derive(Debug)]
pub struct Places {
    /// Of those who make lists.
    pub lists: Arc<Semaphore>,
    /// Of those who look ahead.
    pub forecasts: Arc<Semaphore>,
}

impl Default for Places {
    fn default() -> Self {
        let places = |count| Arc::new(Semaphore::new(count));
        Self { lists: places(LISTS_MAX), forecasts: places(FORECASTS_MAX) }
    }
}
