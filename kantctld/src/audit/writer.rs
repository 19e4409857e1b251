//! The thread of the audit log: takes lines from the queue, looks up their users' names, and
//! appends them. Never in anyone's way: it alone waits for the disk and for the user database.

use super::file::AuditFile;
use super::{AuditLine, AuditResult, Queue, Shared, WAITING_MAX};
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// Lines written at once.
pub(super) const BATCH: usize = 1024;
/// After a failure the disk is tried again this often.
const RETRY: Duration = Duration::from_secs(1);
/// While it goes on, a failure is logged this often.
const COMPLAINT: Duration = Duration::from_secs(600);
/// A user's name is looked up again after this time.
const NAMES_LAST: Duration = Duration::from_secs(300);

pub(super) struct Writer {
    shared: Arc<Shared>,
    file: AuditFile,
    names: BTreeMap<u32, (Instant, String)>,
    complained: Option<Instant>,
}

impl Writer {
    pub(super) fn new(shared: Arc<Shared>, file: AuditFile) -> Self {
        Self { shared, file, names: BTreeMap::new(), complained: None }
    }

    /// Until it is to stop and nothing is left.
    pub(super) fn run(&mut self) {
        let mut batch: Vec<AuditLine> = Vec::new();
        loop {
            let (lost, stops) = self.gather(&mut batch);
            if batch.is_empty() && lost == 0 {
                return;
            }
            match self.file.append(&self.text(&batch, lost)) {
                Ok(()) => {
                    self.note_written(lost);
                    batch.clear();
                }
                Err(error) => {
                    self.note_failed(&error);
                    if stops {
                        return;
                    }
                    self.pause();
                }
            }
        }
    }

    /// Waits for lines; how many were lost before these, and whether none come any more.
    fn gather(&mut self, batch: &mut Vec<AuditLine>) -> (u64, bool) {
        let shared = self.shared.clone();
        let mut queue = shared.lock();
        while batch.is_empty() && queue.lines.is_empty() && queue.lost == 0 && !queue.stops {
            queue = shared.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        let room = BATCH.saturating_sub(batch.len()).min(queue.lines.len());
        batch.extend(queue.lines.drain(..room));
        let (lost, stops) = (queue.lost, queue.stops);
        drop(queue);
        self.look_up(batch);
        (lost, stops)
    }

    /// The user database may be slow: nothing else waits for this thread.
    fn look_up(&mut self, batch: &[AuditLine]) {
        self.names.retain(|_, (at, _)| at.elapsed() < NAMES_LAST);
        for uid in batch.iter().filter_map(|line| line.uid) {
            let found = || (Instant::now(), crate::api::user_name(uid));
            self.names.entry(uid).or_insert_with(found);
        }
    }

    fn text(&self, batch: &[AuditLine], lost: u64) -> String {
        let mut text = String::new();
        for line in batch {
            let name = line.uid.and_then(|uid| self.names.get(&uid)).map(|(_, name)| name.clone());
            let line = AuditLine { user: name, ..line.clone() };
            add(&mut text, &line);
        }
        if lost > 0 {
            let at = batch.last().map_or_else(crate::clock::wall_clock, |line| line.at);
            let line = AuditLine::own(at, "kantctld", "audit/lost", AuditResult::Failed);
            add(&mut text, &AuditLine { detail: format!("{lost} lines"), ..line });
        }
        text
    }

    fn note_written(&mut self, lost: u64) {
        let mut queue = self.shared.lock();
        queue.lost -= lost;
        if queue.trouble.take().is_some() {
            tracing::info!("the audit log is written again; {lost} lines are lost");
        }
        self.complained = None;
    }

    fn note_failed(&mut self, error: &io::Error) {
        let why = format!("failed to write the audit log {}: {error}", self.file.path().display());
        if self.complained.is_none_or(|at| at.elapsed() >= COMPLAINT) {
            self.complained = Some(Instant::now());
            tracing::error!("{why}; up to {WAITING_MAX} lines are kept in memory: make room");
        }
        self.shared.lock().trouble = Some(why);
    }

    /// Until the disk is tried again.
    fn pause(&self) {
        let queue = self.shared.lock();
        // A line that comes in between is no reason to try earlier.
        let until = |queue: &mut Queue| !queue.stops;
        drop(self.shared.changed.wait_timeout_while(queue, RETRY, until));
    }
}

/// Adds a line of ASCII: what a user wrote can neither end it nor change how a terminal shows it.
fn add(text: &mut String, line: &AuditLine) {
    // It holds nothing that JSON cannot say.
    let json = serde_json::to_string(line).unwrap_or_default();
    for c in json.chars() {
        if c.is_ascii() && !c.is_ascii_control() {
            text.push(c);
        } else {
            let mut units = [0; 2];
            let escaped = c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}"));
            text.extend(escaped);
        }
    }
    text.push('\n');
}
