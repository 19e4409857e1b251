//! The stages from ready to the last process: start of the tasks, their supervision, and their end
//! by SIGTERM and a grace period. Killing is done in `clean`.

use super::exit_notice::ExitNotice;
use super::{DiskSums, EndReason, Stage, Supervisor, Task, log};
use crate::clock;
use crate::step::account::Account;
use crate::step::container::{self, Container, Image};
use crate::step::hook::{Hook, HookState};
use crate::step::journal::Event;
use crate::step::launch_fault::LaunchFault;
use crate::step::prepare::{Preparation, Prepared};
use crate::step::private_dirs::{self, KeptMount};
use crate::step::spec::TaskPlace;
use crate::step::task::{self, StartReport, StepFacts, TaskStart};
use common::job::{EndCause, ExitStatus};
use common::time::Span;
use common::unit::Bytes;
use nix::sys::signal::Signal;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

impl Supervisor {
    pub(super) fn advance_prolog(&mut self) -> Stage {
        if let Some(end) = self.requested_end() {
            return Stage::begin_cleanup(end);
        }
        let prepared = match self.hook.as_ref().map_or(HookState::Succeeded, Hook::state) {
            HookState::Running => return Stage::Prolog,
            HookState::Failed(says) => Err(self.report_hook_failure(says)),
            // Ends processes that it left running.
            HookState::Succeeded => match self.hook.as_ref().map_or(Ok(()), Hook::end) {
                Ok(()) => {
                    self.hook = None;
                    self.prepare()
                }
                Err(error) => Err(self.report_hook_failure(error.to_string())),
            },
        };
        prepared.unwrap_or_else(|fault| Stage::begin_cleanup(EndReason::launch_failed(fault)))
    }

    pub(super) fn advance_preparing(&mut self, mut preparation: Preparation) -> Stage {
        if let Some(end) = self.requested_end() {
            return Stage::begin_cleanup(end);
        }
        match preparation.receive() {
            None => Stage::Preparing(preparation),
            // From here on processes of the job may run, so that it must not be launched again.
            Some(Ok(prepared)) => match self.journal.append(&Event::Ready) {
                Ok(()) => {
                    self.publish(&Event::Ready);
                    Stage::Ready(prepared)
                }
                Err(error) => {
                    let (id, node) = (self.spec.launch.id, &self.spec.node);
                    let why = format!("failed to write the journal of {id} on {node}: {error}");
                    let fault = LaunchFault::of_node_or_exhaustion(&error, why);
                    Stage::begin_cleanup(EndReason::launch_failed(fault))
                }
            },
            Some(Err(fault)) => Stage::begin_cleanup(EndReason::launch_failed(fault)),
        }
    }

    pub(super) fn advance_ready(&mut self, mut prepared: Prepared) -> Stage {
        if let Some(end) = self.requested_end() {
            return Stage::begin_cleanup(end);
        }
        if !self.go {
            return Stage::Ready(prepared);
        }
        self.account = Some(prepared.account.clone());
        match self.enter_private_dirs(&mut prepared).and_then(|()| self.start(&prepared)) {
            Ok(()) => Stage::Starting,
            Err(fault) => self.end_as_failed_launch(fault),
        }
    }

    /// Ends the step as one that never ran.
    fn end_as_failed_launch(&mut self, fault: LaunchFault) -> Stage {
        self.started = None;
        self.failure = None;
        Stage::begin_cleanup(EndReason::launch_failed(fault))
    }

    /// Enters the step's private directories; processes started later inherit them.
    fn enter_private_dirs(&mut self, prepared: &mut Prepared) -> Result<(), LaunchFault> {
        let dirs = &self.spec.rules.private_dirs;
        let (id, node) = (self.spec.launch.id, &self.spec.node);
        let kept = prepared.work_dir.take().map(|(path, dir)| KeptMount::open(path, dir.as_fd()));
        // The user may have removed the directory since.
        let kept = kept.transpose().map_err(|error| {
            let dir = &self.spec.launch.work_dir;
            LaunchFault::unclear(format!(
                "failed to keep working directory {dir} of {id} visible on node {node}: {error}"
            ))
        })?;
        // While the step's directory is visible.
        let image = prepared.image.take().map(|(image, root)| {
            let lower = KeptMount::open(container::lower_dir(&self.dir), root.as_fd());
            lower.map(|lower| (image, lower))
        });
        let memory = Some(self.spec.share.memory).filter(|memory| *memory > Bytes::ZERO);
        let entered = private_dirs::enter(
            dirs,
            &self.dir,
            memory,
            kept.into_iter().collect(),
            image.is_some(),
        );
        self.private = Some(entered.map_err(|error| {
            LaunchFault::of_node_or_exhaustion(
                &error,
                format!(
                    "failed to give {id} private directories (see private_dirs) on node {node}: \
                     {error}"
                ),
            )
        })?);
        self.make_container(&prepared.account, image.transpose())
    }

