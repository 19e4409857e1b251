//! The operator of the simulated world: adds and removes controllers, replaces one whose disk is
//! damaged; once the trouble is over, releases held jobs and resumes those that stand still and
//! drained nodes. Follows the page on high availability; never does what that forbids.

use super::World;
use super::event::Event;
use crate::message::{Input, Ticket};
use crate::sabotage::Sabotage;
use common::id::{ControllerId, Uid};
use common::job::Phase;
use replica::{Bootstrap, Change, Member, Members};
use state::{Actor, Command, Target};

/// Between two looks, in milliseconds.
const LOOK_MS: u64 = 400;

/// Something to be done, over several looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Task {
    /// One more voter, reached here.
    Add(String),
    Remove(ControllerId),
}

impl World {
    /// A machine nobody had before.
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
        if self.is_healed {
            self.mend(leader);
        }
    }

    /// Who leads, in truth and up, and whom it knows.
    pub(super) fn leader(&self) -> Option<(ControllerId, Members)> {
        let is_up = |host: &super::Host| host.is_up(self.now_ms);
        let leads = self.hosts.iter().filter(|(_, host)| is_up(host)).filter_map(|(id, host)| {
            let process = host.process.as_ref().filter(|process| process.leads())?;
            Some((process.replica().status().term, *id, process.replica().members().clone()))
        });
        let latest = leads.max_by_key(|(term, _, _)| *term)?;
        Some((latest.1, latest.2))
    }

    /// The cluster stands: users come, and so does trouble.
    fn ready(&mut self) {
        self.ready_ms = Some(self.now_ms);
        self.story.tell(self.now_ms, || "the cluster stands".to_owned());
        for (place, work) in self.plan.works.iter().enumerate() {
            self.agenda.add(self.now_ms + work.at_ms, Event::Work(place));
            if let crate::work::Deed::Requeue(of) = work.deed {
                self.user_judge.requeue_asked(of);
            }
        }
        for (place, fault) in self.plan.faults.iter().enumerate() {
            self.agenda.add(self.now_ms + fault.at_ms, Event::FaultBegins(place));
        }
    }

    /// One look's part of a task. True: it is done.
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

    /// A controller cannot read its log: another takes its place, under another id.
    pub(super) fn replace_broken(&mut self, id: ControllerId) {
        self.story.tell(self.now_ms, || format!("c{id} is to be replaced"));
        if self.plan.has(Sabotage::ReuseId) {
            self.hosts.remove(&id);
            return self.add_host(id, Bootstrap::Join);
        }
        if let Some(host) = self.hosts.get_mut(&id) {
            host.is_broken = true;
        }
        let task = self.new_member();
        let pair = [Task::Remove(id), task];
        // Before all else: another change might need the one that is damaged.
        let is_last = self.dice.percent(50);
        for task in if is_last { pair.into_iter().rev().collect() } else { Vec::from(pair) } {
            self.tasks.push_front(task);
        }
    }

    /// Once the trouble is over, nothing stays held or drained.
    fn mend(&mut self, leader: ControllerId) {
        let Some(process) = self.hosts.get(&leader).and_then(|host| host.process.as_ref()) else {
            return;
        };
        let state = &process.replica().machine().state;
        let actor = Actor { uid: Uid(0), operator: true };
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
            self.input(leader, Input::Propose(Box::new(command), Ticket::Nobody));
        }
    }
}
