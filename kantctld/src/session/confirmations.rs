//! Answers to a node that asks whether this controller leads.

use super::Down;
use crate::core::Core;
use common::wire::node::ToNode;
use std::sync::Arc;
use tokio::task::JoinSet;

/// The answer under way. It ends with the session.
#[derive(Debug, Default)]
pub(super) struct Confirmations(JoinSet<()>);

impl Confirmations {
    /// Answers once a majority confirms it. While an answer is under way, no other begins: the node
    /// asks again.
    pub(super) fn answer(&mut self, core: &Arc<Core>, down: &Down, number: u64) {
        while self.0.try_join_next().is_some() {}
        if !self.0.is_empty() {
            return;
        }
        let (core, down) = (core.clone(), down.clone());
        self.0.spawn(async move {
            if core.confirm_leader().await.is_ok() {
                // Without a session the answer is not needed.
                let _ = down.send(&ToNode::LeaderConfirmed { number }).await;
            }
        });
    }
}
