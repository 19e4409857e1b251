//! The leader's part in an upgrade: it raises the rules level when all controllers know a higher
//! one.

use crate::clock::uptime;
use crate::core::Core;
use crate::reload::Reloader;
use state::{Command, LEVELS};
use std::convert::Infallible;
use std::time::Duration;

/// How often the reports of the other controllers are looked at.
const PERIOD: Duration = Duration::from_secs(1);

/// Runs for one term; ends when dropped.
pub async fn run(core: &Core, reloader: &Reloader) -> Infallible {
    loop {
        let in_force = core.state.read().rules_level();
        let limit = reloader.rules_level_max();
        let others: Vec<_> = {
            let standing = core.standing.borrow();
            standing.members.known.keys().copied().filter(|id| *id != standing.id).collect()
        };
        let next = core.peers.levels.lock().next(in_force, LEVELS, others, limit, uptime());
        if let Some(to) = next {
            match core.propose_command(Command::RaiseRules { to }).await {
                Ok(_) => tracing::info!(
                    "all controllers know rules level {to}: it is in force, and no earlier \
                     release can be started again"
                ),
                Err(error) => tracing::debug!("failed to raise the rules level: {error}"),
            }
        }
        tokio::time::sleep(PERIOD).await;
    }
}
