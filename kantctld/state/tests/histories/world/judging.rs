//! Applies commands and judges every answer: by the state's own judge, and by what a client, a node
//! and accounting would notice.

use super::World;
use common::id::{Attempt, AttemptId, JobKey, NodeName};
use common::time::Span;
use common::wire::node::{DesiredStep, StepPhase};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use state::desired::desired_for;
use state::effect::touched_nodes;
use state::event::{Growth, ShareNews};
use state::persist::{from_bytes, to_bytes};
use state::snapshot::{SnapshotKeeper, snapshot};
use state::{Command, Event, Stamped};
use std::collections::BTreeMap;

impl World {
    pub(super) fn crash(&mut self) -> Result<(), TestCaseError> {
        let bytes = to_bytes(&self.state).unwrap();
        let restored = from_bytes(&bytes).unwrap();
        prop_assert_eq!(&restored, &self.state);
        prop_assert_eq!(to_bytes(&restored).unwrap(), bytes);
        self.state = restored;
        Ok(())
    }

    /// Applies a command and judges the answer.
    pub(super) fn apply(&mut self, command: Command) -> Result<(), TestCaseError> {
        // Every seventh stamp is from a leader whose clock is behind.
        let behind = Span::from_seconds(if self.log.len() % 7 == 6 { 100 } else { 0 });
        let stamped = Stamped { at: self.now - behind, command };
        let before = self.all_wishes();
        let measured = self.measured(&stamped.command);
        let events = state::apply(&mut self.state, &stamped);
        self.check_touched(&before, &events)?;
        let wrong = self.judge.check_step(&self.state, &events);
        prop_assert!(wrong.is_empty(), "{wrong:#?}\nafter {stamped:?}\ngave {events:?}");
        self.remember(&stamped.command, &events, &measured)?;
        self.log.push(stamped);
        self.pending_events.extend(events);
        // Sometimes several answers are processed at once, as in a busy controller.
        if !self.log.len().is_multiple_of(3) {
            self.keep()?;
        }
        self.check_submissions()?;
        self.check_single_attempts()?;
        self.check_usage()
    }

    /// Checks that the updated snapshot equals a new one.
    pub(super) fn keep(&mut self) -> Result<(), TestCaseError> {
        let events = std::mem::take(&mut self.pending_events);
        let mut by_parts = self.keeper.clone();
        let news = self.keeper.read_changes(&self.state, &events);
        if let Some(news) = news.without_jobs() {
            self.outline.apply_changes(news);
        }
        for part in news.in_parts(1) {
            by_parts.apply_changes(part);
        }
        self.keeper.update(&self.state, &events);
        prop_assert_eq!(by_parts.snapshot(), self.keeper.snapshot(), "kept in parts");
        prop_assert_eq!(self.keeper.snapshot(), &snapshot(&self.state));
        let outline = SnapshotKeeper::without_jobs(&self.state);
        prop_assert_eq!(self.outline.snapshot(), outline.snapshot(), "without jobs");
        Ok(())
    }

    /// How long the ended steps that a command reports were on their node. A machine that replaces
    /// another reports nothing that was on the other.
    fn measured(&self, command: &Command) -> BTreeMap<AttemptId, Span> {
        let steps = match command {
            Command::ReportSteps { steps, .. } => steps,
            Command::RegisterNode { name, identity, steps, .. }
                if self.state.node(name).is_some_and(|node| node.identity == *identity) =>
            {
                steps
            }
            _ => return BTreeMap::new(),
        };
        let mut measured = BTreeMap::new();
        for status in steps {
            if let StepPhase::Ended(end) = &status.phase {
                measured.entry(status.id).or_insert(end.held);
            }
        }
        measured.into_iter().filter_map(|(id, held)| Some((id, held?))).collect()
    }

