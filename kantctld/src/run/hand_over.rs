//! A controller that stops gives the lead away. Never waits long: one is elected otherwise.

use crate::machine::StateMachine;
use crate::raft::{LogHandle, Status};
use std::time::Duration;

/// How long the lead may take to change hands before this controller stops.
const HAND_OVER_LIMIT: Duration = Duration::from_secs(1);
const HAND_OVER_PAUSE: Duration = Duration::from_millis(20);

/// While others vote, one of them leads on at once; waiting for an election takes a second.
pub(super) async fn hand_over(log: &LogHandle<StateMachine>) {
    let mut status = log.status();
    let leads = |status: &Status| status.leader == Some(status.id);
    let others_vote = status.borrow().members.voters.len() > 1;
    if !others_vote || !leads(&status.borrow()) {
        return;
    }
    let handed_over = async {
        // Nobody may have been heard just now.
        while !log.transfer(None).await {
            tokio::time::sleep(HAND_OVER_PAUSE).await;
        }
        // An error means that the log has ended.
        let _ = status.wait_for(|status| status.leader.is_some() && !leads(status)).await;
    };
    match tokio::time::timeout(HAND_OVER_LIMIT, handed_over).await {
        Ok(()) => tracing::info!("another controller leads"),
        Err(_) => tracing::warn!("no other controller took the lead: one will be elected"),
    }
}
