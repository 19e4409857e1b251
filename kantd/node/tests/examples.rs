//! Examples of a node's next actions.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod fixtures;

use common::id::AttemptId;
use common::job::EndCause;
use common::time::Span;
use common::wire::node::{DesiredStep, Resized, StepPhase, StepStatus, Want};
use fixtures::{change, ended, id, order, ordered, running, suspended_phase, wanted, whole};
use node::{DeclineReason, Desired, DesiredError, NodeAction, Observed, reconcile};

fn desired(steps: Vec<DesiredStep>) -> Desired {
    let mut desired = Desired::new();
    desired.apply(whole(steps)).unwrap();
    desired
}

fn observed(steps: Vec<(AttemptId, StepPhase)>) -> Observed {
    steps.into_iter().map(|(id, phase)| StepStatus { id, phase }).collect()
}

fn next(wants: Vec<DesiredStep>, holds: Vec<(AttemptId, StepPhase)>) -> Vec<NodeAction> {
    reconcile(&desired(wants), &observed(holds))
}

#[test]
fn a_wanted_step_is_launched_then_waits_then_goes() {
    let a = id(1, 1);
    let run = || vec![ordered(a, Want::Run)];
    assert_eq!(next(run(), vec![]), [NodeAction::Launch(order(a))]);
    assert_eq!(next(run(), vec![(a, StepPhase::Preparing)]), []);
    assert_eq!(next(run(), vec![(a, StepPhase::Ready)]), [NodeAction::Go(a)]);
    assert_eq!(next(run(), vec![(a, running())]), []);
    assert_eq!(next(run(), vec![(a, ended(EndCause::Exited))]), []);
}

#[test]
fn a_gang_member_is_prepared_and_waits_until_it_may_run() {
    let a = id(1, 1);
    let prepare = || vec![ordered(a, Want::Prepare)];
    assert_eq!(next(prepare(), vec![]), [NodeAction::Launch(order(a))]);
    assert_eq!(next(prepare(), vec![(a, StepPhase::Ready)]), []);
}

#[test]
fn a_step_that_is_to_stop_or_is_unwanted_is_stopped() {
    let a = id(1, 1);
    for phase in [StepPhase::Preparing, StepPhase::Ready, running()] {
        let holds = || vec![(a, phase.clone())];
        assert_eq!(next(vec![ordered(a, Want::Stop)], holds()), [NodeAction::Stop(a)]);
        assert_eq!(next(vec![], holds()), [NodeAction::Stop(a)]);
    }
}

#[test]
fn a_step_is_suspended_exactly_while_that_is_wanted() {
    let a = id(1, 1);
    let run = |suspended| vec![DesiredStep { suspended, ..ordered(a, Want::Run) }];
    assert_eq!(next(run(true), vec![(a, running())]), [NodeAction::Suspend(a)]);
    assert_eq!(next(run(true), vec![(a, suspended_phase())]), []);
    assert_eq!(next(run(false), vec![(a, suspended_phase())]), [NodeAction::Resume(a)]);
    // It must run first; a step that is to stop is stopped even if it is suspended.
    assert_eq!(next(run(true), vec![(a, StepPhase::Ready)]), [NodeAction::Go(a)]);
    assert_eq!(
        next(vec![ordered(a, Want::Stop)], vec![(a, suspended_phase())]),
        [NodeAction::Stop(a)]
    );
}

#[test]
fn a_step_gets_each_time_limit_once() {
    let a = id(1, 1);
    let limit = Span::from_minutes;
    let run = DesiredStep { time_limit: Some(limit(5)), ..ordered(a, Want::Run) };
    let mut holds = observed(vec![(a, running())]);
    let next =
        |step: &DesiredStep, holds: &Observed| reconcile(&desired(vec![step.clone()]), holds);
    assert_eq!(next(&run, &holds), [NodeAction::Limit(a, limit(5))]);
    holds.record_limit(a, limit(5));
    assert_eq!(next(&run, &holds), []);
    let less = DesiredStep { time_limit: Some(limit(3)), ..run.clone() };
    assert_eq!(next(&less, &holds), [NodeAction::Limit(a, limit(3))]);
    let stop = DesiredStep { want: Want::Stop, ..less };
    assert_eq!(next(&stop, &holds), [NodeAction::Stop(a)]);
}

