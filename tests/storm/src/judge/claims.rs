//! Judge of the ledger once all faults have ended: it must hold exactly the resources that the
//! machines use. A difference may exist for a moment while a change is under way.

use super::Complaint;
use common::id::{AttemptId, NodeName};
use common::resource::Share;
use state::State;
use std::collections::BTreeMap;

/// How long a difference may last, in milliseconds.
const DIFFERENCE_MAX_MS: u64 = 30_000;

/// Differences that exist now, and since when.
#[derive(Debug, Default)]
pub struct ClaimJudge {
    since_ms: BTreeMap<String, u64>,
}

impl ClaimJudge {
    /// Compares the ledger with the steps that are alive. Returns differences that last too long.
    pub fn look<'a>(
        &mut self,
        now_ms: u64,
        state: &State,
        living: impl Iterator<Item = (&'a NodeName, AttemptId, &'a Share)>,
    ) -> Vec<Complaint> {
        let living: BTreeMap<(NodeName, AttemptId), &Share> =
            living.map(|(node, id, share)| ((node.clone(), id), share)).collect();
        let mut differences = Vec::new();
        for ((node, id), share) in &living {
            let held = state.ledger().holdings_on(node);
            let held = held.and_then(|held| held.holders().find(|(holder, _)| holder == id));
            match held {
                None => differences.push(format!("{id} lives on {node}, and holds nothing")),
                Some((_, held)) => {
                    let is_same = held.cpus == share.cpus
                        && held.memory == share.memory
                        && held.gpus == share.gpus;
                    if !is_same {
                        differences.push(format!("{id} on {node} has other things than it holds"));
                    }
                }
            }
        }
        for (node, held) in state.ledger().nodes() {
            for (id, _) in held.holders() {
                if !living.contains_key(&(node.clone(), id)) {
                    differences.push(format!("{id} holds something on {node}, and does not live"));
                }
            }
        }
        self.since_ms.retain(|difference, _| differences.contains(difference));
        let mut complaints = Vec::new();
        for difference in differences {
            let since = *self.since_ms.entry(difference.clone()).or_insert(now_ms);
            if now_ms > since + DIFFERENCE_MAX_MS {
                complaints.push(Complaint::new("ledger", difference));
            }
        }
        complaints
    }
}
