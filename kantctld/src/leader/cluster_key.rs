//! The leader's part in the replacement of the cluster key: the next step begins when all hosts
//! have followed the present one.

use crate::core::Core;
use crate::key_rotation::behind;
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
        let generation = status.generation;
        let action = match &status.rotation {
            None => adopted(core, status.authority.as_deref()),
            Some(_) if behind(core).await.is_empty() => {
                Some(KeyAction::Advance { generation, actor: None })
            }
            Some(_) => None,
        };
        if let Some(action) = action
            && let Err(error) = core.command(Command::RotateKey(action)).await
        {
            tracing::debug!("the next step of the cluster key failed: {error}");
        }
        match status.rotation {
            Some(_) => tokio::time::sleep(PERIOD).await,
            None => core.keys.news.notified().await,
        }
    }
}

/// After `kantctld found-key` the controllers have another key than the log says.
fn adopted(core: &Core, authority: Option<&str>) -> Option<KeyAction> {
    let own = core.keys.held().authorities.fingerprint();
    let is_other = authority.is_some_and(|authority| authority != own);
    is_other.then_some(KeyAction::Adopt { authority: own })
}
