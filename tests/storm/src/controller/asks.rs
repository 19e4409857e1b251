//! What users ask of a controller, and what whoever waits for the log is told. Never applies
//! anything.

use super::{House, Process};
use crate::answer::{limit, reply};
use crate::message::{AskId, Body, Output, Reply, Ticket};
use crate::sabotage::Sabotage;
use crate::wishes::Wishes;
use replica::{ProposeError, Told};
use state::Event;

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
                wishes.commands.push((*command, Ticket::Ask(id)));
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
        told: Result<Told<Vec<Event>>, ProposeError>,
        wishes: &mut Wishes,
    ) {
        let events = match &told {
            Ok(Told::Applied(events)) => Some(events.as_slice()),
            _ => None,
        };
        let state = &self.replica.machine().state;
        match (ticket, &mut self.lead) {
            (Ticket::Operator, _) => self.outputs.push(Output::Changed(told)),
            (Ticket::Ask(id), _) => {
                let leader = self.replica.leader();
                let reply = reply(&told, state.last_job(), leader);
                self.outputs.push(Output::Reply(id, reply));
            }
            (Ticket::Show(id, job), _) => {
                let reply = match &told {
                    Ok(Told::Fresh) => Reply::Limit(limit(state, job)),
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
}