    /// Makes the container, after the private directories, which are mounted in it. A failure is
    /// the job's: the user's image may be unusable for an overlay.
    fn make_container(
        &mut self,
        account: &Account,
        image: io::Result<Option<(Image, KeptMount)>>,
    ) -> Result<(), LaunchFault> {
        let (spec, dir) = (&self.spec, &self.dir);
        // Added before they are made, so that none is left after an error.
        let mounts = Container::mounts(dir);
        self.private.iter_mut().for_each(|entered| mounts.iter().for_each(|at| entered.add(at)));
        let made = image.and_then(|image| {
            let make = |(image, lower)| Container::make(spec, dir, account, image, &lower);
            image.map(make).transpose()
        });
        self.container = made.map_err(|error| {
            let (id, node) = (self.spec.launch.id, &self.spec.node);
            let what = self.spec.launch.container.as_deref().unwrap_or_default();
            LaunchFault::of_job(format!(
                "failed to make container {what} of {id} on node {node}: {error}"
            ))
        })?;
        Ok(())
    }

    /// Forks the processes of all tasks, which execute the script on their own.
    fn start(&mut self, prepared: &Prepared) -> Result<(), LaunchFault> {
        let id = self.spec.launch.id;
        let failed = |error: &dyn std::fmt::Display| {
            LaunchFault::unclear(format!("failed to start {id}: {error}"))
        };
        let entry_files = self.group.entry_files().map_err(|error| failed(&error))?;
        let start = clock::now();
        self.started = Some((start, Instant::now()));
        self.disks_before = DiskSums::now();
        self.exit_notice = ExitNotice::new(&self.plan, &prepared.files);
        let script = self.dir.script_path();
        let (spec, account, open_files) = (&self.spec, &prepared.account, self.open_files);
        let container = self.container.as_ref();
        let facts = StepFacts { spec, account, script: &script, start, open_files, container };
        for files in &self.plan.tasks {
            let [stdin, stdout, stderr] =
                files.streams.map(|position| prepared.files.get(position).map(AsFd::as_fd));
            let (Some(stdin), Some(stdout), Some(stderr)) = (stdin, stdout, stderr) else {
                return Err(failed(&"a file that was opened did not arrive"));
            };
            let ready = TaskStart::new(&facts, files.task)
                .map_err(|error| LaunchFault::of_job(error.to_string()))?;
            let started = ready
                .spawn([stdin, stdout, stderr], &entry_files)
                .map_err(|error| failed(&error))?;
            let report = Some(File::from(started.report));
            self.tasks.push(Task { place: files.task, pid: started.pid, report, exit: None });
        }
        Ok(())
    }

    pub(super) fn advance_starting(&mut self) -> Stage {
        for task in &mut self.tasks {
            let Some(report) = &mut task.report else { continue };
            match task::read_report(report) {
                StartReport::Pending => {}
                StartReport::Started => task.report = None,
                StartReport::Failed(failure) => {
                    let fault = task::explain(failure, &self.spec, &self.dir.script_path());
                    return self.end_as_failed_launch(fault);
                }
            }
        }
        if self.tasks.iter().any(|task| task.report.is_some()) {
            return match self.reason_to_end() {
                Some(end) => Stage::begin_cleanup(end),
                None => Stage::Starting,
            };
        }
        let since = self.started.map_or_else(clock::now, |(since, _)| since);
        self.announce(&Event::Running { since });
        Stage::Running
    }

