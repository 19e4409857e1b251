//! From ready to the last process: starting the tasks, watching them, and ending them by
//! SIGTERM and patience. Never kills; that is `clean`'s.

use super::farewell::Farewell;
use super::{DiskSums, Stage, Supervisor, Task, Verdict, log};
use crate::clock;
use crate::step::account::Account;
use crate::step::container::{self, Container, Image};
use crate::step::fault::LaunchFault;
use crate::step::hook::{Hook, HookState};
use crate::step::journal::Event;
use crate::step::order::TaskPlace;
use crate::step::prepare::{Preparation, Prepared};
use crate::step::private::{self, Kept};
use crate::step::task::{self, StartReport, StepFacts, TaskStart};
use common::job::{EndCause, ExitStatus};
use common::unit::Bytes;
use nix::sys::signal::Signal;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

impl Supervisor {
    pub(super) fn prolog(&mut self) -> Stage {
        if let Some(end) = self.told_to_end() {
            return Stage::clean(end);
        }
        let prepared = match self.hook.as_ref().map_or(HookState::Fine, Hook::state) {
            HookState::Runs => return Stage::Prolog,
            HookState::Failed(says) => Err(self.hook_failed(says)),
            // What it left running ends here.
            HookState::Fine => match self.hook.as_ref().map_or(Ok(()), Hook::end) {
                Ok(()) => {
                    self.hook = None;
                    self.prepare()
                }
                Err(error) => Err(self.hook_failed(error.to_string())),
            },
        };
        prepared.unwrap_or_else(|fault| Stage::clean(Verdict::launch_failed(fault)))
    }

    pub(super) fn preparing(&mut self, mut preparation: Preparation) -> Stage {
        if let Some(end) = self.told_to_end() {
            return Stage::clean(end);
        }
        match preparation.receive() {
            None => Stage::Preparing(preparation),
            // From here on something of it may run, and must never run again.
            Some(Ok(prepared)) => match self.journal.append(&Event::Ready) {
                Ok(()) => {
                    self.say(&Event::Ready);
                    Stage::Ready(prepared)
                }
                Err(error) => {
                    let (id, node) = (self.order.launch.id, &self.order.node);
                    let why = format!("failed to write the journal of {id} on {node}: {error}");
                    let fault = LaunchFault::of_node_or_want(&error, why);
                    Stage::clean(Verdict::launch_failed(fault))
                }
            },
            Some(Err(fault)) => Stage::clean(Verdict::launch_failed(fault)),
        }
    }

    pub(super) fn ready(&mut self, mut prepared: Prepared) -> Stage {
        if let Some(end) = self.told_to_end() {
            return Stage::clean(end);
        }
        if !self.go {
            return Stage::Ready(prepared);
        }
        self.account = Some(prepared.account.clone());
        match self.make_private(&mut prepared).and_then(|()| self.start(&prepared)) {
            Ok(()) => Stage::Starting,
            Err(fault) => self.launch_failed(fault),
        }
    }

    /// Whatever was made of it was never more than half a job.
    fn launch_failed(&mut self, fault: LaunchFault) -> Stage {
        self.started = None;
        self.failure = None;
        Stage::clean(Verdict::launch_failed(fault))
    }

    /// Goes where /tmp and the like are the step's own; all that it starts comes along.
    fn make_private(&mut self, prepared: &mut Prepared) -> Result<(), LaunchFault> {
        let dirs = &self.order.rules.private_dirs;
        let (id, node) = (self.order.launch.id, &self.order.node);
        let kept = prepared.work_dir.take().map(|(path, dir)| Kept::open(path, dir.as_fd()));
        // It is the user's, who may have removed it since.
        let kept = kept.transpose().map_err(|error| {
            let dir = &self.order.launch.work_dir;
            LaunchFault::unclear(format!(
                "failed to keep working directory {dir} of {id} in sight on node {node}: {error}"
            ))
        })?;
        // While it is in sight.
        let image = prepared.image.take().map(|(image, root)| {
            let lower = Kept::open(container::lower(&self.dir), root.as_fd());
            lower.map(|lower| (image, lower))
        });
        let memory = Some(self.order.share.memory).filter(|memory| *memory > Bytes::ZERO);
        let entered =
            private::enter(dirs, &self.dir, memory, kept.into_iter().collect(), image.is_some());
        self.private = Some(entered.map_err(|error| {
            LaunchFault::of_node_or_want(
                &error,
                format!(
                    "failed to give {id} private directories (see private_dirs) on node {node}: \
                     {error}"
                ),
            )
        })?);
        self.make_container(&prepared.account, image.transpose())
    }

    /// After the private directories, which are mounted in it. What a user brings may be what no
    /// overlay can be made of: not the node's fault.
    fn make_container(
        &mut self,
        account: &Account,
        image: io::Result<Option<(Image, Kept)>>,
    ) -> Result<(), LaunchFault> {
        let (order, dir) = (&self.order, &self.dir);
        // Before they are made: whatever fails on the way, none of them may be left.
        let mounts = Container::mounts(dir);
        self.private.iter_mut().for_each(|entered| mounts.iter().for_each(|at| entered.add(at)));
        let made = image.and_then(|image| {
            let make = |(image, lower)| Container::make(order, dir, account, image, &lower);
            image.map(make).transpose()
        });
        self.container = made.map_err(|error| {
            let (id, node) = (self.order.launch.id, &self.order.node);
            let what = self.order.launch.container.as_deref().unwrap_or_default();
            LaunchFault::of_job(format!(
                "failed to make container {what} of {id} on node {node}: {error}"
            ))
        })?;
        Ok(())
    }

