//! Judge of the end of a history: every replica has all acknowledged jobs, all jobs have ended, no
//! request became two jobs, no service is left, all replicas hold the same bytes, and the ledger is
//! empty.

use super::Complaint;
use super::users::UserJudge;
use crate::work::work_of;
use common::id::ControllerId;
use common::job::Phase;
use state::State;
use std::collections::BTreeMap;

/// All complaints about the final states.
pub fn judge(users: &UserJudge, replicas: &[(ControllerId, &State)]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    let mut complain = |judge, text: String| complaints.push(Complaint::new(judge, text));
    for (work, job) in users.acknowledged() {
        for (id, state) in replicas {
            let name = state.job(job).map(|record| record.spec.ask.name.as_str());
            match name.map(work_of) {
                Some(Some(found)) if found == work => {}
                Some(_) => complain("acknowledged", format!("job {job} is not w{work} on {id}")),
                None => complain("acknowledged", format!("job {job} (w{work}) is lost on {id}")),
            }
        }
    }
    for (id, state) in replicas {
        let mut seen = BTreeMap::new();
        if let Some(service) = state.services().next() {
            complain("services", format!("{} is left on {id}", service.name));
        }
        for record in state.jobs() {
            let name = &record.spec.ask.name;
            let is_replica = record.spec.ask.replica.is_some();
            if !is_replica && let Some(before) = seen.insert(name.clone(), record.id) {
                complain("same-key", format!("{name} is job {before} and {} on {id}", record.id));
            }
            for element in record.elements.values().filter(|e| e.phase != Phase::Done) {
                complain("ends", format!("job {} is {} on {id}", record.id, element.phase));
            }
        }
        if state.ledger().nodes().next().is_some() {
            complain("ledger", format!("all jobs are over, and something is held on {id}"));
        }
    }
    let prints = replicas.iter().map(|(id, state)| (super::log::print(state), id));
    let prints: Vec<_> = prints.collect();
    if let Some((_, other)) = prints.iter().find(|(print, _)| *print != prints[0].0) {
        complain("same-bytes", format!("{other} ends in another state than {}", prints[0].1));
    }
    complaints
}
