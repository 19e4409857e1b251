//! A limit on audited refusals: beyond a number per user, origin and minute they are counted and
//! reported in one line, so that refused requests of one source do not crowd out other lines.

use super::{AuditLine, AuditResult};
use common::time::{Span, Time};
use std::collections::BTreeMap;

/// The most refusals of one source written each minute.
pub(super) const WRITTEN_MAX: u64 = 120;
const WINDOW: Span = Span::from_seconds(60);
/// The most sources counted separately; further ones are counted together.
const SOURCES_MAX: usize = 1024;

/// The user on a controller's socket, or another origin: a node may make up users.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    User(Option<u32>),
    Origin(String),
    Others,
}

impl Source {
    fn of(line: &AuditLine) -> Self {
        match line.via.as_str() {
            "socket" => Self::User(line.uid),
            via => Self::Origin(via.to_owned()),
        }
    }
}

/// The refusals of the last minute by source.
#[derive(Default)]
pub(super) struct Refusals(BTreeMap<Source, Counted>);

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
        let source = Source::of(line);
        let has_room = self.0.len() < SOURCES_MAX || self.0.contains_key(&source);
        let source = if has_room { source } else { Source::Others };
        let begun = Counted { since: line.at, last: line.at, written: 0, left_out: 0 };
        let counted = self.0.entry(source).or_insert(begun);
        counted.last = line.at;
        let is_written = counted.written < WRITTEN_MAX;
        *(if is_written { &mut counted.written } else { &mut counted.left_out }) += 1;
        is_written
    }

    /// A line for each source whose minute has ended, if refusals were left out.
    pub(super) fn take_elapsed(&mut self, now: Time) -> Vec<AuditLine> {
        let mut lines = Vec::new();
        self.0.retain(|source, counted| {
            let is_over = now >= counted.since + WINDOW;
            if is_over && counted.left_out > 0 {
                let (uid, via) = match source {
                    Source::User(uid) => (*uid, "kantctld"),
                    Source::Origin(via) => (None, via.as_str()),
                    Source::Others => (None, "kantctld"),
                };
                let verb = "audit/more_refused";
                let line = AuditLine::for_own_action(counted.last, via, verb, AuditResult::Refused);
                let detail = format!("{} lines", counted.left_out);
                lines.push(AuditLine { uid, detail, ..line });
            }
            !is_over
        });
        lines
    }
}