    pub(super) fn advance_running(&mut self) -> Stage {
        if !self.tasks.is_empty() && self.all_exited() && !self.shutting_down {
            return Stage::begin_cleanup(EndReason::new(EndCause::Exited, None));
        }
        let Some(end) = self.reason_to_end() else {
            self.apply_suspension();
            self.warn_if_due();
            self.send_resize_signal();
            return Stage::Running;
        };
        let delay = self.spec.launch.replica.as_ref().map_or(Span(0), |one| one.drain_delay);
        let until = Instant::now().checked_add(Duration::from_millis(delay.0));
        match until.filter(|_| end.cause == EndCause::Stopped && !delay.is_zero()) {
            Some(until) => {
                self.resume_processes();
                Stage::Draining { end, until }
            }
            None => self.end_processes(end),
        }
    }

    /// Waits for requests that a replica still answers.
    pub(super) fn advance_draining(&mut self, end: EndReason, until: Instant) -> Stage {
        let is_urgent = self.shutting_down || self.fence_end_reason().is_some();
        if is_urgent || self.all_exited() || Instant::now() >= until {
            return self.end_processes(end);
        }
        Stage::Draining { end, until }
    }

    /// Asks all processes to end.
    fn end_processes(&mut self, end: EndReason) -> Stage {
        self.write_exit_notice(&end);
        self.resume_processes();
        self.find_container_processes();
        // A stopped process handles SIGTERM only after SIGCONT. Many programs take a second SIGTERM
        // as a request to hurry, and at a shutdown systemd has sent one already.
        let signals = [Signal::SIGTERM, Signal::SIGCONT];
        for signal in signals.into_iter().filter(|_| !self.shutting_down) {
            if let Err(error) = self.signal_all(signal) {
                log(&format!("failed to send {signal}: {error}"));
            }
        }
        let kill_at = Instant::now().checked_add(self.kill_grace()).unwrap_or_else(Instant::now);
        Stage::Ending { end, kill_at }
    }

    /// Waits for all processes of the cgroup, not only for the tasks: a shell dies of SIGTERM at
    /// once while the program it started writes a checkpoint.
    pub(super) fn advance_ending(&mut self, end: EndReason, kill_at: Instant) -> Stage {
        let is_empty = self.group.pids().is_ok_and(|pids| pids.is_empty());
        if (is_empty && self.all_exited()) || Instant::now() >= kill_at {
            return Stage::begin_cleanup(end);
        }
        Stage::Ending { end, kill_at }
    }

    /// The end that kantd or the fence requests, or that a shutdown of the machine causes.
    fn requested_end(&self) -> Option<EndReason> {
        if self.shutting_down {
            let message = "the node was shut down while it ran the job";
            return Some(EndReason::new(EndCause::Lost, message.to_owned()));
        }
        let stopped = self.stop.then(|| EndReason::new(EndCause::Stopped, None));
        stopped.or_else(|| self.fence_end_reason())
    }

    /// The reason to end running processes, if there is one.
    fn reason_to_end(&self) -> Option<EndReason> {
        if let Some(end) = self.requested_end() {
            return Some(end);
        }
        if self.time_limit_at().is_some_and(|at| Instant::now() >= at) {
            let limit = self.spec.launch.time_limit.unwrap_or_default();
            let message = format!("reached its time limit of {limit}: ask for more with --time");
            return Some(EndReason::new(EndCause::TimedOut, message));
        }
        if let Some(overuse) = &self.overuse {
            let message = overuse.words(&self.spec.node);
            return Some(EndReason::new(EndCause::OutOfMemory, message));
        }
        if let Some(why) = &self.not_live {
            let message = why.sentence(self.spec.launch.replica.as_deref());
            return Some(EndReason::new(EndCause::NotLive, message));
        }
        // Ranks wait for each other: without one the others would wait until the time limit.
        let (place, exit) = self.failure.filter(|_| self.tasks.len() > 1)?;
        Some(EndReason::new(EndCause::Exited, self.failed_task_message(place, exit)))
    }

    fn failed_task_message(&self, place: TaskPlace, exit: ExitStatus) -> String {
        let (rank, node) = (place.rank, &self.spec.node);
        format!("task {rank} on node {node} ended with {exit}; the other tasks there were ended")
    }
}
