//! The end of a step: kill everything in its cgroup, remove the cgroup, run the epilog, record the
//! end; in this order and with retries. The end is reported after all of that.

use super::{EndReason, Stage, Supervisor, log};
use crate::cgroup;
use crate::clock;
use crate::step::control::Update;
use crate::step::hook::{Hook, HookKind, HookState};
use crate::step::journal::Event;
use crate::step::private_dirs::{self, Entered};
use common::job::{EndCause, StepEnd, Usage};
use common::time::Span;
use common::wire::node::StepPhase;
use std::io;
use std::time::{Duration, Instant};

/// The longest time a single attempt blocks the loop.
const TRY: Duration = Duration::from_millis(500);

/// Pause between attempts: processes that hang in the kernel may do so for minutes.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// Pause between the death of a child and the next attempt to reap it.
const REAP_PAUSE: Duration = Duration::from_millis(2);

/// How long to wait for the killed preparing child. It is outside the cgroup and holds no resource;
/// if it hangs in the kernel for longer, the job's other nodes must not wait for it.
const PREPARER_PATIENCE: Duration = Duration::from_secs(10);

/// How long the report of the end is delayed because it cannot be recorded. A full disk may get
/// free space soon; one that is read-only for longer must not delay the job's other nodes.
const DISK_PATIENCE: Duration = Duration::from_secs(10);

/// A cleanup in progress.
pub struct Cleanup {
    end: EndReason,
    begun: Instant,
    retry_at: Instant,
    /// OOM kills and usage, read after all processes are dead and before the cgroup is removed.
    measured: Option<(u64, Usage)>,
    /// No process, file or cgroup of the job is left, and the epilog was started if there is one.
    is_gone: bool,
    /// The step's end, once determined.
    described: Option<StepEnd>,
    /// Since when the end cannot be recorded.
    unwritten_since: Option<Instant>,
    /// The last error that was logged.
    complaint: String,
}

impl Cleanup {
    pub const fn retry_at(&self) -> Instant {
        self.retry_at
    }
}

impl Stage {
    /// Ends the step for this reason.
    pub(super) fn begin_cleanup(end: EndReason) -> Self {
        let (begun, complaint) = (Instant::now(), String::new());
        let (measured, described, unwritten_since) = (None, None, None);
        let (retry_at, is_gone) = (begun, false);
        Self::Cleaning(Cleanup {
            end,
            begun,
            retry_at,
            measured,
            is_gone,
            described,
            unwritten_since,
            complaint,
        })
    }
}

impl Supervisor {
    pub(super) fn advance_cleaning(&mut self, mut cleanup: Cleanup) -> Stage {
        if Instant::now() < cleanup.retry_at {
            return Stage::Cleaning(cleanup);
        }
        match self.try_clean(&mut cleanup) {
            Ok(true) => Stage::Done,
            Ok(false) => {
                cleanup.retry_at = Instant::now() + REAP_PAUSE;
                Stage::Cleaning(cleanup)
            }
            Err(complaint) => {
                if complaint != cleanup.complaint {
                    log(&format!("{complaint}; trying again"));
                }
                cleanup.complaint = complaint;
                cleanup.retry_at = Instant::now() + RETRY_PAUSE;
                Stage::Cleaning(cleanup)
            }
        }
    }

    /// One attempt; false if a dead child is not reaped yet, or the epilog runs.
    fn try_clean(&mut self, cleanup: &mut Cleanup) -> Result<bool, String> {
        if !cleanup.is_gone {
            if !self.remove_job(cleanup)? {
                return Ok(false);
            }
            cleanup.is_gone = true;
            self.hook = Hook::start(HookKind::Epilog, &self.spec, &self.dir)
                .unwrap_or_else(|says| self.report_epilog_failure(says));
        }
        if !self.is_epilog_over()? {
            return Ok(false);
        }
        let (oom_kills, usage) = cleanup.measured.unwrap_or_default();
        let end = cleanup.end.clone();
        let end = cleanup
            .described
            .get_or_insert_with(|| self.describe_end(end, oom_kills, usage))
            .clone();
        let event = Event::Ended(Box::new(end));
        let is_published = matches!(self.phase, StepPhase::Ended(_));
        if let Err(error) = self.journal.append(&event) {
            let begun = *cleanup.unwritten_since.get_or_insert_with(Instant::now);
            if !is_published && begun.elapsed() >= DISK_PATIENCE {
                self.publish_end(&event);
            }
            return Err(format!("failed to write the journal: {error}"));
        }
        if !is_published {
            self.publish_end(&event);
        }
        // The socket is useless from here on; the journal has everything.
        let _ = std::fs::remove_file(self.dir.control_socket_path());
        Ok(true)
    }

