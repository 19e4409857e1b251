//! The audit log: one JSON line for each request that changes something, and for each refused one,
//! with time, user, origin, verb, target and result. Requests put lines into a bounded queue, and a
//! thread writes them, so that no request waits for the disk. Lines that cannot be written are
//! counted; `kantctl status` shows the failure, and the file gets the count afterwards.

mod chain;
mod file;
mod refusals;

mod read;
mod writer;

use common::config::ControllerConfig;
use common::sync::{Condvar, Mutex};
use common::time::Time;
use file::AuditFile;
pub use read::read;
use refusals::Refusals;
use serde::Serialize;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::{io, thread};
use writer::Writer;

/// The most queued lines: a few seconds of a busy controller, and a few MiB.
const WAITING_MAX: usize = 16_384;
/// The longest text in a line in bytes, because users choose some of them.
const TEXT_BYTES_MAX: usize = 512;

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditResult {
    Done,
    /// Not carried out; the code gives the reason.
    Refused,
    /// The controller or a node failed.
    Failed,
    /// The client disconnected before the answer; it may have been carried out.
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditLine {
    /// When the request came, by the controller's clock.
    #[serde(serialize_with = "rfc3339")]
    pub at: Time,
    /// None if a daemon acts for itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
    /// The name on this host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// `socket`, `node NAME` or `controller`; `signal` or `kantctld` if there was no request.
    pub via: String,
    /// The controller that forwarded the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub through: Option<String>,
    /// For example `jobs/cancel`.
    pub verb: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub target: String,
    /// Details, for example a reason, a signal or a size.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
    pub result: AuditResult,
    /// The code of a refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

impl AuditLine {
    /// A line for an action of this controller.
    #[must_use]
    pub fn for_own_action(at: Time, via: &str, verb: &str, result: AuditResult) -> Self {
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

    fn truncate_texts(&mut self) {
        for text in [&mut self.via, &mut self.verb, &mut self.target, &mut self.detail] {
            if text.len() > TEXT_BYTES_MAX {
                text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
                text.push_str("...");
            }
        }
    }
}

fn rfc3339<S: serde::Serializer>(at: &Time, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&rfc3339_text(*at))
}

fn rfc3339_text(at: Time) -> String {
    let seconds = at.to_string();
    format!("{}.{:03}Z", seconds.trim_end_matches('Z'), at.0 % 1000)
}

/// The audit log. Cheap to clone; without a file it drops all lines.
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
    /// Lines dropped since the last write.
    lost: u64,
    /// Why the last write failed, if it did.
    trouble: Option<String>,
    stops: bool,
}

impl Queue {
    /// Queues a line. Half of the queue is reserved for actions that were carried out.
    fn push(&mut self, line: AuditLine) {
        let is_refusal = line.result == AuditResult::Refused;
        let room = if is_refusal { WAITING_MAX / 2 } else { WAITING_MAX };
        if self.lines.len() < room {
            self.lines.push_back(line);
        } else {
            self.lost += 1;
        }
    }

    fn push_elapsed(&mut self, now: Time) {
        self.refusals.take_elapsed(now).into_iter().for_each(|line| self.push(line));
    }
}

impl Audit {
    /// Queues a line; does not wait for the disk.
    pub fn note(&self, mut line: AuditLine) {
        let Some(shared) = &self.0 else { return };
        line.truncate_texts();
        let mut queue = shared.queue.lock();
        queue.push_elapsed(line.at);
        if queue.refusals.admit(&line) {
            queue.push(line);
        }
        drop(queue);
        shared.changed.notify_one();
    }

    /// Why lines are missing in the file, if any are.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        let queue = self.0.as_ref()?.queue.lock();
        let why = queue.trouble.as_ref()?;
        Some(format!("{why}; {} lines are queued, {} are lost", queue.lines.len(), queue.lost))
    }
}

/// The writing thread.
pub struct AuditThread {
    audit: Audit,
    thread: Option<JoinHandle<()>>,
}

impl AuditThread {
    /// Writes the queued lines and ends.
    pub fn stop(mut self) {
        if let Some(shared) = &self.audit.0 {
            let mut queue = shared.queue.lock();
            queue.push_elapsed(Time(u64::MAX));
            queue.stops = true;
            drop(queue);
            shared.changed.notify_one();
        }
        // An error is a panic, which has already been printed.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Starts the audit log as configured.
///
/// # Errors
/// If other users may write to the file's directory, it is missing, or no thread can be started.
pub fn start(config: &ControllerConfig) -> io::Result<(Audit, AuditThread)> {
    let Some(path) = audit_path(config) else {
        return Ok((Audit::default(), AuditThread { audit: Audit::default(), thread: None }));
    };
    // A user with write access there could replace the file.
    net::check_trusted("audit_log", path.parent().unwrap_or(&path)).map_err(io::Error::other)?;
    let shared = Arc::new(Shared::default());
    let audit = Audit(Some(shared.clone()));
    let file = AuditFile::new(path, config.audit_log_mib << 20);
    let mut writer = Writer::new(shared, file);
    let thread = thread::Builder::new().name("audit".to_owned()).spawn(move || writer.run())?;
    Ok((audit.clone(), AuditThread { audit, thread: Some(thread) }))
}

/// The path of the file, if configured; a file name is relative to the state directory.
#[must_use]
pub fn audit_path(config: &ControllerConfig) -> Option<PathBuf> {
    let named = Some(&config.audit_log).filter(|name| !name.is_empty())?;
    Some(Path::new(&config.state_dir).join(named))
}

#[cfg(test)]
mod tests;
