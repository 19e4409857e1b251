//! Users in the simulated world. Each user repeats a request, with the same request key, until it
//! is answered.

use super::World;
use super::event::Event;
use super::faults::user_host;
use crate::message::{AskId, Body, Host as At, Input, Reply};
use crate::work::{self, Action};
use common::id::{ControllerId, Gid, JobId, JobKey, RequestKey, Uid};
use common::job::{Ask, Attribute, JobSize, Owner, Patch};
use common::unit::Nodes;
use state::{Actor, Command, Target};

/// How long a user waits for an answer, in milliseconds.
const PATIENCE_MS: u64 = 2_500;

/// A user's progress with one action.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    attempt: u32,
    /// Time of each try, in milliseconds.
    asked_ms: Vec<u64>,
    /// The controller to ask next.
    hint: Option<ControllerId>,
    turn: usize,
    /// The action is answered, or needs no answer.
    pub is_over: bool,
}

impl World {
    pub(super) fn begin_work(&mut self, work: usize) {
        let action = self.plan.works[work].action.clone();
        if let Some(of) = action.about() {
            let Some(job) = self.user_judge.job_of(of) else {
                // The user does not know the job's id yet. If its submission has finished without
                // one, there is nothing to do.
                if self.progress.get(of).is_none_or(|progress| progress.is_over) {
                    self.progress[work].is_over = true;
                } else {
                    self.agenda.add(self.now_ms + 500, Event::Work(work));
                }
                return;
            };
            if let Action::Requeue(_) = action {
                self.expect_requeue(job);
            }
        }
        if let Action::Submit(_) = action {
            self.user_judge.submit_asked(work, self.now_ms);
        }
        self.ask(work);
    }

    fn expect_requeue(&mut self, job: JobId) {
        let log = self.log.borrow();
        let elements = log.frontier.job(job).map(|record| record.elements.keys());
        for index in elements.into_iter().flatten() {
            self.node_judge.may_run_again(JobKey { job, index: *index });
        }
    }

    fn ask(&mut self, work: usize) {
        let Some(body) = self.body(work) else { return };
        let controllers: Vec<ControllerId> = self.hosts.keys().copied().collect();
        let progress = &mut self.progress[work];
        progress.attempt += 1;
        progress.asked_ms.push(self.now_ms);
        progress.turn += 1;
        let by_turn = controllers[(progress.turn + work) % controllers.len()];
        let to = progress.hint.take().unwrap_or(by_turn);
        let id = AskId { work, attempt: progress.attempt };
        self.agenda.add(self.now_ms + PATIENCE_MS, Event::AskAgain(id));
        self.send(to, id, &body);
    }

    /// Reads the last job id from all controllers, of which one may believe that it still leads.
    fn look_everywhere(&mut self, work: usize) {
        let progress = &mut self.progress[work];
        progress.attempt += 1;
        progress.asked_ms.push(self.now_ms);
        let id = AskId { work, attempt: progress.attempt };
        let controllers: Vec<ControllerId> = self.hosts.keys().copied().collect();
        controllers.into_iter().for_each(|to| self.send(to, id, &Body::Look));
    }

    fn send(&mut self, to: ControllerId, id: AskId, body: &Body) {
        let work = id.work;
        let (from, host) = (At::User(user_host(work)), At::Controller(to));
        let mut delays_ms = self.net.carry(self.now_ms, from, host);
        if let Action::Update(of) = self.plan.works[work].action {
            self.register_judge.change_asked(of, id, work::new_limit(work), self.now_ms);
            // Two copies would be two changes, and a stream never duplicates a request.
            delays_ms.truncate(1);
        }
        if let Action::Service(_) = self.plan.works[work].action {
            delays_ms.truncate(1);
        }
        for delay_ms in delays_ms {
            self.agenda.add(self.now_ms + delay_ms, Event::Ask(to, id, body.clone()));
        }
    }

