//! Users' requests to a controller, and the handling of results from its log.

use super::{House, Process};
use crate::answer::{limit, reply};
use crate::message::{AskId, Body, Output, Reply, Ticket};
use crate::sabotage::Sabotage;
use crate::wishes::Wishes;
use lead::Parts;
use replica::{Completion, ProposeError};
use state::Event;

/// Number of array tasks that one entry changes; a real controller has a larger number, and larger
/// arrays.
const PART_TASKS: usize = 2;

impl Process {
    pub(super) fn ask(
        &mut self,
        id: AskId,
        body: Body,
        house: &House,
        wishes: &mut Wishes,
        reads: &mut Vec<Ticket>,
    ) {
        let state = &self.replica.machine().state;
        if self.lead.is_none() || state.settings().is_none() {
            let leader = self.replica.leader();
            return self.outputs.push(Output::Reply(id, Reply::NotLeader(leader)));
        }
        match body {
            Body::Command(command) => {
                if house.sabotage == Some(Sabotage::AckUnapplied)
                    && matches!(*command, state::Command::SubmitJob { .. })
                {
                    let next = common::id::JobId(state.last_job().0 + 1);
                    self.outputs.push(Output::Reply(id, Reply::Submitted(next)));
                }
                if house.sabotage == Some(Sabotage::AckChange)
                    && let state::Command::UpdateJob { target, .. } = &*command
                {
                    self.outputs.push(Output::Reply(id, Reply::Changed(vec![target.key])));
                }
                let mut parts = Parts::new(state, *command, PART_TASKS);
                let first = parts.next_part();
                wishes.commands.extend(first.map(|first| (first, Ticket::Ask(id))));
                self.parts.insert(id, parts);
            }
            Body::Look if house.sabotage == Some(Sabotage::StaleRead) => {
                self.outputs.push(Output::Reply(id, Reply::Last(state.last_job())));
            }
            Body::Look => reads.push(Ticket::Ask(id)),
            Body::Show(job) if house.sabotage == Some(Sabotage::StaleRead) => {
                self.outputs.push(Output::Reply(id, Reply::Limit(limit(state, job))));
            }
            Body::Show(job) => reads.push(Ticket::Show(id, job)),
        }
    }

    pub(super) fn answer(
        &mut self,
        now_ms: u64,
        ticket: Ticket,
        told: Result<Completion<Vec<Event>>, ProposeError>,
        wishes: &mut Wishes,
    ) {
        if let Ticket::Ask(id) = ticket {
            return self.answer_user(id, &told, wishes);
        }
        let events = applied(&told);
        let state = &self.replica.machine().state;
        match (ticket, &mut self.lead) {
            (Ticket::Operator, _) => self.outputs.push(Output::Changed(told)),
            (Ticket::Show(id, job), _) => {
                let reply = match &told {
                    Ok(Completion::Fresh) => Reply::Limit(limit(state, job)),
                    _ => reply(&told, state.last_job(), self.replica.leader()),
                };
                self.outputs.push(Output::Reply(id, reply));
            }
            (Ticket::Round(since), Some(lead)) => lead.enacted(now_ms, since, events, wishes),
            (Ticket::Register(link), Some(lead)) => lead.registered(link, events, state, wishes),
            (Ticket::Report(link), Some(lead)) => lead.reported(link, events.is_some(), wishes),
            _ => {}
        }
    }

    /// Handles the result of one part of a user's request: proposes the next part, or answers.
    fn answer_user(
        &mut self,
        id: AskId,
        told: &Result<Completion<Vec<Event>>, ProposeError>,
        wishes: &mut Wishes,
    ) {
        let parts = self.parts.remove(&id).filter(|parts| !parts.is_whole());
        let Some((mut parts, events)) = parts.zip(applied(told)) else {
            let (last, leader) = (self.replica.machine().state.last_job(), self.replica.leader());
            return self.outputs.push(Output::Reply(id, reply(told, last, leader)));
        };
        parts.note(state::event::changed(events));
        if let Some(part) = parts.next_part() {
            wishes.commands.push((part, Ticket::Ask(id)));
            self.parts.insert(id, parts);
            return;
        }
        let reply = match parts.outcome() {
            Ok(keys) => Reply::Changed(keys),
            Err(refusal) => Reply::Refused(refusal.to_string()),
        };
        self.outputs.push(Output::Reply(id, reply));
    }
}

fn applied(told: &Result<Completion<Vec<Event>>, ProposeError>) -> Option<&[Event]> {
    match told {
        Ok(Completion::Applied(events)) => Some(events),
        _ => None,
    }
}
