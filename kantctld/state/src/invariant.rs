//! The judge: an independent check of the state. From the jobs alone it recomputes what the rest of
//! the state should be, and over time it compares each job with the table of transitions. It shares
//! no code with what it judges.

mod awaited;
mod bookings;
mod history;
mod sets;
mod sums;

pub use history::Judge;

use crate::job::{Element, Record, Run, SharePhase};
use crate::state::State;
use common::id::{Attempt, JobKey};
use common::job::{Launch, Outcome, Phase};
use std::collections::BTreeSet;

/// Every violation in a state, as a sentence. Empty if the state is sound.
#[must_use]
pub fn check(state: &State) -> Vec<String> {
    let mut wrong = Vec::new();
    for record in state.jobs() {
        check_record(state, record, &mut wrong);
    }
    check_numbers(state, &mut wrong);
    check_live(state, &mut wrong);
    check_queues(state, &mut wrong);
    check_requests(state, &mut wrong);
    sums::check_ledger(state, &mut wrong);
    sums::check_counts(state, &mut wrong);
    sums::check_blobs(state, &mut wrong);
    sums::check_footprint(state, &mut wrong);
    bookings::check(state, &mut wrong);
    sets::check(state, &mut wrong);
    check_usage(state, &mut wrong);
    wrong
}

fn check_record(state: &State, record: &Record, wrong: &mut Vec<String>) {
    let job = record.id;
    if job.0 == 0 || job > state.last_job_id() {
        wrong.push(format!("job {job} has an id that was never given"));
    }
    if record.elements.is_empty() {
        wrong.push(format!("job {job} has no element"));
    }
    let is_array = record.spec.ask.array.is_some();
    if record.elements.keys().any(|index| index.is_some() != is_array) {
        wrong.push(format!("job {job} mixes an array with a job that is none"));
    }
    if record.submitted_at > state.now() {
        wrong.push(format!("job {job} was submitted in the future"));
    }
    for (index, element) in &record.elements {
        let key = JobKey { job, index: *index };
        for fault in faults(element, record.spec.ask.launch, record.set.is_some()) {
            wrong.push(format!("job {key}, {}: {fault}", element.phase));
        }
        if element.done_at.is_some_and(|at| at > state.now()) {
            wrong.push(format!("job {key} was done in the future"));
        }
        let past = element.past().map(|earlier| &earlier.run).chain(element.run.as_deref());
        if past.filter_map(|run| run.over_at).any(|at| at > state.now()) {
            wrong.push(format!("job {key} was released in the future"));
        }
    }
}

/// Ids are unique, and none is given again later.
fn check_numbers(state: &State, wrong: &mut Vec<String>) {
    let mut before = 0_u64;
    for record in state.jobs() {
        let last = u64::from(record.id.0) + u64::from(record.numbers);
        if u64::from(record.id.0) <= before && before > 0 {
            wrong.push(format!("job {} has the id of a task of another", record.id));
        }
        if last > u64::from(state.last_job_id().0) {
            wrong.push(format!("tasks of job {} have ids that were never given", record.id));
        }
        before = last;
    }
}

/// The parts of an element that contradict its phase.
fn faults(element: &Element, launch: Launch, in_set: bool) -> Vec<&'static str> {
    let mut faults = Vec::new();
    let mut demand = |holds: bool, fault: &'static str| {
        if !holds {
            faults.push(fault);
        }
    };
    let is_done = element.phase == Phase::Done;
    demand(element.outcome.is_some() == is_done, "an outcome goes with Done and nothing else");
    demand(element.done_at.is_some() == is_done, "an end time goes with Done and nothing else");
    demand(element.faults.is_none() || !is_done, "a finished job keeps count of faults");
    let may_move = matches!(element.phase, Phase::Pending | Phase::Completing);
    demand(element.moving.is_none() || may_move, "a place is kept for it and it has one");
    demand(element.moving.is_none() || !in_set, "a place is kept for one component alone");
    let Some(run) = &element.run else {
        demand(matches!(element.phase, Phase::Pending | Phase::Done), "it has no allocation");
        return faults;
    };
    demand(element.phase != Phase::Pending, "a waiting job keeps an allocation");
    demand(element.attempt > Attempt(0), "it has an allocation and no attempt");
    if is_done {
        demand(run.shares.is_empty(), "a finished job keeps shares");
        demand(run.end.is_some(), "a finished attempt has no end");
        let over = run.over_at.is_none_or(|over| over >= run.allocated_at);
        demand(over, "it ended before it was given nodes");
        let ran = run.running_at.is_none_or(|ran| run.over_at.is_none_or(|over| ran <= over));
        demand(ran, "it ended before it ran");
        return faults;
    }
    let nodes = run.allocation.shares().len();
    demand(run.shares.len() == nodes, "shares and allocation differ in length");
    let all = |test: &dyn Fn(SharePhase) -> bool| run.shares.iter().all(|share| test(*share));
    let over = |share: SharePhase| share >= SharePhase::Succeeded;
    let decided = element.phase == Phase::Completing;
    demand(run.end.is_some() == decided, "an end goes with Completing and nothing else");
    let yields = run.end.as_ref().is_some_and(|end| end.preempted.is_some());
    let as_such = run.end.as_ref().is_some_and(|end| end.outcome == Outcome::Preempted);
    demand(yields == as_such, "it is preempted, and its outcome is another, or the reverse");
    demand(!all(&over) || in_set && decided, "every share is over, and the job is not");
    let leaves = |share: &SharePhase| *share == SharePhase::Leaving;
    let first = run.shares.iter().position(leaves).unwrap_or(run.shares.len());
    demand(first > 0, "its first node is given up");
    demand(run.shares[first..].iter().all(leaves), "it gives up nodes before its last ones");
    let runs_on = !matches!(element.phase, Phase::Starting);
    let was_resized = run.resized > 0 || !run.grown.is_empty();
    demand(first == run.shares.len() || was_resized && runs_on, "it gives up nodes, unasked");
    let begun = first - (run.joining as usize).min(first);
    let lives = matches!(element.phase, Phase::Running | Phase::Suspended);
    for (holds, fault) in growth(run, (begun, first), lives) {
        demand(holds, fault);
    }
    let gives = run.gives_to.is_none() || first < run.shares.len();
    demand(gives, "it gives up nothing, and that for a job");
    let still = element.phase == Phase::Suspended;
    demand(run.suspended_at.is_some() == still, "a stillness goes with Suspended and nothing else");
    let saved = run.saved_at.is_none_or(|at| at >= run.allocated_at);
    demand(saved, "it saved its work before it was given nodes");
    let mut rest = run.shares[..begun].iter().chain(&run.shares[first..]);
    let all_run = rest.all(|share| *share >= SharePhase::Running);
    demand(runs_on || in_set || !all_run, "all shares run, and it does not");
    demand(!lives || all_run, "a share does not run");
    demand(!lives || run.running_at.is_some(), "it runs since never");
    if !decided && (launch != Launch::Once || nodes == 1) {
        demand(all(&|share| share != SharePhase::Failed), "a share failed, and it goes on");
    }
    if !decided && launch == Launch::Once {
        demand(!run.shares.first().is_some_and(|s| over(*s)), "its script is over, and it is not");
    }
    faults
}

