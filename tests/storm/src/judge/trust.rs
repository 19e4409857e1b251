//! Judge of revocations and of new cluster keys: a node whose certificate is revoked is without
//! effect soon, and no step of a new key begins before all nodes have followed the one before.

use super::Complaint;
use common::id::NodeName;
use common::job::EndCause;
use common::time::{Span, Time};
use state::Event;
use state::event::ShareNews;
use std::collections::BTreeMap;

/// The time within which a revocation takes effect, in milliseconds.
const EFFECT_MS: u64 = 5_000;

#[derive(Debug, Default)]
pub struct TrustJudge {
    pub complaints: Vec<Complaint>,
    /// Since when certificates of nodes have been revoked: in milliseconds, and by the stamp.
    revoked: BTreeMap<NodeName, (u64, Time)>,
}

impl TrustJudge {
    /// Handles an event of the log, at its first application, in milliseconds, and with the stamp
    /// of its entry. `held`: the step in which the certificate of each node was issued.
    pub fn read<'a>(
        &mut self,
        (now_ms, stamp): (u64, Time),
        event: &Event,
        mut held: impl Iterator<Item = (&'a NodeName, u32)>,
    ) {
        match event {
            Event::NodeRevoked { name, .. } => {
                self.revoked.entry(name.clone()).or_insert((now_ms, stamp));
            }
            Event::NodeEnrolled { name, .. } => _ = self.revoked.remove(name),
            // The log itself ends the steps of a lost node.
            Event::StepReported { news: ShareNews::Ended(EndCause::Lost, _), .. } => {}
            Event::NodeRegistered { name } | Event::StepReported { node: name, .. } => {
                // What was proposed before may be committed late, under another leader.
                let is_late = |(at_ms, at): &(u64, Time)| {
                    now_ms > at_ms + EFFECT_MS && stamp > *at + Span(EFFECT_MS)
                };
                if self.revoked.get(name).is_some_and(is_late) {
                    let text = format!("{name} takes part although its certificate is revoked");
                    self.complaints.push(Complaint::new("revoked", text));
                }
            }
            Event::KeyStepBegun { generation, by: None } => {
                let is_behind = |(name, held): &(&NodeName, u32)| {
                    !self.revoked.contains_key(*name) && held + 1 < *generation
                };
                if let Some((name, held)) = held.find(is_behind) {
                    let text = format!("step {generation} begins, and {name} is at {held}");
                    self.complaints.push(Complaint::new("key", text));
                }
            }
            _ => {}
        }
    }
}
