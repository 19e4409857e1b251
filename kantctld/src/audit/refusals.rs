//! The refusals of one user beyond a number each minute: counted, and said in one line. Whoever
//! asks for what is refused, again and again, must not push out the lines of others.

use super::{AuditLine, AuditResult};
use common::time::{Span, Time};
use std::collections::BTreeMap;

/// Refusals of one user that have a line of their own each minute.
pub(super) const WRITTEN_MAX: u64 = 120;
const WINDOW: Span = Span::from_seconds(60);
/// Users counted apart. Those beyond are counted together: a node may make numbers up.
const USERS_MAX: usize = 1024;

/// The refusals of the last minute, by user.
#[derive(Default)]
pub(super) struct Refusals(BTreeMap<Option<u32>, Counted>);

struct Counted {
    since: Time,
    last: Time,
    written: u64,
    left_out: u64,
}

impl Refusals {
    /// Has this line a place of its own? Else it is counted.
    pub(super) fn admit(&mut self, line: &AuditLine) -> bool {
        if line.result != AuditResult::Refused {
            return true;
        }
        let has_room = self.0.len() < USERS_MAX || self.0.contains_key(&line.uid);
        let uid = line.uid.filter(|_| has_room);
        let begun = Counted { since: line.at, last: line.at, written: 0, left_out: 0 };
        let counted = self.0.entry(uid).or_insert(begun);
        counted.last = line.at;
        let is_written = counted.written < WRITTEN_MAX;
        *(if is_written { &mut counted.written } else { &mut counted.left_out }) += 1;
        is_written
    }

    /// A line for each user whose minute is over, if some were left out.
    pub(super) fn over(&mut self, now: Time) -> Vec<AuditLine> {
        let mut lines = Vec::new();
        self.0.retain(|uid, counted| {
            let is_over = now >= counted.since + WINDOW;
            if is_over && counted.left_out > 0 {
                let (via, verb) = ("kantctld", "audit/more_refused");
                let line = AuditLine::own(counted.last, via, verb, AuditResult::Refused);
                let detail = format!("{} lines", counted.left_out);
                lines.push(AuditLine { uid: *uid, detail, ..line });
            }
            !is_over
        });
        lines
    }
}
