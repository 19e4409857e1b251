//! Controllers in the simulated world: their start, runs and end, and the messages between them.

use super::event::Event;
use super::host::Host;
use super::{World, faults};
use crate::answer::address;
use crate::controller::Process;
use crate::message::{Host as At, Input, Output};
use crate::mutants::Mutant;
use common::id::ControllerId;
use common::wire::peer::PeerReport;
use replica::{Bootstrap, LogError, Member, PeerMessage, StoreError};

/// Time between two ticks of a controller, in milliseconds, as in the daemon.
const TICK_MS: u64 = 100;

impl World {
    /// Adds the first controller, which founds the cluster.
    pub(super) fn found(&mut self) {
        let id = ControllerId(1);
        let (name, address) = ("c1".to_owned(), address(id));
        let member = Member { name, address, becomes_voter: false };
        self.add_host(id, Bootstrap::Found(member));
    }

    pub(super) fn add_host(&mut self, id: ControllerId, bootstrap: Bootstrap) {
        let lies = self.plan.has(Mutant::AckBeforeFsync);
        let host = Host { levels: self.release_in_use(), ..Host::new(bootstrap, lies) };
        self.hosts.insert(id, host);
        self.log.borrow_mut().time.note_wall(self.now_ms, id, 0);
        self.start_soon(id, 1);
    }

    /// Sets a machine's wall clock `skew_ms` milliseconds ahead of the true time.
    pub(super) fn set_wall(&mut self, id: ControllerId, skew_ms: i64) {
        let Some(host) = self.hosts.get_mut(&id).filter(|host| host.skew_ms != skew_ms) else {
            return;
        };
        host.skew_ms = skew_ms;
        self.log.borrow_mut().time.note_wall(self.now_ms, id, skew_ms);
        self.story.add(self.now_ms, || format!("the wall of c{id} is {skew_ms} ms ahead"));
    }

    /// Starts the process after `in_ms` milliseconds, unless it runs, is about to start, or must
    /// not start any more.
    pub(super) fn start_soon(&mut self, id: ControllerId, in_ms: u64) {
        let Some(host) = self.hosts.get_mut(&id) else { return };
        if host.process.is_none() && !host.is_starting && !host.is_broken && !host.is_gone {
            host.is_starting = true;
            self.agenda.add(self.now_ms + in_ms, Event::Start(id));
        }
    }

    pub(super) fn start_controller(&mut self, id: ControllerId) {
        let Some(host) = self.hosts.get_mut(&id) else { return };
        host.is_starting = false;
        if host.process.is_some() || host.is_gone || host.is_broken {
            return;
        }
        host.life += 1;
        let life = host.life;
        self.log.borrow_mut().time.note_start(self.now_ms, id, host.skew_ms);
        let (disk, levels) = (host.disk.clone(), host.levels);
        let at_start = (levels, host.clocks(self.now_ms));
        let started = Process::start(id, &host.bootstrap, disk, life, at_start, &self.config);
        match started {
            Ok(process) => {
                host.process = Some(process);
                host.inbox.clear();
                host.busy_until_ms = self.now_ms;
                host.run_at_ms = u64::MAX;
                let first_ms = self.rng.below(TICK_MS);
                self.agenda.add(self.now_ms + first_ms, Event::Tick(id, life));
                self.story.add(self.now_ms, || format!("c{id} starts"));
                self.input(id, Input::Wake);
            }
            Err(error) => self.start_failed(id, &error),
        }
    }

    fn start_failed(&mut self, id: ControllerId, error: &LogError) {
        self.story
            .add(self.now_ms, || format!("c{id} does not start: {}", error_with_causes(error)));
        let is_tearing = self.hosts.get(&id).is_some_and(|host| host.is_tearing);
        if is_tearing {
            return self.cut_power(id);
        }
        let is_damaged = matches!(
            error,
            LogError::Store(StoreError::Wal(
                wal::Error::Corrupt { .. } | wal::Error::Incomplete { .. }
            ))
        );
        if let Some(host) = self.hosts.get_mut(&id) {
            host.disk.memory.restart();
        }
        if self.is_too_old(id, error) {
            return self.install_new(id);
        }
        match (is_damaged, self.rotten == Some(id)) {
            (true, true) => self.replace_broken(id),
            (true, false) => {
                let text = format!("c{id} cannot read its log: {}", error_with_causes(error));
                self.complaints.push(crate::judge::Complaint::new("disk", text));
            }
            (false, _) => self.start_soon(id, 1_000),
        }
    }

