//! The end of a step: everything in its group is killed, the group removed, the end written down,
//! in this order and as often as it takes. Never reports an end before all of that is true.

use super::{Stage, Supervisor, Verdict, log};
use crate::cgroup;
use crate::clock;
use crate::step::control::Line;
use crate::step::hook::{Hook, HookKind, HookState};
use crate::step::journal::Event;
use crate::step::private::{self, Entered};
use common::job::{EndCause, StepEnd, Usage};
use common::wire::node::StepPhase;
use std::io;
use std::time::{Duration, Instant};

/// How long one try may hold up the loop.
const TRY: Duration = Duration::from_millis(500);

/// Between tries: processes that hang in the kernel may do so for minutes.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// Between the last sign of life of a task and its exit status.
const REAP_PAUSE: Duration = Duration::from_millis(2);

/// How long to wait for the child that prepared, once killed. It is in no group and holds nothing;
/// one that hangs in the kernel for longer must not keep a gang from ending.
const PREPARER_PATIENCE: Duration = Duration::from_secs(10);

/// How long the end of a step is kept back because it cannot be written down. A full disk may have
/// room again soon; one that is read-only for longer must not hold the job's other nodes.
const DISK_PATIENCE: Duration = Duration::from_secs(10);

/// A cleaning on its way.
pub struct Cleanup {
    end: Verdict,
    begun: Instant,
    retry_at: Instant,
    /// Read once all is dead, as long as the group is there: OOM kills and usage.
    measured: Option<(u64, Usage)>,
    /// No process, file or group of the job is left, and the epilog was started if there is one.
    is_gone: bool,
    /// How it ended, once that is said.
    judged: Option<StepEnd>,
    /// Since when its end cannot be written down.
    unwritten_since: Option<Instant>,
    /// What was last complained about.
    complaint: String,
}

impl Cleanup {
    /// When to try again.
    pub const fn retry_at(&self) -> Instant {
        self.retry_at
    }
}

impl Stage {
    /// The step ends like this.
    pub(super) fn clean(end: Verdict) -> Self {
        let (begun, complaint) = (Instant::now(), String::new());
        let (measured, judged, unwritten_since) = (None, None, None);
        let (retry_at, is_gone) = (begun, false);
        Self::Cleaning(Cleanup {
            end,
            begun,
            retry_at,
            measured,
            is_gone,
            judged,
            unwritten_since,
            complaint,
        })
    }
}

impl Supervisor {
    pub(super) fn cleaning(&mut self, mut cleanup: Cleanup) -> Stage {
        if Instant::now() < cleanup.retry_at {
            return Stage::Cleaning(cleanup);
        }
        match self.try_clean(&mut cleanup) {
            Ok(true) => Stage::Over,
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

    /// False: a child is dead and its exit status on the way, or the epilog runs.
    fn try_clean(&mut self, cleanup: &mut Cleanup) -> Result<bool, String> {
        if !cleanup.is_gone {
            if !self.clear(cleanup)? {
                return Ok(false);
            }
            cleanup.is_gone = true;
            self.hook = Hook::start(HookKind::Epilog, &self.order, &self.dir)
                .unwrap_or_else(|says| self.epilog_failed(says));
        }
        if !self.epilog()? {
            return Ok(false);
        }
        let (oom_kills, usage) = cleanup.measured.unwrap_or_default();
        let end = cleanup.end.clone();
        let end = cleanup.judged.get_or_insert_with(|| self.judge(end, oom_kills, usage)).clone();
        let event = Event::Ended(Box::new(end));
        let is_told = matches!(self.phase, StepPhase::Ended(_));
        if let Err(error) = self.journal.append(&event) {
            let begun = *cleanup.unwritten_since.get_or_insert_with(Instant::now);
            if !is_told && begun.elapsed() >= DISK_PATIENCE {
                self.tell_end(&event);
            }
            return Err(format!("failed to write the journal: {error}"));
        }
        if !is_told {
            self.tell_end(&event);
        }
        // The socket leads nowhere from here on; the journal has it all.
        let _ = std::fs::remove_file(self.dir.control());
        Ok(true)
    }

    /// All that ran is gone, whether or not it could be written down. A kantd that hears it and is
    /// started again before it was finds a supervisor that still says so.
    fn tell_end(&mut self, event: &Event) {
        self.phase = event.phase();
        self.control.push(&Line::Phase(self.phase.clone()));
    }

    /// Is the epilog over? Whatever became of it is no word on the job.
    fn epilog(&mut self) -> Result<bool, String> {
        let Some(hook) = &self.hook else { return Ok(true) };
        let state = hook.state();
        if matches!(state, HookState::Runs) {
            return Ok(false);
        }
        hook.end().map_err(|error| error.to_string())?;
        self.hook = None;
        if let HookState::Failed(says) = state {
            self.epilog_failed(says);
        }
        Ok(true)
    }

    fn epilog_failed(&self, says: String) -> Option<Hook> {
        log(&self.hook_failed(says).message);
        None
    }

    /// Removes all of the job, and what is left of its prolog. False: not all is dead yet.
    fn clear(&mut self, cleanup: &mut Cleanup) -> Result<bool, String> {
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
        // Before the group: what is in a tmpfs is the group's memory. Before the journal: what is
        // on the disk may be all the room there is.
        self.private.iter_mut().for_each(Entered::leave);
        match private::remove(&self.dir) {
            // Nothing can be removed from such a disk, and nobody is served by waiting for it.
            Err(error) if error.kind() == io::ErrorKind::ReadOnlyFilesystem => {}
            Err(error) => {
                let shown = self.dir.private();
                return Err(format!("failed to remove {}: {error}", shown.display()));
            }
            Ok(()) => {}
        }
        cgroup::remove(group, TRY).map_err(|error| error.to_string())?;
        Ok(true)
    }

    fn judge(&self, end: Verdict, oom_kills: u64, usage: Usage) -> StepEnd {
        let exit = match end.cause {
            EndCause::LaunchFailed | EndCause::NodeFault => None,
            _ => self.failure.map(|(_, exit)| exit),
        };
        let Verdict { mut cause, mut message } = end;
        if cause == EndCause::Exited && exit.is_some() && oom_kills > 0 {
            cause = EndCause::OutOfMemory;
            message = Some(format!(
                "exceeded its memory limit of {} on node {}, and the kernel killed it: ask for \
                 more with --mem",
                self.order.share.memory, self.order.node
            ));
        }
        StepEnd {
            cause,
            exit: exit.unwrap_or_default(),
            started_at: self.started.map(|(at, _)| at),
            ended_at: clock::now(),
            usage,
            message,
            // The keeper knows the book.
            steps: Vec::new(),
        }
    }
}