/// The invariants of shares that were given to a running job. Those from `begun` to `first` are
/// joining, those after them are leaving.
fn growth(run: &Run, (begun, first): (usize, usize), lives: bool) -> [(bool, &'static str); 6] {
    let (joining, grown) = (run.joining as usize, run.grown.len());
    let joiners = &run.shares[begun..first];
    let all_run = joiners.iter().all(|share| *share >= SharePhase::Running);
    let late = run.grown.iter().all(|given| Some(given.at) >= run.running_at);
    let again = run.allocation.shares().iter().any(|share| run.had.contains(&share.node));
    [
        (grown < run.allocation.shares().len(), "it began on no node"),
        (joining <= grown && joining < first, "more joins it than was given to it"),
        (joining == 0 || lives, "something joins it, and it does not run"),
        (joining == 0 || !all_run, "all that joins it runs, and joins it still"),
        (late, "it was given nodes while it ran, before it did"),
        (!again, "it has a node again that it had left"),
    ]
}

/// The index of unfinished elements agrees with the jobs.
fn check_live(state: &State, wrong: &mut Vec<String>) {
    let mut alive = BTreeSet::new();
    for record in state.jobs() {
        for (index, element) in &record.elements {
            if element.phase != Phase::Done {
                alive.insert(JobKey { job: record.id, index: *index });
            }
        }
    }
    let indexed: BTreeSet<JobKey> = state.live().collect();
    for key in alive.symmetric_difference(&indexed) {
        wrong.push(format!("job {key} is alive in one place and not in another"));
    }
}

fn check_queues(state: &State, wrong: &mut Vec<String>) {
    let Some(settings) = state.settings() else { return };
    let defaults = settings.queues.iter().filter(|queue| queue.default).count();
    if defaults != 1 {
        wrong.push(format!("{defaults} queues are the default"));
    }
    for key in state.live() {
        let queue = state.job(key.job).and_then(|record| record.spec.ask.queue.clone());
        if !settings.queues.iter().any(|known| Some(&known.name) == queue.as_ref()) {
            wrong.push(format!("job {key} waits in a queue that does not exist"));
        }
    }
}

/// No usage lies in the future, and no user is listed without usage.
fn check_usage(state: &State, wrong: &mut Vec<String>) {
    for (payer, hours) in state.usage().iter() {
        if hours.is_empty() {
            wrong.push(format!("user {} is charged nothing at all", payer.user));
        }
        if hours.keys().any(|hour| hour.begin() > state.now()) {
            wrong.push(format!("user {} is charged for a time to come", payer.user));
        }
    }
}

/// An answered request refers to a job of the same user.
fn check_requests(state: &State, wrong: &mut Vec<String>) {
    let mut answered = BTreeSet::new();
    for (uid, key, request) in state.requests() {
        match state.job(request.job) {
            None if request.job > state.last_job_id() => {
                wrong.push(format!("request {} leads to no job that there was", key.0));
            }
            None => {}
            Some(record) if record.spec.owner.uid != uid => {
                wrong.push(format!("request {} leads to another user's job", key.0));
            }
            Some(_) => {}
        }
        if !answered.insert(request.job) {
            wrong.push(format!("two requests lead to job {}", request.job));
        }
    }
}