    /// Delivers an input to a controller. Returns false if its process does not run.
    pub(super) fn input(&mut self, id: ControllerId, input: Input) -> bool {
        let Some(host) = self.hosts.get_mut(&id) else { return false };
        if host.process.is_none() {
            return false;
        }
        host.inbox.push(input);
        let at_ms = host.free_at_ms(self.now_ms);
        self.run_at(id, at_ms);
        true
    }

    fn run_at(&mut self, id: ControllerId, at_ms: u64) {
        let Some(host) = self.hosts.get_mut(&id) else { return };
        if at_ms < host.run_at_ms {
            host.run_at_ms = at_ms;
            self.agenda.add(at_ms, Event::Run(id, at_ms));
        }
    }

    pub(super) fn tick(&mut self, id: ControllerId, life: u64) {
        let Some(host) = self.hosts.get(&id) else { return };
        if host.life != life || host.process.is_none() {
            return;
        }
        self.agenda.add(self.now_ms + TICK_MS, Event::Tick(id, life));
        if !host.inbox.iter().any(|input| matches!(input, Input::Tick)) {
            self.input(id, Input::Tick);
        }
    }

    pub(super) fn run_controller(&mut self, id: ControllerId, at_ms: u64) {
        let Some(host) = self.hosts.get_mut(&id) else { return };
        if host.run_at_ms != at_ms {
            return;
        }
        host.run_at_ms = u64::MAX;
        let free_ms = host.free_at_ms(self.now_ms);
        if free_ms > self.now_ms {
            return self.run_at(id, free_ms);
        }
        let clocks = host.clocks(self.now_ms);
        let syncs = host.disk.sync_count();
        let inputs = std::mem::take(&mut host.inbox);
        let Some(process) = &mut host.process else { return };
        let (outputs, again, result) = process.run(clocks, inputs, &self.config);
        let violations = process.take_violations();
        let has_synced = host.disk.sync_count() > syncs;
        let is_slow = self.now_ms < host.slow_until_ms;
        let took_ms = match (has_synced, is_slow) {
            (false, _) => 0,
            (true, false) => self.rng.below(3),
            (true, true) => self.rng.between(20, 900),
        };
        host.busy_until_ms = self.now_ms + took_ms;
        for violation in violations {
            self.complaints.push(crate::judge::Complaint::new("engine", violation));
        }
        // Outputs from before a failure may have been sent or not.
        let goes_out = result.is_ok() || self.rng.percent(50);
        for output in outputs {
            match output {
                Output::EarlyMessage(message) => self.carry_message(id, message, self.now_ms),
                output if goes_out => self.carry_from(id, output, self.now_ms + took_ms),
                _ => {}
            }
        }
        match result {
            Ok(()) => {
                for input in again {
                    self.input(id, input);
                }
            }
            Err(error) => self.died(id, &error),
        }
    }

    /// Handles a process that ended by itself, usually because its disk failed.
    fn died(&mut self, id: ControllerId, error: &LogError) {
        self.story.add(self.now_ms, || format!("c{id} ends: {}", error_with_causes(error)));
        if matches!(error, LogError::Lost(_)) && self.rotten == Some(id) {
            self.kill_controller(id);
            return self.replace_broken(id);
        }
        if self.is_too_old(id, error) {
            self.kill_controller(id);
            return self.install_new(id);
        }
        let is_expected = matches!(
            error,
            LogError::Store(StoreError::Wal(wal::Error::Io { .. } | wal::Error::Poisoned { .. }))
        );
        if !is_expected {
            let text = format!("c{id} ended: {}", error_with_causes(error));
            self.complaints.push(crate::judge::Complaint::new("process", text));
        }
        if self.hosts.get(&id).is_some_and(|host| host.is_tearing) {
            self.cut_power(id);
        } else {
            self.kill_controller(id);
        }
        let in_ms = self.rng.between(200, 2_000);
        self.start_soon(id, in_ms);
    }

    /// Kills the process as `kill -9` does.
    pub(super) fn kill_controller(&mut self, id: ControllerId) {
        self.drop_process(id, false);
        if let Some(host) = self.hosts.get_mut(&id) {
            host.disk.memory.restart();
        }
    }

    /// Cuts the machine's power: data that was not synced may be lost.
    pub(super) fn cut_power(&mut self, id: ControllerId) {
        self.lose_power(id);
        let in_ms = self.rng.between(300, 3_000);
        self.start_soon(id, in_ms);
    }

