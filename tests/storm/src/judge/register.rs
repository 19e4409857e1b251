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
struct Operation {
    id: AskId,
    limit: Span,
    is_read: bool,
    from_ms: u64,
    /// When it was answered; `None` if it was not.
    to_ms: Option<u64>,
}

/// All changes and reads, by the index of the submission in the plan.
#[derive(Debug, Default)]
pub struct RegisterJudge(BTreeMap<usize, Vec<Operation>>);

impl RegisterJudge {
    /// Records a try of a change.
    pub fn change_asked(&mut self, of: usize, id: AskId, limit: Span, now_ms: u64) {
        let operation = Operation { id, limit, is_read: false, from_ms: now_ms, to_ms: None };
        self.0.entry(of).or_default().push(operation);
    }

    pub fn change_answered(&mut self, of: usize, id: AskId, now_ms: u64) {
        let operations = self.0.get_mut(&of).into_iter().flatten();
        for operation in
            operations.filter(|operation| operation.id == id && operation.to_ms.is_none())
        {
            operation.to_ms = Some(now_ms);
        }
    }

    /// Removes a try that was refused.
    pub fn change_refused(&mut self, of: usize, id: AskId) {
        if let Some(operations) = self.0.get_mut(&of) {
            operations.retain(|operation| operation.id != id || operation.to_ms.is_some());
        }
    }

    /// Records an answered read.
    pub fn looked(&mut self, of: usize, id: AskId, limit: Span, asked_ms: u64, now_ms: u64) {
        let to_ms = Some(now_ms);
        let operation = Operation { id, limit, is_read: true, from_ms: asked_ms, to_ms };
        self.0.entry(of).or_default().push(operation);
    }

    /// All complaints. `submitted` gives the time limit with which each job was submitted.
    pub fn judge(&self, submitted: impl Fn(usize) -> Option<Span>) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        for (of, operations) in &self.0 {
            let Some(limit) = submitted(*of) else { continue };
            if !Search::new(operations).finds_order(0, limit) {
                let operations: Vec<String> =
                    operations.iter().map(|operation| operation.to_string()).collect();
                let text = format!(
                    "w{of}, submitted with a limit of {limit}: no order explains {}",
                    operations.join("; ")
                );
                complaints.push(Complaint::new("history", text));
            }
        }
        complaints
    }
}

impl std::fmt::Display for Operation {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (verb, work, try_) =
            (if self.is_read { "saw" } else { "set" }, self.id.work, self.id.attempt);
        write!(out, "w{work}.{try_} {verb} {} from {} to ", self.limit, self.from_ms)?;
        match self.to_ms {
            Some(to_ms) => write!(out, "{to_ms}"),
            None => write!(out, "?"),
        }
    }
}

/// At most this number of operations per job is put in order; a history has fewer.
const OPERATIONS_MAX: usize = 63;

struct Search<'a> {
    operations: &'a [Operation],
    seen: BTreeSet<(u64, Span)>,
}

impl<'a> Search<'a> {
    fn new(operations: &'a [Operation]) -> Self {
        Self {
            operations: &operations[..operations.len().min(OPERATIONS_MAX)],
            seen: BTreeSet::new(),
        }
    }

    /// Is there an order of the operations not in `done`, starting from this limit?
    fn finds_order(&mut self, done: u64, limit: Span) -> bool {
        let operations = self.operations;
        let left = || operations.iter().enumerate().filter(|(place, _)| done & (1 << place) == 0);
        // An operation that begins after another has ended comes after it.
        let Some(first_end_ms) = left().filter_map(|(_, operation)| operation.to_ms).min() else {
            return true;
        };
        if !self.seen.insert((done, limit)) {
            return false;
        }
        for (place, operation) in left().filter(|(_, operation)| operation.from_ms <= first_end_ms)
        {
            let fits = !operation.is_read || operation.limit == limit;
            if fits && self.finds_order(done | 1 << place, operation.limit) {
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
        to_ms.into_iter().for_each(|to_ms| judge.change_answered(0, id, to_ms));
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
