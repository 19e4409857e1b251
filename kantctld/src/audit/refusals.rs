//! A limit on audited refusals: beyond a number per user and minute they are counted and reported
//! in one line, so that one user's refused requests do not crowd out other lines.

use super::{AuditLine, AuditResult};
use common::time::{Span, Time};
use std::collections::BTreeMap;

/// The most refusals of one user written each minute.
pub(super) const WRITTEN_MAX: u64 = 120;
const WINDOW: Span = Span::from_seconds(60);
/// The most users counted separately; further ones are counted together, because a node may make up
/// uids.
const USERS_MAX: usize = 1024;

/// The refusals of the last minute by user.
#[derive(Default)]
pub(super) struct Refusals(BTreeMap<Option<u32>, Counted>);

struct Counted {
    since: Time,
    last: Time,
    written: u64,
    left_out: u64,
}

impl Refusals {
    /// Whether to write this line; if not, it is counted.
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

    /// A line for each user whose minute has ended, if refusals were left out.
    pub(super) fn take_elapsed(&mut self, now: Time) -> Vec<AuditLine> {
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
