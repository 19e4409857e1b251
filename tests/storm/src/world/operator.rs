//! The operator of the simulated world. It adds and removes controllers and replaces one whose disk
//! is damaged, as the page on high availability prescribes. When all faults have ended, it releases
//! held jobs, resumes suspended jobs and resumes drained nodes.

use super::World;
use super::event::Event;
use crate::message::{Input, Ticket};
use crate::mutants::Mutant;
use common::id::{ControllerId, Uid};
use common::job::Phase;
use replica::{Bootstrap, Change, Member, Members};
use state::{Actor, Command, Target};

/// Time between two actions of the operator, in milliseconds.
const LOOK_MS: u64 = 400;

/// A change of the members, which takes several actions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Task {
    /// Adds a voter with this address.
    Add(String),
    Remove(ControllerId),
}

impl World {
    /// A task that adds a controller on a new machine.
    pub(super) fn new_member(&mut self) -> Task {
        self.machines += 1;
        Task::Add(format!("m{}:1", self.machines))
    }

    pub(super) fn operate(&mut self) {
        self.agenda.add(self.now_ms + LOOK_MS, Event::Operator);
        let Some((leader, members)) = self.leader() else { return };
        if let Some(task) = self.tasks.front().cloned()
            && self.work_on(&task, leader, &members)
        {
            self.tasks.pop_front();
        }
        let is_whole = members.voters.len() == self.plan.controllers && !members.is_joint();
        if self.ready_ms.is_none() && self.tasks.is_empty() && is_whole {
            self.ready();
        }
        self.let_join(leader);
        if self.is_healed {
            self.mend(leader);
            self.stop_services(leader);
        }
    }

    /// The leader of the latest term among the controllers that are up, and the members it knows.
    pub(super) fn leader(&self) -> Option<(ControllerId, Members)> {
        let is_up = |host: &super::Host| host.is_up(self.now_ms);
        let leads = self.hosts.iter().filter(|(_, host)| is_up(host)).filter_map(|(id, host)| {
            let process = host.process.as_ref().filter(|process| process.leads())?;
            Some((process.replica().status().term, *id, process.replica().members().clone()))
        });
        let latest = leads.max_by_key(|(term, _, _)| *term)?;
        Some((latest.1, latest.2))
    }

    /// The cluster is up: schedules the users' actions and the faults.
    fn ready(&mut self) {
        self.ready_ms = Some(self.now_ms);
        self.story.add(self.now_ms, || "the cluster stands".to_owned());
        for (place, work) in self.plan.works.iter().enumerate() {
            self.agenda.add(self.now_ms + work.at_ms, Event::Work(place));
            if let crate::work::Action::Requeue(of) = work.action {
                self.user_judge.requeue_asked(of);
            }
        }
        for (place, fault) in self.plan.faults.iter().enumerate() {
            self.agenda.add(self.now_ms + fault.at_ms, Event::FaultBegins(place));
        }
    }

    /// Does the next part of a task. Returns whether the task is done.
    fn work_on(&mut self, task: &Task, leader: ControllerId, members: &Members) -> bool {
        match task {
            Task::Add(address) => {
                let known = members.known.iter().find(|(_, member)| member.address == *address);
                let Some((id, _)) = known else {
                    let name = address.trim_end_matches(":1").to_owned();
                    let member = Member { name, address: address.clone(), becomes_voter: true };
                    self.input(leader, Input::Change(vec![Change::Add(member)]));
                    return false;
                };
                if !self.hosts.contains_key(id) {
                    self.add_host(*id, Bootstrap::Join);
                }
                members.votes(*id)
            }
            Task::Remove(id) if !members.has(*id) => {
                self.kill_controller(*id);
                if let Some(host) = self.hosts.get_mut(id) {
                    host.is_gone = true;
                }
                true
            }
            Task::Remove(id) => {
                let stays: Vec<u64> =
                    members.voters.iter().copied().filter(|v| *v != id.0).collect();
                let is_up = |voter: &&u64| {
                    let host = self.hosts.get(&ControllerId(**voter));
                    host.is_some_and(|host| host.process.is_some())
                };
                let up = stays.iter().filter(is_up).count();
                if *id == leader {
                    self.input(leader, Input::Transfer);
                } else if up > stays.len() / 2 {
                    self.input(leader, Input::Change(vec![Change::Remove(*id)]));
                }
                stays.is_empty()
            }
        }
    }

    /// Replaces a controller that cannot read its log by a new one with another id.
    pub(super) fn replace_broken(&mut self, id: ControllerId) {
        self.story.add(self.now_ms, || format!("c{id} is to be replaced"));
        if self.plan.has(Mutant::ReuseId) {
            self.hosts.remove(&id);
            return self.add_host(id, Bootstrap::Join);
        }
        if let Some(host) = self.hosts.get_mut(&id) {
            host.is_broken = true;
        }
        let task = self.new_member();
        let pair = [Task::Remove(id), task];
        // Ahead of all other tasks, because another change might need the damaged controller.
        let is_last = self.rng.percent(50);
        for task in if is_last { pair.into_iter().rev().collect() } else { Vec::from(pair) } {
            self.tasks.push_front(task);
        }
    }

    /// Releases held jobs and resumes suspended jobs and drained nodes, so that all jobs can end.
    fn mend(&mut self, leader: ControllerId) {
        let Some(process) = self.hosts.get(&leader).and_then(|host| host.process.as_ref()) else {
            return;
        };
        let state = &process.replica().machine().state;
        let actor = Actor::operator(Uid(0));
        let mut commands = Vec::new();
        for key in state.live() {
            let Some((_, element)) = state.element(key) else { continue };
            let (actor, target) = (actor.clone(), Target { key });
            match element.phase {
                Phase::Pending if element.held => {
                    commands.push(Command::ReleaseJob { actor, target });
                }
                Phase::Suspended => commands.push(Command::ResumeJob { actor, target }),
                _ => {}
            }
        }
        for (name, node) in state.nodes() {
            if node.drain.is_some() {
                let (actor, name) = (actor.clone(), name.clone());
                commands.push(Command::ResumeNode { actor, name });
            }
        }
        for command in commands {
            self.input(leader, Input::Propose(Box::new(command), Ticket::Unused));
        }
    }
}
