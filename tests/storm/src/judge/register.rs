//! Judge of what users changed and read. A job's time limit is a register with concurrent writes
//! and reads. There must be one order of all changes and reads that agrees with real time and in
//! which each read returns the value of the last change before it. The judge does not look at the
//! log.
//!
//! Each try of a change counts separately. A try without an answer may take effect at any later
//! time, or never. A refused try has no effect.
//!
//! Source: J. Wing, C. Gong, "Testing and verifying concurrent objects", 1993.

use super::Complaint;
use crate::message::AskId;
use common::time::Span;
use std::collections::{BTreeMap, BTreeSet};

/// One try of a change, or an answered read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Deed {
    id: AskId,
    limit: Span,
    is_look: bool,
    from_ms: u64,
    /// When it was answered; `None` if it was not.
    to_ms: Option<u64>,
}

/// All changes and reads, by the index of the submission in the plan.
#[derive(Debug, Default)]
pub struct RegisterJudge(BTreeMap<usize, Vec<Deed>>);

impl RegisterJudge {
    /// Records a try of a change.
    pub fn change_asked(&mut self, of: usize, id: AskId, limit: Span, now_ms: u64) {
        let deed = Deed { id, limit, is_look: false, from_ms: now_ms, to_ms: None };
        self.0.entry(of).or_default().push(deed);
    }

    pub fn change_told(&mut self, of: usize, id: AskId, now_ms: u64) {
        let deeds = self.0.get_mut(&of).into_iter().flatten();
        for deed in deeds.filter(|deed| deed.id == id && deed.to_ms.is_none()) {
            deed.to_ms = Some(now_ms);
        }
    }

    /// Removes a try that was refused.
    pub fn change_refused(&mut self, of: usize, id: AskId) {
        if let Some(deeds) = self.0.get_mut(&of) {
            deeds.retain(|deed| deed.id != id || deed.to_ms.is_some());
        }
    }

    /// Records an answered read.
    pub fn looked(&mut self, of: usize, id: AskId, limit: Span, asked_ms: u64, now_ms: u64) {
        let to_ms = Some(now_ms);
        let deed = Deed { id, limit, is_look: true, from_ms: asked_ms, to_ms };
        self.0.entry(of).or_default().push(deed);
    }

    /// All complaints. `submitted` gives the time limit with which each job was submitted.
    pub fn judge(&self, submitted: impl Fn(usize) -> Option<Span>) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        for (of, deeds) in &self.0 {
            let Some(limit) = submitted(*of) else { continue };
            if !Search::new(deeds).finds_order(0, limit) {
                let told: Vec<String> = deeds.iter().map(|deed| deed.to_string()).collect();
                let text = format!(
                    "w{of}, submitted with a limit of {limit}: no order explains {}",
                    told.join("; ")
                );
                complaints.push(Complaint::new("history", text));
            }
        }
        complaints
    }
}

impl std::fmt::Display for Deed {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (verb, work, try_) =
            (if self.is_look { "saw" } else { "set" }, self.id.work, self.id.attempt);
        write!(out, "w{work}.{try_} {verb} {} from {} to ", self.limit, self.from_ms)?;
        match self.to_ms {
            Some(to_ms) => write!(out, "{to_ms}"),
            None => write!(out, "?"),
        }
    }
}

/// At most this number of operations per job is put in order; a history has fewer.
const DEEDS_MAX: usize = 63;

struct Search<'a> {
    deeds: &'a [Deed],
    seen: BTreeSet<(u64, Span)>,
}

impl<'a> Search<'a> {
    fn new(deeds: &'a [Deed]) -> Self {
        Self { deeds: &deeds[..deeds.len().min(DEEDS_MAX)], seen: BTreeSet::new() }
    }

    /// Is there an order of the operations not in `done`, starting from this limit?
    fn finds_order(&mut self, done: u64, limit: Span) -> bool {
        let deeds = self.deeds;
        let left = || deeds.iter().enumerate().filter(|(place, _)| done & (1 << place) == 0);
        // An operation that begins after another has ended comes after it.
        let Some(first_end_ms) = left().filter_map(|(_, deed)| deed.to_ms).min() else {
            return true;
        };
        if !self.seen.insert((done, limit)) {
            return false;
        }
        for (place, deed) in left().filter(|(_, deed)| deed.from_ms <= first_end_ms) {
            let fits = !deed.is_look || deed.limit == limit;
            if fits && self.finds_order(done | 1 << place, deed.limit) {
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT_FIRST: Span = Span(1);

    fn id(work: usize) -> AskId {
        AskId { work, attempt: 1 }
    }

    fn is_fine(judge: &RegisterJudge) -> bool {
        judge.judge(|_| Some(AT_FIRST)).is_empty()
    }

    fn changed(judge: &mut RegisterJudge, limit: u64, from_ms: u64, to_ms: Option<u64>) {
        let id = id(usize::try_from(limit).unwrap());
        judge.change_asked(0, id, Span(limit), from_ms);
        to_ms.into_iter().for_each(|to_ms| judge.change_told(0, id, to_ms));
    }

    fn looked(judge: &mut RegisterJudge, limit: u64, from_ms: u64, to_ms: u64) {
        judge.looked(0, id(100), Span(limit), from_ms, to_ms);
    }

    #[test]
    fn a_look_after_an_acknowledged_change_must_see_it() {
        let mut judge = RegisterJudge::default();
        changed(&mut judge, 5, 10, Some(20));
        looked(&mut judge, 5, 21, 22);
        assert!(is_fine(&judge));
        looked(&mut judge, 1, 23, 24);
        assert!(!is_fine(&judge));
    }

    #[test]
    fn what_happens_at_once_may_be_seen_in_any_order_but_in_one() {
        let mut judge = RegisterJudge::default();
        changed(&mut judge, 5, 10, Some(50));
        changed(&mut judge, 6, 10, Some(50));
        looked(&mut judge, 6, 20, 25);
        looked(&mut judge, 5, 30, 35);
        assert!(is_fine(&judge));
        looked(&mut judge, 6, 40, 45);
        assert!(!is_fine(&judge), "6 was written once");
    }

    #[test]
    fn a_change_without_an_answer_may_come_true_late_or_never_and_a_refused_one_never() {
        let mut judge = RegisterJudge::default();
        changed(&mut judge, 5, 10, None);
        looked(&mut judge, 1, 1_000, 1_001);
        looked(&mut judge, 5, 2_000, 2_001);
        assert!(is_fine(&judge));
        looked(&mut judge, 1, 3_000, 3_001);
        assert!(!is_fine(&judge), "it does not go back");
        let mut judge = RegisterJudge::default();
        changed(&mut judge, 5, 10, None);
        judge.change_refused(0, id(5));
        looked(&mut judge, 5, 20, 21);
        assert!(!is_fine(&judge), "it was refused");
    }
}