    /// Publishes the end, whether it was recorded or not. A kantd that restarts before it is
    /// recorded finds this supervisor, which still reports it.
    fn publish_end(&mut self, event: &Event) {
        self.phase = event.phase();
        self.control.push(&Update::Phase(self.phase.clone()));
    }

    /// Whether the epilog has ended. Its result does not affect the job's.
    fn is_epilog_over(&mut self) -> Result<bool, String> {
        let Some(hook) = &self.hook else { return Ok(true) };
        let state = hook.state();
        if matches!(state, HookState::Running) {
            return Ok(false);
        }
        hook.end().map_err(|error| error.to_string())?;
        self.hook = None;
        if let HookState::Failed(says) = state {
            self.report_epilog_failure(says);
        }
        Ok(true)
    }

    fn report_epilog_failure(&self, says: String) -> Option<Hook> {
        log(&self.report_hook_failure(says).message);
        None
    }

    /// Removes the job's processes and files, and the rest of its prolog; false if not all
    /// processes are dead yet.
    fn remove_job(&mut self, cleanup: &mut Cleanup) -> Result<bool, String> {
        if let Some(prolog) = &self.hook {
            prolog.end().map_err(|error| error.to_string())?;
            self.hook = None;
        }
        cgroup::kill_all(self.group.as_ref(), TRY).map_err(|error| error.to_string())?;
        self.reap();
        let waits = self.preparer.is_some() && cleanup.begun.elapsed() < PREPARER_PATIENCE;
        if !self.all_exited() || waits {
            return Ok(false);
        }
        let group = self.group.as_ref();
        cleanup.measured.get_or_insert_with(|| (group.oom_kills(), self.usage()));
        // Before the cgroup, because a tmpfs is charged to it; and before the journal, because
        // removed files may be the only free space.
        self.private.iter_mut().for_each(Entered::leave);
        match private_dirs::remove(&self.dir) {
            // Nothing can be removed from such a disk, and waiting does not help.
            Err(error) if error.kind() == io::ErrorKind::ReadOnlyFilesystem => {}
            Err(error) => {
                let shown = self.dir.private_dir();
                return Err(format!("failed to remove {}: {error}", shown.display()));
            }
            Ok(()) => {}
        }
        cgroup::remove(group, TRY).map_err(|error| error.to_string())?;
        Ok(true)
    }

    fn describe_end(&self, end: EndReason, oom_kills: u64, usage: Usage) -> StepEnd {
        let exit = match end.cause {
            EndCause::LaunchFailed | EndCause::NodeFault => None,
            _ => self.failure.map(|(_, exit)| exit),
        };
        let EndReason { mut cause, mut message } = end;
        if cause == EndCause::Exited && exit.is_some() && oom_kills > 0 {
            cause = EndCause::OutOfMemory;
            message = Some(format!(
                "exceeded its memory limit of {} on node {}, and the kernel killed it: ask for \
                 more with --mem",
                self.spec.share.memory, self.spec.node
            ));
        }
        StepEnd {
            cause,
            exit: exit.unwrap_or_default(),
            started_at: self.started.map(|(at, _)| at),
            ended_at: clock::now(),
            held: Some(since(self.begun)),
            ran: self.started.map(|(_, at)| since(at)),
            usage,
            message,
            // kantd adds them from the ledger.
            steps: Vec::new(),
        }
    }
}

/// The time since then, by the monotonic clock.
fn since(then: Instant) -> Span {
    Span(u64::try_from(then.elapsed().as_millis()).unwrap_or(u64::MAX))
}
