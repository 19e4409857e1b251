//! The thread of the audit log: takes lines from the queue, looks up user names, and appends to the
//! file. Only this thread waits for the disk and the user database.

use super::chain::Chain;
use super::file::AuditFile;
use super::{AuditLine, AuditResult, Queue, Shared, WAITING_MAX};
use crate::host_names::user_name;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The most lines written at once.
pub(super) const BATCH: usize = 1024;
/// The pause before a failed write is repeated.
const RETRY: Duration = Duration::from_secs(1);
/// How often a lasting failure is logged.
const LOG_PERIOD: Duration = Duration::from_secs(600);
/// How long a user's name is cached.
const NAMES_CACHED_FOR: Duration = Duration::from_secs(300);

pub(super) struct Writer {
    shared: Arc<Shared>,
    file: AuditFile,
    /// At the last line that was written; `None` before the first write.
    chain: Option<Chain>,
    names: BTreeMap<u32, (Instant, String)>,
    logged_at: Option<Instant>,
}

impl Writer {
    pub(super) fn new(shared: Arc<Shared>, file: AuditFile) -> Self {
        Self { shared, file, chain: None, names: BTreeMap::new(), logged_at: None }
    }

    /// Runs until it is stopped and nothing is left to write.
    pub(super) fn run(&mut self) {
        let mut batch: Vec<AuditLine> = Vec::new();
        loop {
            let (lost, stops) = self.gather(&mut batch);
            if batch.is_empty() && lost == 0 {
                return;
            }
            let mut chain = self.chain_at_file_end();
            let text = self.text(&batch, lost, &mut chain);
            match self.file.append(&text) {
                Ok(()) => {
                    self.chain = Some(chain);
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

    /// Waits for lines. Returns how many were dropped before them, and whether the thread is to
    /// stop.
    fn gather(&mut self, batch: &mut Vec<AuditLine>) -> (u64, bool) {
        let shared = self.shared.clone();
        let mut queue = shared.queue.lock();
        while batch.is_empty() && queue.lines.is_empty() && queue.lost == 0 && !queue.stops {
            queue = shared.changed.wait(queue);
        }
        let room = BATCH.saturating_sub(batch.len()).min(queue.lines.len());
        batch.extend(queue.lines.drain(..room));
        let (lost, stops) = (queue.lost, queue.stops);
        drop(queue);
        self.look_up_names(batch);
        (lost, stops)
    }

    /// Looks up user names; this may be slow.
    fn look_up_names(&mut self, batch: &[AuditLine]) {
        self.names.retain(|_, (at, _)| at.elapsed() < NAMES_CACHED_FOR);
        for uid in batch.iter().filter_map(|line| line.uid) {
            let found = || (Instant::now(), user_name(uid));
            self.names.entry(uid).or_insert_with(found);
        }
    }

    /// The chain at the end of the file. It goes on when another program moves the file.
    fn chain_at_file_end(&self) -> Chain {
        // A file that cannot be read cannot be written either.
        let of_file = || Chain::after(&self.file.last_line().unwrap_or_default());
        self.chain.clone().unwrap_or_else(of_file)
    }

    fn text(&self, batch: &[AuditLine], lost: u64, chain: &mut Chain) -> String {
        let mut text = String::new();
        for line in batch {
            let name = line.uid.and_then(|uid| self.names.get(&uid)).map(|(_, name)| name.clone());
            let line = AuditLine { user: name, ..line.clone() };
            append_ascii(&mut text, &line, chain);
        }
        if lost > 0 {
            let at = batch.last().map_or_else(crate::clock::wall_clock, |line| line.at);
            let line = AuditLine::for_own_action(at, "kantctld", "audit/lost", AuditResult::Failed);
            let line = AuditLine { detail: format!("{lost} lines"), ..line };
            append_ascii(&mut text, &line, chain);
        }
        text
    }

    fn note_written(&mut self, lost: u64) {
        let mut queue = self.shared.queue.lock();
        queue.lost -= lost;
        if queue.trouble.take().is_some() {
            tracing::info!("the audit log can be written again; {lost} lines were lost");
        }
        self.logged_at = None;
    }

    fn note_failed(&mut self, error: &io::Error) {
        let why = format!("failed to write the audit log {}: {error}", self.file.path().display());
        if self.logged_at.is_none_or(|at| at.elapsed() >= LOG_PERIOD) {
            self.logged_at = Some(Instant::now());
            tracing::error!("{why}; up to {WAITING_MAX} lines are kept in memory: free some space");
        }
        self.shared.queue.lock().trouble = Some(why);
    }

    /// Waits before the next attempt, unless stopped.
    fn pause(&self) {
        let queue = self.shared.queue.lock();
        // A new line does not shorten the pause.
        let until = |queue: &mut Queue| !queue.stops;
        drop(self.shared.changed.wait_timeout_while(queue, RETRY, until));
    }
}

/// Appends a line in ASCII, so that a user's text can neither end it nor control a terminal.
fn append_ascii(text: &mut String, line: &AuditLine, chain: &mut Chain) {
    // The line always encodes.
    let json = serde_json::to_string(line).unwrap_or_default();
    let mut ascii = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_ascii() && !c.is_ascii_control() {
            ascii.push(c);
        } else {
            let mut units = [0; 2];
            let escaped = c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}"));
            ascii.extend(escaped);
        }
    }
    text.push_str(&chain.seal(&ascii));
    text.push('\n');
}