    fn body(&self, work: usize) -> Option<Body> {
        let uid = Uid(1000 + u32::try_from(work % 3).unwrap_or(0));
        let actor = Actor::operator(uid);
        let target = |of: usize| {
            let job = self.user_judge.job_of(of)?;
            Some(Target { key: JobKey::single(job) })
        };
        let command = match &self.plan.works.get(work)?.action {
            Action::Submit(ask) => Command::SubmitJob {
                request_key: RequestKey(format!("key of {}", work::job_name(work))),
                owner: Owner { uid, gid: Gid(uid.0), name: format!("u{uid}") },
                groups: Vec::new(),
                operator: false,
                via: None,
                ask: Box::new(self.tied(work, ask)),
                script: format!("#!/bin/sh\necho {}\n", work % 4),
                environment: "PATH=/bin\0".to_owned(),
            },
            Action::Cancel(of) => Command::CancelJob { actor, target: target(*of)? },
            Action::Hold(of) => Command::HoldJob { actor, target: target(*of)? },
            Action::Release(of) => Command::ReleaseJob { actor, target: target(*of)? },
            Action::Requeue(of) => Command::RequeueJob { actor, target: target(*of)? },
            Action::Suspend(of) => Command::SuspendJob { actor, target: target(*of)? },
            Action::Resume(of) => Command::ResumeJob { actor, target: target(*of)? },
            Action::Resize(of) => {
                let size = JobSize::Nodes(Nodes(1));
                Command::ResizeJob { actor, target: target(*of)?, size }
            }
            Action::Update(of) => {
                let limit = work::new_limit(work);
                let patch = Box::new(Patch::default().with(Attribute::Time, limit));
                Command::UpdateJob { actor, target: target(*of)?, patch }
            }
            Action::Show(of) => return Some(Body::Show(self.user_judge.job_of(*of)?)),
            Action::Look => return Some(Body::Look),
            Action::Service(work) => work.command(),
        };
        Some(Body::Command(Box::new(command)))
    }

    /// The submission, with a dependency on an earlier job for every fifth action. A job whose
    /// dependency can no longer be met is cancelled, so all jobs of a history end.
    fn tied(&self, work: usize, ask: &Ask) -> Ask {
        let known = || (0..work).rev().find_map(|before| self.user_judge.job_of(before));
        let Some(job) = known().filter(|_| work.is_multiple_of(5)) else { return ask.clone() };
        let rule = ["after", "afterany", "afterok", "afternotok", "aftercorr"][work / 5 % 5];
        let dependency = format!("{rule}:{job}").parse().ok();
        Ask { dependency, kill_on_invalid_dependency: true, ..ask.clone() }
    }

    pub(super) fn ask_arrives(&mut self, to: ControllerId, id: AskId, body: Body) {
        if self.input(to, Input::Ask(id, body)) {
            return;
        }
        let (from, user) = (At::Controller(to), At::User(user_host(id.work)));
        if !self.net.is_blocked(from, user) {
            let reply = Event::Reply(id, Reply::NotLeader(None));
            self.agenda.add(self.now_ms + 1, reply);
        }
    }

    /// Repeats a request that is not answered, if `id` is its latest try.
    pub(super) fn ask_again(&mut self, id: AskId) {
        let progress = &self.progress[id.work];
        if !progress.is_over && progress.attempt == id.attempt {
            self.ask(id.work);
        }
    }

    pub(super) fn reply_arrives(&mut self, id: AskId, reply: Reply) {
        self.story.add(self.now_ms, || format!("user w{} receives {reply:?}", id.work));
        let action = self.plan.works[id.work].action.clone();
        if let Action::Update(of) = action {
            match reply {
                Reply::NotLeader(_) | Reply::Refused(_) => {
                    self.register_judge.change_refused(of, id);
                }
                Reply::Changed(_) => self.register_judge.change_answered(of, id, self.now_ms),
                _ => {}
            }
        }
        match reply {
            Reply::NotLeader(_) | Reply::Unknown => {
                let progress = &mut self.progress[id.work];
                if let (Reply::NotLeader(hint), true) = (reply, progress.attempt == id.attempt) {
                    progress.hint = hint;
                }
                let at_ms = self.now_ms + self.rng.between(30, 400);
                return self.agenda.add(at_ms, Event::AskAgain(id));
            }
            Reply::Submitted(job) => {
                self.user_judge.submit_answered(id.work, job, self.now_ms);
                self.progress[id.work].is_over = true;
                self.look_everywhere(id.work);
            }
            Reply::Last(job) => {
                self.user_judge.looked(self.asked_ms(id), self.now_ms, job);
            }
            Reply::Limit(limit) => {
                if let (Action::Show(of), Some(limit)) = (action, limit) {
                    let asked_ms = self.asked_ms(id);
                    self.register_judge.looked(of, id, limit, asked_ms, self.now_ms);
                }
            }
            Reply::Changed(keys) => {
                if let Action::Cancel(of) = action {
                    self.note_cancel(of, &keys);
                }
            }
            Reply::Refused(reason) => {
                if let Action::Submit(_) = action {
                    let text = format!("w{} was refused: {reason}", id.work);
                    self.complaints.push(crate::judge::Complaint::new("refused", text));
                }
            }
        }
        self.progress[id.work].is_over = true;
    }

    /// Time of a try, in milliseconds.
    fn asked_ms(&self, id: AskId) -> u64 {
        self.progress[id.work].asked_ms[id.attempt as usize - 1]
    }

    fn note_cancel(&mut self, of: usize, keys: &[JobKey]) {
        let log = self.log.borrow();
        for key in keys {
            if let Some((_, element)) = log.frontier.element(*key) {
                self.user_judge.cancel_answered(of, *key, element.attempt);
            }
        }
    }
}
