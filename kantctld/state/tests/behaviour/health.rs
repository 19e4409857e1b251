//! Nodes that report findings on their own health: they are drained, kept out, emptied, and used
//! again.

use crate::house::{House, OPERATOR, name, running, share};
use common::health::{Check, DrainCause, Finding, Response};
use common::id::{JobKey, Uid};
use common::job::{Ask, Outcome, Phase};
use common::wire::node::Want;
use state::{Command, Event};

fn finding(check: Check, response: Response) -> Finding {
    Finding { check, says: format!("something of {}", check.word()), response }
}

fn say(house: &mut House, findings: &[Finding]) -> Vec<Event> {
    house.apply(Command::ReportHealth { node: name("g1"), findings: findings.to_vec() })
}

fn cause(house: &House) -> Option<DrainCause> {
    house.state.node(&name("g1")).unwrap().drain.as_ref().map(|drain| drain.cause)
}

fn resume(house: &mut House) {
    house.apply(Command::ResumeNode { actor: OPERATOR, name: name("g1") });
}

#[test]
fn a_finding_drains_its_node_by_its_kind_and_disturbs_no_job() {
    let mut house = House::new();
    let key = JobKey::single(house.submit(Ask::default()));
    let id = house.start(key, vec![share("g1", 0, 2, &[])]);
    house.report("g1", id, running());
    let xid = finding(Check::GpuXid, Response::Drain);
    let events = say(&mut house, std::slice::from_ref(&xid));
    let reason = "gpu_xid: something of gpu_xid".to_owned();
    assert_eq!(events, [Event::NodeDrained { name: name("g1"), by: Uid(0), reason }]);
    assert_eq!(cause(&house), Some(DrainCause::Health(Check::GpuXid)));
    assert_eq!((house.phase(key), house.want("g1", id)), (Phase::Running, Some(Want::Run)));
    let view =
        query::view::node_view(&house.state, &query::viewer::Viewer::ALL, &name("g1")).unwrap();
    assert_eq!(view.findings, [xid]);
}

#[test]
fn a_warning_is_shown_and_drains_nothing() {
    let mut house = House::new();
    assert_eq!(say(&mut house, &[finding(Check::GpuThrottled, Response::Warn)]), []);
    assert_eq!(cause(&house), None);
    assert_eq!(house.state.node(&name("g1")).unwrap().findings.len(), 1);
}

#[test]
fn what_passes_ends_its_drain_and_broken_hardware_waits_for_an_operator() {
    let mut house = House::new();
    say(&mut house, &[finding(Check::DiskFull, Response::Drain)]);
    let events = say(&mut house, &[finding(Check::GpuThrottled, Response::Warn)]);
    assert_eq!(events, [Event::NodeResumed { name: name("g1"), by: Uid(0) }]);
    assert_eq!(cause(&house), None);

    let xid = finding(Check::GpuXid, Response::Drain);
    say(&mut house, std::slice::from_ref(&xid));
    // kantd was restarted and does not know the finding any more.
    assert_eq!(say(&mut house, &[]), []);
    assert_eq!(cause(&house), Some(DrainCause::Health(Check::GpuXid)));
    say(&mut house, std::slice::from_ref(&xid));
    resume(&mut house);
    assert_eq!(say(&mut house, &[xid]), [], "an operator has seen it");
    assert_eq!(cause(&house), None);
}

#[test]
fn what_an_operator_has_answered_holds_up_no_later_drains_end() {
    let mut house = House::new();
    let ecc = finding(Check::GpuEcc, Response::Drain);
    let script = finding(Check::Script, Response::Drain);
    say(&mut house, std::slice::from_ref(&ecc));
    resume(&mut house);
    say(&mut house, &[ecc.clone(), script.clone()]);
    assert_eq!(cause(&house), Some(DrainCause::Health(Check::Script)));
    let events = say(&mut house, std::slice::from_ref(&ecc));
    assert_eq!(events, [Event::NodeResumed { name: name("g1"), by: Uid(0) }]);
    assert_eq!(cause(&house), None);

    // Nor does it prolong a drain if an operator's drain came in between.
    let (actor, reason) = (OPERATOR, "new fans".to_owned());
    house.apply(Command::DrainNode { actor, name: name("g1"), reason });
    say(&mut house, &[ecc.clone(), script.clone()]);
    resume(&mut house);
    assert_eq!(say(&mut house, &[script.clone(), ecc.clone()]), [], "both are answered");
    assert_eq!(say(&mut house, std::slice::from_ref(&ecc)), []);
    say(&mut house, &[ecc.clone(), script]);
    assert_eq!(cause(&house), Some(DrainCause::Health(Check::Script)), "it was well meanwhile");
    say(&mut house, &[ecc]);
    assert_eq!(cause(&house), None);
}

