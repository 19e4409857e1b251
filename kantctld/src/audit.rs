//! The audit log: one line of JSON for each request that changes something and each refusal of one:
//! when, which user, by which way, what, on what, with what result. A queue with a bound and a
//! thread that writes: a request never waits for the disk, and what cannot be written is counted,
//! shown by `kantctl status` and said in the file once it can be.

mod file;
mod refusals;
mod writer;

use common::config::ControllerConfig;
use common::time::Time;
use file::AuditFile;
use refusals::Refusals;
use serde::Serialize;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::{io, thread};
use writer::Writer;

/// Lines that wait to be written: some seconds of a busy controller, and a few MiB.
const WAITING_MAX: usize = 16_384;
/// The longest text in a line, in bytes: a user chooses some of them.
const TEXT_BYTES_MAX: usize = 512;

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditResult {
    /// It was carried out.
    Done,
    /// It was not: the code says why.
    Refused,
    /// The controller or a node could not.
    Failed,
    /// The client left before there was an answer: it may have been carried out.
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditLine {
    /// When it was asked, by the controller's clock.
    #[serde(serialize_with = "rfc3339")]
    pub at: Time,
    /// The user; none where a daemon asks for itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
    /// The user's name as this host knows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// `socket`, `node NAME`, `controller`; `signal` or `kantctld` of what is no request.
    pub via: String,
    /// The controller that passed the request on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub through: Option<String>,
    /// What was asked: `jobs/cancel`.
    pub verb: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub target: String,
    /// What else is known of it: a reason, a signal, a size.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
    pub result: AuditResult,
    /// The stable word of a refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

impl AuditLine {
    /// What this controller does itself.
    #[must_use]
    pub fn own(at: Time, via: &str, verb: &str, result: AuditResult) -> Self {
        Self {
            at,
            uid: Some(nix::unistd::geteuid().as_raw()),
            user: None,
            via: via.to_owned(),
            through: None,
            verb: verb.to_owned(),
            target: String::new(),
            detail: String::new(),
            result,
            code: None,
        }
    }

    fn bound(&mut self) {
        for text in [&mut self.via, &mut self.verb, &mut self.target, &mut self.detail] {
            if text.len() > TEXT_BYTES_MAX {
                text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
                text.push_str("...");
            }
        }
    }
}

fn rfc3339<S: serde::Serializer>(at: &Time, to: S) -> Result<S::Ok, S::Error> {
    let seconds = at.to_string();
    to.collect_str(&format_args!("{}.{:03}Z", seconds.trim_end_matches('Z'), at.0 % 1000))
}

/// Where lines go. Cheap to clone; without a file they go nowhere.
#[derive(Clone, Default)]
pub struct Audit(Option<Arc<Shared>>);

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    lines: VecDeque<AuditLine>,
    refusals: Refusals,
    /// Lines that found no room since the last that was written.
    lost: u64,
    /// Why nothing can be written, while that is so.
    trouble: Option<String>,
    stops: bool,
}

impl Queue {
    /// Takes a line. The second half of the room is kept for what was carried out.
    fn push(&mut self, line: AuditLine) {
        let is_refusal = line.result == AuditResult::Refused;
        let room = if is_refusal { WAITING_MAX / 2 } else { WAITING_MAX };
        if self.lines.len() < room {
            self.lines.push_back(line);
        } else {
            self.lost += 1;
        }
    }

    fn push_over(&mut self, now: Time) {
        self.refusals.over(now).into_iter().for_each(|line| self.push(line));
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Audit {
    /// Takes a line, to be written soon. Never waits for the disk.
    pub fn note(&self, mut line: AuditLine) {
        let Some(shared) = &self.0 else { return };
        line.bound();
        let mut queue = shared.lock();
        queue.push_over(line.at);
        if queue.refusals.admit(&line) {
            queue.push(line);
        }
        drop(queue);
        shared.changed.notify_one();
    }

    /// Why the file lacks lines, if it does.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        let queue = self.0.as_ref()?.lock();
        let why = queue.trouble.as_ref()?;
        Some(format!("{why}; {} lines wait, {} are lost", queue.lines.len(), queue.lost))
    }
}

/// The thread that writes.
pub struct AuditKeeper {
    audit: Audit,
    thread: Option<JoinHandle<()>>,
}

impl AuditKeeper {
    /// Writes what waits, and ends.
    pub fn stop(mut self) {
        if let Some(shared) = &self.audit.0 {
            let mut queue = shared.lock();
            queue.push_over(Time(u64::MAX));
            queue.stops = true;
            drop(queue);
            shared.changed.notify_one();
        }
        // An error is a panic, of which it tells itself.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Begins the audit log as configured.
///
/// # Errors
/// When others may write the file's directory, it is not there, or there is no thread to be had.
pub fn start(config: &ControllerConfig) -> io::Result<(Audit, AuditKeeper)> {
    let Some(path) = path(config) else {
        return Ok((Audit::default(), AuditKeeper { audit: Audit::default(), thread: None }));
    };
    // Who may write there could put another file in this one's place.
    net::check_trusted("audit_log", path.parent().unwrap_or(&path)).map_err(io::Error::other)?;
    let shared = Arc::new(Shared::default());
    let audit = Audit(Some(shared.clone()));
    let file = AuditFile::new(path, config.audit_log_mib << 20);
    let mut writer = Writer::new(shared, file);
    let thread = thread::Builder::new().name("audit".to_owned()).spawn(move || writer.run())?;
    Ok((audit.clone(), AuditKeeper { audit, thread: Some(thread) }))
}

/// The file, if there is to be one; a plain name is one in the state directory.
fn path(config: &ControllerConfig) -> Option<PathBuf> {
    let named = Some(&config.audit_log).filter(|name| !name.is_empty())?;
    Some(Path::new(&config.state_dir).join(named))
}

#[cfg(test)]
mod tests;
