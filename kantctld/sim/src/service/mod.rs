//! A service under recorded requests, in virtual time: replicas that start late, a queue for each,
//! and an autoscaling policy that decides by `autoscale`. It answers what a policy costs and how
//! long requests wait under it.
//!
//! The model, and what it leaves out:
//!
//! - A replica works on at most `concurrency` requests at a time, each for the time that the trace
//!   says, however many others there are. Real engines become slower with a larger batch.
//! - A request goes to the ready replica with the fewest requests and waits in its queue, first
//!   come, first served. It does not move to another replica.
//! - Without a ready replica requests are held. While some are, later ones wait behind them, and
//!   they go one by one to replicas with a free place.
//! - A new replica is ready after `start_delay`. GPUs are always free for it.
//! - A replica that is removed finishes its requests first. Its GPUs count until then.

mod fleet;
mod outcome;
mod setup;

mod replay;

mod tune;

pub use outcome::{Outcome, Step};
pub use replay::{Plan, replay};
pub use setup::Setup;
pub use tune::{Goal, TuneError, Tuned, Tuning, least_fixed, tune};