    fn lose_power(&mut self, id: ControllerId) {
        self.drop_process(id, true);
        let rng = &mut self.rng;
        if let Some(host) = self.hosts.get_mut(&id) {
            host.disk.memory.crash(&mut |below| rng.place(below));
            host.is_tearing = false;
        }
    }

    fn drop_process(&mut self, id: ControllerId, is_machine: bool) {
        let Some(host) = self.hosts.get_mut(&id) else { return };
        if host.process.take().is_some() {
            self.story.add(self.now_ms, || {
                format!("c{id} {}", if is_machine { "loses power" } else { "is dead" })
            });
        }
        host.inbox.clear();
        host.paused_until_ms = 0;
        self.break_links_of(id, is_machine);
    }

    fn carry_from(&mut self, id: ControllerId, output: Output, at_ms: u64) {
        match output {
            Output::PeerMessage(message) | Output::EarlyMessage(message) => {
                self.carry_message(id, message, at_ms);
            }
            Output::Down(link, message) => self.send_down(link, message, at_ms),
            Output::Close(link) => self.close_down(link, at_ms),
            Output::Reply(ask, reply) => {
                let user = At::User(faults::user_host(ask.work));
                for delay_ms in self.net.carry(self.now_ms, At::Controller(id), user) {
                    self.agenda.add(at_ms + delay_ms, Event::Reply(ask, reply.clone()));
                }
            }
            Output::Changed(result) => {
                self.story.add(self.now_ms, || format!("operator receives {result:?}"));
            }
            Output::Report(report) => self.carry_report(id, report, at_ms),
            Output::RaisesRules(to) => self.judge_rules(id, to),
            Output::Wake(at_ms) => self.run_at(id, at_ms.max(self.now_ms + 1)),
        }
    }

    fn carry_message(&mut self, id: ControllerId, message: PeerMessage, at_ms: u64) {
        let grants_vote = self.votes.look(id, &message.bytes, &mut self.complaints);
        let (from, to) = (At::Controller(id), At::Controller(message.to));
        let delays = self.net.carry(self.now_ms, from, to);
        if delays.is_empty() {
            self.message_lost(id, message.to, message.has_snapshot);
        }
        let large_ms = if message.has_snapshot { self.rng.below(200) } else { 0 };
        for delay_ms in delays {
            let message = Event::PeerMessage {
                from: id,
                to: message.to,
                has_snapshot: message.has_snapshot,
                bytes: message.bytes.clone(),
            };
            self.agenda.add(at_ms + delay_ms + large_ms, message);
        }
        if grants_vote && self.now_ms < self.voters_die_until_ms && self.rng.percent(70) {
            self.agenda.add(at_ms, Event::VoterDies(id));
        }
    }

    /// Stops a controller that has just granted a vote, and starts it again at once.
    pub(super) fn voter_dies(&mut self, id: ControllerId) {
        if self.is_healed {
            return;
        }
        // A vote must be on the disk before it is sent.
        match self.rng.percent(50) {
            true => self.lose_power(id),
            false => self.kill_controller(id),
        }
        let in_ms = self.rng.between(5, 100);
        self.start_soon(id, in_ms);
    }

    /// Sends a controller's report to all other controllers.
    fn carry_report(&mut self, id: ControllerId, report: PeerReport, at_ms: u64) {
        let others: Vec<ControllerId> =
            self.hosts.keys().copied().filter(|other| *other != id).collect();
        for other in others {
            let (from, to) = (At::Controller(id), At::Controller(other));
            for delay_ms in self.net.carry(self.now_ms, from, to) {
                self.agenda.add(at_ms + delay_ms, Event::Report(id, other, report));
            }
        }
    }

    fn message_lost(&mut self, from: ControllerId, to: ControllerId, has_snapshot: bool) {
        if has_snapshot {
            self.input(from, Input::SnapshotCarried(to, false));
        } else if self.rng.percent(30) {
            self.input(from, Input::Unreachable(to));
        }
    }

    pub(super) fn peer_message_arrives(
        &mut self,
        from: ControllerId,
        to: ControllerId,
        has_snapshot: bool,
        bytes: Vec<u8>,
    ) {
        let arrived = self.input(to, Input::PeerMessage(bytes));
        if has_snapshot {
            self.input(from, Input::SnapshotCarried(to, arrived));
        } else if !arrived {
            self.message_lost(from, to, false);
        }
    }
}

/// An error with its causes.
fn error_with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text += &format!(": {cause}");
        source = cause.source();
    }
    text
}
