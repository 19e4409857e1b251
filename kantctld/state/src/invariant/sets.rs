//! The invariants of sets: every component exists, and all wait, run, end and finish together.

use crate::job::{Element, Record, SharePhase};
use crate::state::State;
use common::id::JobId;
use common::job::Phase;
use std::collections::BTreeMap;

pub(super) fn check(state: &State, wrong: &mut Vec<String>) {
    let mut sets: BTreeMap<JobId, Vec<&Record>> = BTreeMap::new();
    for record in state.jobs() {
        if let Some(set) = record.set {
            sets.entry(set.first).or_default().push(record);
        }
    }
    for (first, records) in sets {
        for fault in faults(first, &records) {
            wrong.push(format!("set {first}: {fault}"));
        }
    }
}

/// The part of the phase that all components share. Once all are ready, one may run before another.
const fn stage(phase: Phase) -> u8 {
    match phase {
        Phase::Pending => 0,
        Phase::Starting | Phase::Running | Phase::Suspended => 1,
        Phase::Completing => 2,
        Phase::Done => 3,
    }
}

fn faults(first: JobId, records: &[&Record]) -> Vec<String> {
    let mut faults = Vec::new();
    for (place, record) in (0..).zip(records) {
        let set = record.set.map(|set| (set.offset, set.size as usize));
        if record.id.0 != first.0 + place || set != Some((place, records.len())) {
            faults.push(format!("job {} is not its component {place}", record.id));
        }
    }
    if records.len() < 2 {
        faults.push("it has one component".to_owned());
    }
    let elements: Option<Vec<&Element>> =
        records.iter().map(|record| record.elements.get(&None)).collect();
    let Some(elements) = elements else {
        faults.push("a component of it is an array".to_owned());
        return faults;
    };
    let mut same = |what: &str, is_same: bool| {
        if !is_same {
            let phases = elements.iter().map(|element| element.phase.to_string());
            let phases: Vec<String> = phases.collect();
            faults.push(format!("its components differ in {what}: {}", phases.join(", ")));
        }
    };
    let all = |test: &dyn Fn(&Element) -> bool| elements.iter().all(|element| test(element));
    let [one, ..] = elements.as_slice() else { return faults };
    same("phase", all(&|element| stage(element.phase) == stage(one.phase)));
    same("attempt", all(&|element| element.attempt == one.attempt));
    same("hold", all(&|element| element.held == one.held));
    same("outcome", all(&|element| element.outcome == one.outcome));
    let still = |element: &Element| element.phase == Phase::Suspended;
    same("stillness", all(&|element| still(element) == still(one)));
    let end = |element: &Element| {
        let end = element.run.as_ref().and_then(|run| run.end.as_ref());
        end.map(|end| (end.outcome, end.requeue, end.decided_at))
    };
    same("end", all(&|element| end(element) == end(one)));
    let over = |element: &Element| {
        let run = element.run.as_ref().filter(|_| element.phase == Phase::Completing);
        run.is_some_and(|run| run.shares.iter().all(|share| share.is_over()))
    };
    if all(&over) {
        faults.push("nothing is left of it, and it is not over".to_owned());
    }
    faults.extend(early_run_faults(&elements));
    faults
}

/// Components run once all are ready, and not before.
fn early_run_faults(elements: &[&Element]) -> Vec<String> {
    let has = |element: &Element, least: SharePhase| {
        element.run.as_ref().is_some_and(|run| run.shares.iter().all(|share| *share >= least))
    };
    let is_ready = elements.iter().all(|element| has(element, SharePhase::Ready));
    let fault = |(place, element): (usize, &&Element)| match element.phase {
        Phase::Running | Phase::Suspended if !is_ready => {
            Some(format!("component {place} runs before all are ready"))
        }
        Phase::Starting if is_ready && has(element, SharePhase::Running) => {
            Some(format!("all shares of component {place} run, and it does not"))
        }
        _ => None,
    };
    elements.iter().enumerate().filter_map(fault).collect()
}