    fn remember(
        &mut self,
        command: &Command,
        events: &[Event],
        measured: &BTreeMap<AttemptId, Span>,
    ) -> Result<(), TestCaseError> {
        for event in events {
            if let Some(seen) = &mut self.seen {
                seen.insert(format!("{event:?}"));
            }
            match (event, command) {
                (
                    Event::JobSubmitted { job, repeated, .. },
                    Command::SubmitJob { request_key, owner, .. },
                ) => {
                    let request = (owner.uid, request_key.clone());
                    let before = self.acknowledged.insert(request, *job);
                    prop_assert_eq!(before, repeated.then_some(*job), "another answer");
                }
                (
                    Event::JobSubmitted { job, repeated, .. },
                    Command::SubmitSet { request_key, owner, .. },
                ) => {
                    let set = self.state.job(*job).and_then(|record| record.set);
                    let is_gone = *repeated && self.forgotten.contains(job);
                    prop_assert!(set.is_some() || is_gone);
                    prop_assert!(!repeated || events.len() == 1);
                    // A set is known by its first job.
                    if is_gone || set.is_some_and(|set| set.first == *job) {
                        let request = (owner.uid, request_key.clone());
                        let before = self.acknowledged.insert(request, *job);
                        prop_assert_eq!(before, repeated.then_some(*job), "another answer");
                    }
                }
                (Event::JobForgotten { job }, _) => {
                    self.forgotten.insert(*job);
                }
                (Event::JobStarted { id, .. }, _) => {
                    self.attempts.push(*id);
                    let (_, element) = self.state.element(id.key).unwrap();
                    let allocation = element.run.as_ref().unwrap().allocation.clone();
                    self.given.insert(*id, (self.state.now(), allocation));
                }
                (Event::JobGrowth { id, news: Growth::Given { joins } }, _) => {
                    let (_, element) = self.state.element(id.key).unwrap();
                    let allocation = element.run.as_ref().unwrap().allocation.clone();
                    for node in joins {
                        let share = allocation.on(node).unwrap().clone();
                        let place = (*id, node.clone());
                        let before = self.grown.insert(place, (self.state.now(), share));
                        prop_assert_eq!(before, None, "{} twice for {}", node, id);
                    }
                }
                (Event::StepReported { id, node, news: ShareNews::Ended(..) }, _) => {
                    self.tally(*id, node, measured.get(id).copied());
                }
                _ => {}
            }
        }
        if let (Command::ActOnTasks { how, .. }, Some(seen)) = (command, &mut self.seen)
            && !matches!(events, [] | [Event::CommandRefused(_)])
        {
            seen.insert(format!("ActOnTasks {how:?}"));
        }
        // A request may be forgotten before its job, and is then accepted as a new one. The request
        // of a forgotten job may also be dropped by a later submission.
        let (state, forgotten) = (&self.state, &self.forgotten);
        let forgets = matches!(command, Command::ForgetDone);
        self.acknowledged.retain(|(uid, key), job| {
            state.answered_request(*uid, key).is_some() || !(forgets || forgotten.contains(job))
        });
        Ok(())
    }

    /// The desired state of each node.
    fn all_wishes(&self) -> BTreeMap<NodeName, Vec<DesiredStep>> {
        let names = self.state.nodes().map(|(name, _)| name);
        names.map(|name| (name.clone(), desired_for(&self.state, name))).collect()
    }

    /// Checks that events name every node whose desired state changed: otherwise it would not be
    /// notified.
    fn check_touched(
        &self,
        before: &BTreeMap<NodeName, Vec<DesiredStep>>,
        events: &[Event],
    ) -> Result<(), TestCaseError> {
        let touched = touched_nodes(events);
        for (name, wishes) in self.all_wishes() {
            let same = before.get(&name).map_or(wishes.is_empty(), |known| *known == wishes);
            let is_touched = same || touched.contains(&name);
            prop_assert!(is_touched, "{name} is not notified of {wishes:?}\nafter {events:?}");
        }
        Ok(())
    }

    /// Every acknowledged submission exists, and its request is known.
    fn check_submissions(&self) -> Result<(), TestCaseError> {
        for ((uid, key), job) in &self.acknowledged {
            let is_there = self.state.job(*job).is_some() || self.forgotten.contains(job);
            prop_assert!(is_there, "job {job} is gone");
            prop_assert_eq!(self.state.answered_request(*uid, key).map(|r| r.job), Some(*job));
        }
        Ok(())
    }

    /// No job is wanted in two attempts at the same time.
    fn check_single_attempts(&self) -> Result<(), TestCaseError> {
        let mut wanted: BTreeMap<JobKey, Attempt> = BTreeMap::new();
        for (name, _) in self.state.nodes() {
            for step in desired_for(&self.state, name) {
                let first = *wanted.entry(step.id.key).or_insert(step.id.attempt);
                prop_assert_eq!(first, step.id.attempt, "two attempts of {} live", step.id.key);
            }
        }
        Ok(())
    }

    /// Adds up what a share kept from others, in the simplest way.
    fn tally(&mut self, id: AttemptId, node: &NodeName, held: Option<Span>) {
        let began = self.given.get(&id);
        let began = began.and_then(|(since, all)| Some((since, all.on(node)?)));
        let grown = self.grown.get(&(id, node.clone())).map(|(since, share)| (since, share));
        let Some((since, share)) = grown.or(began) else { return };
        let most = self.state.now().0 - since.0;
        let milliseconds = held.map_or(most, |held| held.0.min(most));
        let part = share.gpu_milli.map_or(1000, |part| u64::from(part.0));
        self.cpu_milliseconds += u64::from(share.cpus.len()) * milliseconds;
        self.gpu_milli_milliseconds += share.gpus.len() as u64 * part * milliseconds;
        // Parts of a GPU are rounded down in each hour.
        self.hours += milliseconds / 3_600_000 + 2;
    }

    /// A history is shorter than the time for which usage is kept, so all usage is still there.
    fn check_usage(&self) -> Result<(), TestCaseError> {
        let all = || self.state.usage().iter().flat_map(|(_, hours)| hours.values());
        let cpu: u64 = all().map(|used| used.cpu_milliseconds).sum();
        let gpu: u64 = all().map(|used| used.gpu_milliseconds).sum();
        prop_assert_eq!(cpu, self.cpu_milliseconds);
        let expected = self.gpu_milli_milliseconds / 1000;
        prop_assert!(gpu <= expected && expected - gpu <= self.hours, "{gpu} of {expected}");
        Ok(())
    }
}