#[test]
fn a_finding_that_an_operator_has_not_answered_drains_again() {
    let mut house = House::new();
    let xid =
        |says: &str| Finding { says: says.to_owned(), ..finding(Check::GpuXid, Response::Drain) };
    say(&mut house, &[xid("XID 79")]);
    resume(&mut house);
    assert_eq!(say(&mut house, &[xid("XID 79")]), []);
    say(&mut house, &[xid("XID 79 (2 times)")]);
    assert_eq!(cause(&house), Some(DrainCause::Health(Check::GpuXid)));
}

#[test]
fn a_drain_whose_cause_passed_goes_on_for_what_is_left_and_says_so() {
    let mut house = House::new();
    let xid = finding(Check::GpuXid, Response::Drain);
    let [script, disk] = [Check::Script, Check::DiskFull].map(|c| finding(c, Response::Drain));
    say(&mut house, std::slice::from_ref(&script));
    assert_eq!(say(&mut house, &[disk.clone(), script]), [], "it is drained already");
    say(&mut house, std::slice::from_ref(&disk));
    assert_eq!(cause(&house), Some(DrainCause::Health(Check::DiskFull)));
    let events = say(&mut house, &[xid, disk]);
    let reason = "gpu_xid: something of gpu_xid".to_owned();
    assert_eq!(events, [Event::NodeDrained { name: name("g1"), by: Uid(0), reason }]);
    // kantd was restarted and does not know the finding any more.
    assert_eq!(say(&mut house, &[]), []);
    assert_eq!(cause(&house), Some(DrainCause::Health(Check::GpuXid)));
}

#[test]
fn a_node_that_is_sick_again_and_again_is_held_out_until_an_operator_resumes_it() {
    let mut house = House::new();
    let disk = finding(Check::DiskFull, Response::Drain);
    for _ in 0..2 {
        say(&mut house, std::slice::from_ref(&disk));
        assert_eq!(cause(&house), Some(DrainCause::Health(Check::DiskFull)));
        house.wait(600);
        say(&mut house, &[]);
        assert_eq!(cause(&house), None);
    }
    say(&mut house, std::slice::from_ref(&disk));
    say(&mut house, &[]);
    assert_eq!(cause(&house), Some(DrainCause::Flapping(Check::DiskFull)));
    let drain = house.state.node(&name("g1")).unwrap().drain.clone().unwrap();
    assert!(drain.reason.contains("3 times within a day"), "{}", drain.reason);
    resume(&mut house);
    say(&mut house, std::slice::from_ref(&disk));
    assert_eq!(cause(&house), Some(DrainCause::Health(Check::DiskFull)), "counted again");
}

#[test]
fn what_happened_days_apart_is_no_flapping() {
    let mut house = House::new();
    for _ in 0..5 {
        say(&mut house, &[finding(Check::DiskFull, Response::Drain)]);
        say(&mut house, &[]);
        assert_eq!(cause(&house), None);
        house.wait(13 * 3600);
    }
}

#[test]
fn an_operators_drain_is_theirs_to_end() {
    let mut house = House::new();
    let (actor, reason) = (OPERATOR, "new fans".to_owned());
    house.apply(Command::DrainNode { actor, name: name("g1"), reason });
    assert_eq!(say(&mut house, &[finding(Check::DiskFull, Response::Drain)]), []);
    assert_eq!(say(&mut house, &[]), []);
    assert_eq!(cause(&house), Some(DrainCause::Operator));
}

#[test]
fn drained_at_once_its_jobs_start_again_elsewhere_if_they_may() {
    let mut house = House::new();
    let again = JobKey::single(house.submit(Ask::default()));
    let once = JobKey::single(house.submit(Ask { requeue: false, ..Ask::default() }));
    let ids = [(again, 0), (once, 2)].map(|(key, first)| {
        let id = house.start(key, vec![share("g1", first, 2, &[])]);
        house.report("g1", id, running());
        id
    });
    say(&mut house, &[finding(Check::ReadOnly, Response::DrainNow)]);
    for id in ids {
        assert_eq!(house.want("g1", id), Some(Want::Stop));
        let stopped = crate::house::end(common::job::EndCause::Stopped, 0);
        house.report("g1", id, stopped);
    }
    assert_eq!(house.phase(again), Phase::Pending);
    assert_eq!(house.outcome(once), Some(Outcome::NodeLost));
    let job = house.state.job(once.job).unwrap();
    assert!(format!("{job:?}").contains("no longer fit to run it"), "{job:?}");
}

#[test]
fn a_job_that_succeeded_before_it_was_ordered_to_leave_an_unfit_node_has_succeeded() {
    let mut house = House::new();
    let key = JobKey::single(house.submit(Ask::default()));
    let id = house.start(key, vec![share("g1", 0, 2, &[])]);
    house.report("g1", id, running());
    say(&mut house, &[finding(Check::ReadOnly, Response::DrainNow)]);
    house.report("g1", id, crate::house::exited(0));
    assert_eq!(house.outcome(key), Some(Outcome::Completed));
    let job = house.state.job(key.job).unwrap();
    assert!(!format!("{:?}", job.elements).contains("not fit"), "{job:?}");
}