#[test]
fn a_running_step_gets_each_size_of_its_job_once() {
    let a = id(1, 1);
    let allocation = order(a).allocation;
    let resized = |number| {
        let (allocation, addresses) = (allocation.clone(), Vec::new());
        Some(Box::new(Resized { number, allocation, addresses, signal: None }))
    };
    let run = |number| DesiredStep { resized: resized(number), ..ordered(a, Want::Run) };
    let mut holds = observed(vec![(a, running())]);
    let next =
        |step: &DesiredStep, holds: &Observed| reconcile(&desired(vec![step.clone()]), holds);
    assert_eq!(next(&run(1), &holds), [NodeAction::Resize(a, resized(1).unwrap())]);
    holds.record_resize(a, 1);
    assert_eq!(next(&run(1), &holds), []);
    assert_eq!(next(&run(2), &holds), [NodeAction::Resize(a, resized(2).unwrap())]);
    holds.record_resize(a, 2);
    assert_eq!(next(&run(1), &holds), [], "an old size");
    // It must run first; a step that is to stop is stopped without a resize.
    let ready = observed(vec![(a, StepPhase::Ready)]);
    assert_eq!(next(&run(3), &ready), [NodeAction::Go(a)]);
    let stop = DesiredStep { want: Want::Stop, ..run(3) };
    assert_eq!(next(&stop, &holds), [NodeAction::Stop(a)]);
}

#[test]
fn an_ended_step_is_kept_until_it_is_no_longer_wanted() {
    let a = id(1, 1);
    let over = || vec![(a, ended(EndCause::Exited))];
    for want in [Want::Prepare, Want::Run, Want::Stop] {
        assert_eq!(next(vec![ordered(a, want)], over()), []);
    }
    assert_eq!(next(vec![], over()), [NodeAction::Forget(a)]);
}

#[test]
fn a_new_attempt_waits_until_the_old_one_has_ended() {
    let (old, new) = (id(1, 1), id(1, 2));
    let wants = || vec![ordered(old, Want::Stop), ordered(new, Want::Run)];
    assert_eq!(next(wants(), vec![(old, running())]), [NodeAction::Stop(old)]);
    let over = vec![(old, ended(EndCause::Stopped))];
    assert_eq!(next(wants(), over), [NodeAction::Launch(order(new))]);
    // An old attempt that the controller does not list blocks the new one too.
    let only_new = vec![ordered(new, Want::Run)];
    assert_eq!(next(only_new, vec![(old, running())]), [NodeAction::Stop(old)]);
}

#[test]
fn nothing_is_launched_while_an_unwanted_step_may_use_its_cpus() {
    let (unwanted, new) = (id(1, 1), id(2, 1));
    let wants = || vec![ordered(new, Want::Run)];
    assert_eq!(next(wants(), vec![(unwanted, running())]), [NodeAction::Stop(unwanted)]);
    let over = vec![(unwanted, ended(EndCause::Stopped))];
    let launch = NodeAction::Launch(order(new));
    assert_eq!(next(wants(), over), [NodeAction::Forget(unwanted), launch]);
}

#[test]
fn an_attempt_older_than_one_here_is_never_launched() {
    let (old, new) = (id(1, 1), id(1, 2));
    let superseded = NodeAction::Decline(old, DeclineReason::Superseded);
    let both = vec![ordered(old, Want::Run), ordered(new, Want::Run)];
    assert_eq!(next(both.clone(), vec![(new, running())]), vec![superseded.clone()]);
    assert_eq!(next(both, vec![]), [superseded, NodeAction::Launch(order(new))]);
}