    /// Makes the processes of all tasks. They exec on their own.
    fn start(&mut self, prepared: &Prepared) -> Result<(), LaunchFault> {
        let id = self.order.launch.id;
        let failed = |error: &dyn std::fmt::Display| {
            LaunchFault::unclear(format!("failed to start {id}: {error}"))
        };
        let gates = self.group.gates().map_err(|error| failed(&error))?;
        let start = clock::now();
        self.started = Some((start, Instant::now()));
        self.disks_before = DiskSums::now();
        self.farewell = Farewell::of(&self.plan, &prepared.files);
        let script = self.dir.script();
        let (order, account, open_files) = (&self.order, &prepared.account, self.open_files);
        let container = self.container.as_ref();
        let facts = StepFacts { order, account, script: &script, start, open_files, container };
        for files in &self.plan.tasks {
            let [stdin, stdout, stderr] =
                files.streams.map(|position| prepared.files.get(position).map(AsFd::as_fd));
            let (Some(stdin), Some(stdout), Some(stderr)) = (stdin, stdout, stderr) else {
                return Err(failed(&"a file that was opened did not arrive"));
            };
            let ready = TaskStart::new(&facts, files.task)
                .map_err(|error| LaunchFault::of_job(error.to_string()))?;
            let started =
                ready.spawn([stdin, stdout, stderr], &gates).map_err(|error| failed(&error))?;
            let report = Some(File::from(started.report));
            self.tasks.push(Task { place: files.task, pid: started.pid, report, exit: None });
        }
        Ok(())
    }

    pub(super) fn starting(&mut self) -> Stage {
        for task in &mut self.tasks {
            let Some(report) = &mut task.report else { continue };
            match task::read_report(report) {
                StartReport::Pending => {}
                StartReport::Started => task.report = None,
                StartReport::Failed(failure) => {
                    let fault = task::explain(failure, &self.order, &self.dir.script());
                    return self.launch_failed(fault);
                }
            }
        }
        if self.tasks.iter().any(|task| task.report.is_some()) {
            return match self.why_end() {
                Some(end) => Stage::clean(end),
                None => Stage::Starting,
            };
        }
        let since = self.started.map_or_else(clock::now, |(since, _)| since);
        self.announce(&Event::Running { since });
        Stage::Running
    }

    pub(super) fn running(&mut self) -> Stage {
        if !self.tasks.is_empty() && self.all_exited() && !self.down {
            return Stage::clean(Verdict::new(EndCause::Exited, None));
        }
        let Some(end) = self.why_end() else {
            self.follow_stillness();
            self.warn_in_time();
            self.tell_resized();
            return Stage::Running;
        };
        self.say_farewell(&end);
        self.wake();
        self.look_inside();
        // A stopped process would sleep through its SIGTERM. To many programs a second one means
        // to be quick, and when the machine goes down all have been sent one.
        let signals = [Signal::SIGTERM, Signal::SIGCONT];
        for signal in signals.into_iter().filter(|_| !self.down) {
            if let Err(error) = self.signal_all(signal) {
                log(&format!("failed to send {signal}: {error}"));
            }
        }
        let grace = Duration::from_millis(self.order.launch.kill_grace.0);
        let kill_at = Instant::now().checked_add(grace).unwrap_or_else(Instant::now);
        Stage::Ending { end, kill_at }
    }

    /// All of the group may use the grace, not only the tasks: a shell dies of SIGTERM at once
    /// while the program it started writes a checkpoint.
    pub(super) fn ending(&mut self, end: Verdict, kill_at: Instant) -> Stage {
        let is_empty = self.group.pids().is_ok_and(|pids| pids.is_empty());
        if (is_empty && self.all_exited()) || Instant::now() >= kill_at {
            return Stage::clean(end);
        }
        Stage::Ending { end, kill_at }
    }

    /// By kantd, or because the machine goes down.
    fn told_to_end(&self) -> Option<Verdict> {
        if self.down {
            let message = "the node was shut down while it had the job";
            return Some(Verdict::new(EndCause::Lost, message.to_owned()));
        }
        self.stop.then(|| Verdict::new(EndCause::Stopped, None))
    }

    /// Is there a reason to end what still runs?
    fn why_end(&self) -> Option<Verdict> {
        if let Some(end) = self.told_to_end() {
            return Some(end);
        }
        if self.time_is_up_at().is_some_and(|at| Instant::now() >= at) {
            let limit = self.order.launch.time_limit.unwrap_or_default();
            let message = format!("reached its time limit of {limit}: ask for more with --time");
            return Some(Verdict::new(EndCause::TimedOut, message));
        }
        if let Some(overuse) = &self.overuse {
            let message = overuse.words(&self.order.node);
            return Some(Verdict::new(EndCause::OutOfMemory, message));
        }
        // Ranks wait for each other: without one, the others would wait until the time limit.
        let (place, exit) = self.failure.filter(|_| self.tasks.len() > 1)?;
        Some(Verdict::new(EndCause::Exited, self.failed_task(place, exit)))
    }

    fn failed_task(&self, place: TaskPlace, exit: ExitStatus) -> String {
        let (rank, node) = (place.rank, &self.order.node);
        format!("task {rank} on node {node} ended with {exit}; the other tasks there were ended")
    }
}
