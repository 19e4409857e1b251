//! Users' requests to a controller, and the handling of results from its log.

use super::{ClusterConfig, Process};
use crate::answer::{limit, reply};
use crate::message::{AskId, Body, Output, Reply, Ticket};
use crate::mutants::Mutant;
use crate::requests::Requests;
use common::wire::node::ToNode;
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
        config: &ClusterConfig,
        requests: &mut Requests,
        reads: &mut Vec<Ticket>,
    ) {
        let state = &self.replica.machine().state;
        if self.lead.is_none() || state.settings().is_none() {
            let leader = self.replica.leader();
            return self.outputs.push(Output::Reply(id, Reply::NotLeader(leader)));
        }
        match body {
            Body::Command(command) => {
                if config.mutant == Some(Mutant::AckUnapplied)
                    && matches!(*command, state::Command::SubmitJob { .. })
                {
                    let next = common::id::JobId(state.last_job_id().0 + 1);
                    self.outputs.push(Output::Reply(id, Reply::Submitted(next)));
                }
                if config.mutant == Some(Mutant::AckChange)
                    && let state::Command::UpdateJob { target, .. } = &*command
                {
                    self.outputs.push(Output::Reply(id, Reply::Changed(vec![target.key])));
                }
                let mut parts = Parts::new(state, *command, PART_TASKS);
                let first = parts.next_part();
                requests.commands.extend(first.map(|first| (first, Ticket::Ask(id))));
                self.parts.insert(id, parts);
            }
            Body::Look if config.mutant == Some(Mutant::StaleRead) => {
                self.outputs.push(Output::Reply(id, Reply::Last(state.last_job_id())));
            }
            Body::Look => reads.push(Ticket::Ask(id)),
            Body::Show(job) if config.mutant == Some(Mutant::StaleRead) => {
                self.outputs.push(Output::Reply(id, Reply::Limit(limit(state, job))));
            }
            Body::Show(job) => reads.push(Ticket::Show(id, job)),
        }
    }

    pub(super) fn answer(
        &mut self,
        now_ms: u64,
        ticket: Ticket,
        result: Result<Completion<Vec<Event>>, ProposeError>,
        requests: &mut Requests,
    ) {
        if let Ticket::Ask(id) = ticket {
            return self.answer_user(id, &result, requests);
        }
        let events = applied(&result);
        let state = &self.replica.machine().state;
        match (ticket, &mut self.lead) {
            (Ticket::Operator, _) => self.outputs.push(Output::Changed(result)),
            (Ticket::Show(id, job), _) => {
                let reply = match &result {
                    Ok(Completion::Fresh) => Reply::Limit(limit(state, job)),
                    _ => reply(&result, state.last_job_id(), self.replica.leader()),
                };
                self.outputs.push(Output::Reply(id, reply));
            }
            (Ticket::Round(since), Some(lead)) => lead.enacted(now_ms, since, events, requests),
            (Ticket::Service(since), Some(lead)) => lead.service_answered(now_ms, since, events),
            (Ticket::Register(link), Some(lead)) => lead.registered(link, events, state, requests),
            (Ticket::Confirm(link, number), Some(lead))
                if matches!(result, Ok(Completion::Fresh)) && lead.has_session(link) =>
            {
                let confirmed = ToNode::LeaderConfirmed { number };
                self.outputs.push(Output::Down(link, Box::new(confirmed)));
            }
            (Ticket::Report(link), Some(lead)) => lead.reported(link, events.is_some(), requests),
            _ => {}
        }
    }

    /// Handles the result of one part of a user's request: proposes the next part, or answers.
    fn answer_user(
        &mut self,
        id: AskId,
        result: &Result<Completion<Vec<Event>>, ProposeError>,
        requests: &mut Requests,
    ) {
        let parts = self.parts.remove(&id).filter(|parts| !parts.is_whole());
        let Some((mut parts, events)) = parts.zip(applied(result)) else {
            let (last, leader) =
                (self.replica.machine().state.last_job_id(), self.replica.leader());
            return self.outputs.push(Output::Reply(id, reply(result, last, leader)));
        };
        parts.note(state::event::changed_jobs(events));
        if let Some(part) = parts.next_part() {
            requests.commands.push((part, Ticket::Ask(id)));
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

fn applied(result: &Result<Completion<Vec<Event>>, ProposeError>) -> Option<&[Event]> {
    match result {
        Ok(Completion::Applied(events)) => Some(events),
        _ => None,
    }
}
