//! The passing of time in a cluster, from one event to the next.

use super::{Cluster, ROUND_PERIOD, SimError};
use crate::machine::Machine;
use common::id::{JobKey, NodeName};
use common::node::Contact;
use common::time::Time;
use state::Command;

impl Cluster {
    /// Advances time to `end`.
    ///
    /// # Errors
    /// A judge found a fault.
    pub fn advance_to(&mut self, end: Time) -> Result<(), SimError> {
        while let Some(next) = self.next_at().filter(|next| *next <= end) {
            self.now = self.now.max(next);
            self.run_due_work()?;
        }
        self.now = self.now.max(end);
        Ok(())
    }

    /// Advances time until nothing more would happen, or until `end`.
    ///
    /// # Errors
    /// A judge found a fault.
    pub fn advance_until_idle(&mut self, end: Time) -> Result<(), SimError> {
        while let Some(next) = self.next_happening().filter(|next| *next <= end) {
            self.advance_to(next)?;
        }
        Ok(())
    }

    /// When something happens next.
    #[must_use]
    pub fn next_at(&self) -> Option<Time> {
        let waits = self.state.live().next().is_some();
        let round = waits.then(|| self.last_round + ROUND_PERIOD);
        let decision = self.next_decision();
        self.next_happening().into_iter().chain(round).chain(decision).min()
    }

    /// When something happens next other than a periodic round or decision.
    fn next_happening(&self) -> Option<Time> {
        let machines = self.machines.values().filter_map(Machine::next_at);
        let losses = self.loss_times().map(|(at, _)| at);
        let at_times = losses.chain(self.begin_times()).chain(self.deadlines());
        machines.chain(at_times).chain(self.next_converge_at()).min()
    }

    /// When which silent node will be given up.
    fn loss_times(&self) -> impl Iterator<Item = (Time, NodeName)> + '_ {
        self.state.nodes().filter_map(|(name, node)| match node.contact {
            Contact::Silent { since } => Some((since + self.node_lost_after, name.clone())),
            Contact::Connected | Contact::Lost { .. } => None,
        })
    }

    /// When jobs may begin that wait for a begin time or a back-off, unless a round has already
    /// considered that.
    fn begin_times(&self) -> impl Iterator<Item = Time> + '_ {
        let begin = |key: JobKey| {
            let (record, element) = self.state.element(key)?;
            let not_before = element.faults.as_ref().map(|faults| faults.not_before);
            let free_at = match state::verdict(&self.state, record, key.index) {
                state::Verdict::Free(at) => at,
                state::Verdict::Waits | state::Verdict::Never => None,
            };
            record.spec.ask.begin_at.max(not_before).max(free_at)
        };
        self.state.live().filter_map(begin).filter(|at| *at > self.last_round)
    }

    /// The future deadlines of jobs that have not ended.
    fn deadlines(&self) -> impl Iterator<Item = Time> + '_ {
        let deadline = |key: JobKey| self.state.job(key.job)?.spec.ask.deadline;
        self.state.live().filter_map(deadline).filter(|at| *at > self.now)
    }

    /// Does what is due now.
    fn run_due_work(&mut self) -> Result<(), SimError> {
        for machine in self.machines.values_mut() {
            machine.tick(self.now);
        }
        let due: Vec<NodeName> =
            self.loss_times().filter(|(at, _)| *at <= self.now).map(|(_, name)| name).collect();
        for name in due {
            self.apply(Command::NodeLost { name })?;
        }
        for key in state::jobs_past_deadline(&self.state, self.now) {
            self.apply(Command::DeadlineOver { key })?;
        }
        let begins = self.begin_times().any(|at| at <= self.now);
        if begins || self.last_round + ROUND_PERIOD <= self.now {
            self.round_due = true;
        }
        self.react()
    }
}