#[test]
fn an_attempt_that_cannot_run_here_is_declined() {
    let a = id(1, 1);
    assert_eq!(
        next(vec![ordered(a, Want::Stop)], vec![]),
        [NodeAction::Decline(a, DeclineReason::StoppedBeforeLaunch)]
    );
    let not_held = NodeAction::Decline(a, DeclineReason::NotHeld);
    assert_eq!(next(vec![wanted(a, Want::Run)], vec![]), vec![not_held.clone()]);
    // An order for another attempt is no order for this one.
    let mixed_up = DesiredStep { order: Some(order(id(2, 1))), ..ordered(a, Want::Run) };
    assert_eq!(next(vec![mixed_up], vec![]), [not_held]);
}

#[test]
fn a_forgotten_attempt_is_never_launched_again() {
    let mut observed = observed(vec![(id(1, 2), ended(EndCause::Exited))]);
    observed.forget(id(1, 2));
    let again = |attempt| desired(vec![ordered(id(1, attempt), Want::Run)]);
    let declined = |attempt, reason| vec![NodeAction::Decline(id(1, attempt), reason)];
    assert_eq!(reconcile(&again(1), &observed), declined(1, DeclineReason::Superseded));
    assert_eq!(reconcile(&again(2), &observed), declined(2, DeclineReason::EndedBefore));
    assert_eq!(reconcile(&again(3), &observed), [NodeAction::Launch(order(id(1, 3)))]);
}

#[test]
fn nothing_happens_before_a_full_update_on_this_connection() {
    let observed = observed(vec![(id(1, 1), running()), (id(2, 1), ended(EndCause::Exited))]);
    let mut desired = Desired::new();
    assert_eq!(reconcile(&desired, &observed), []);
    let early = change(vec![ordered(id(3, 1), Want::Run)], vec![id(1, 1)]);
    assert_eq!(desired.apply(early), Err(DesiredError::ChangeBeforeWhole));
    assert_eq!(reconcile(&desired, &observed), []);
    desired.apply(whole(vec![])).unwrap();
    assert_eq!(
        reconcile(&desired, &observed),
        [NodeAction::Stop(id(1, 1)), NodeAction::Forget(id(2, 1))]
    );
    desired.invalidate();
    assert_eq!(reconcile(&desired, &observed), []);
}

#[test]
fn a_change_keeps_the_rest_and_a_repeated_want_keeps_its_order() {
    let (a, b) = (id(1, 1), id(2, 1));
    let mut desired = desired(vec![ordered(a, Want::Prepare), ordered(b, Want::Run)]);
    desired.apply(change(vec![wanted(a, Want::Run)], vec![])).unwrap();
    assert_eq!(
        reconcile(&desired, &Observed::new()),
        [NodeAction::Launch(order(a)), NodeAction::Launch(order(b))]
    );
    desired.apply(change(vec![], vec![b])).unwrap();
    assert_eq!(reconcile(&desired, &Observed::new()), [NodeAction::Launch(order(a))]);
    desired.apply(whole(vec![wanted(a, Want::Run)])).unwrap();
    assert_eq!(reconcile(&desired, &Observed::new()), [NodeAction::Launch(order(a))]);
}

#[test]
fn a_report_has_the_changes_only() {
    let earlier = observed(vec![(id(1, 1), running()), (id(2, 1), running())]);
    let mut later = earlier.clone();
    assert_eq!(later.changes_since(&earlier), []);
    later.insert(id(2, 1), ended(EndCause::Exited));
    later.insert(id(3, 1), StepPhase::Preparing);
    later.forget(id(1, 1));
    let changed: Vec<AttemptId> = later.changes_since(&earlier).iter().map(|s| s.id).collect();
    assert_eq!(changed, [id(2, 1), id(3, 1)]);
}
