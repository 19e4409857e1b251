//! Transfer of leadership when the leader stops.

use crate::raft::{LogHandle, Status};
use crate::state_machine::StateMachine;
use std::time::Duration;

/// The longest wait for the transfer before this controller stops.
const TRANSFER_LIMIT: Duration = Duration::from_secs(1);
const TRANSFER_PAUSE: Duration = Duration::from_millis(20);

/// Transfers leadership if other voters exist: an election would take a second.
pub(super) async fn transfer_leadership(log: &LogHandle<StateMachine>) {
    let mut status = log.status();
    let leads = |status: &Status| status.leader == Some(status.id);
    let others_vote = status.borrow().members.voters.len() > 1;
    if !others_vote || !leads(&status.borrow()) {
        return;
    }
    let transferred = async {
        // There may be no follower that was active recently.
        while !log.transfer_leadership(None).await {
            tokio::time::sleep(TRANSFER_PAUSE).await;
        }
        // An error means that the log has ended.
        let _ = status.wait_for(|status| status.leader.is_some() && !leads(status)).await;
    };
    match tokio::time::timeout(TRANSFER_LIMIT, transferred).await {
        Ok(()) => tracing::info!("another controller leads"),
        Err(_) => tracing::warn!("no other controller took the lead: one will be elected"),
    }
}
