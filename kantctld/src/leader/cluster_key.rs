//! The leader's part in the replacement of the cluster key: the next step begins when all hosts
//! have followed the present one.

use crate::core::Core;
use crate::key_rotation::hosts_behind;
use state::Command;
use state::command::KeyAction;
use std::convert::Infallible;
use std::time::Duration;

/// How often the controllers are asked while a replacement is in progress.
const PERIOD: Duration = Duration::from_millis(500);

/// Runs for one term; ends when dropped.
pub async fn run(core: &Core) -> Infallible {
    loop {
        let status = core.state.read().key_status().clone();
        if status.is_settled() {
            core.keys.news.notified().await;
            continue;
        }
        if hosts_behind(core, status.generation).await.is_empty() {
            let action = KeyAction::Advance { generation: status.generation, actor: None };
            if let Err(error) = core.propose_command(Command::RotateKey(action)).await {
                tracing::debug!("the next step of the cluster key failed: {error}");
            }
        }
        tokio::time::sleep(PERIOD).await;
    }
}
