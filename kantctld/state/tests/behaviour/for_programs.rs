//! Jobs whose nodes are held for programs, and jobs with a lease.

use crate::house::{House, USER, end, running, share};
use common::id::{AttemptId, JobKey};
use common::job::{Ask, EndCause, ExitStatus, Launch, Outcome, Phase};
use common::time::Span;
use common::unit::{Nodes, Tasks};
use common::wire::node::{StepPhase, Want};
use state::{Command, Event, Target};

fn ask() -> Ask {
    let lease = Some(Span::from_minutes(1));
    let mut ask = Ask { launch: Launch::Held, lease, ..Ask::default() };
    ask.request.nodes = Some(Nodes(2));
    ask.request.tasks = Tasks(2);
    ask
}

/// A job that holds two nodes.
fn holding(house: &mut House) -> AttemptId {
    let key = JobKey::single(house.submit(ask()));
    let id = house.start(key, vec![share("g1", 0, 2, &[]), share("g2", 0, 2, &[])]);
    for phase in [StepPhase::Ready, running()] {
        house.report("g1", id, phase.clone());
        house.report("g2", id, phase);
    }
    assert_eq!(house.phase(key), Phase::Running);
    id
}

fn finish(key: JobKey, code: u8) -> Command {
    let exit = ExitStatus { code, signal: None };
    Command::FinishJob { actor: USER, target: Target { key }, exit }
}

#[test]
fn it_ends_as_its_holder_reports_once_its_nodes_are_released() {
    for (code, outcome) in [(0, Outcome::Completed), (3, Outcome::Failed)] {
        let mut house = House::new();
        let id = holding(&mut house);
        house.apply(finish(id.key, code));
        let wants = (house.want("g1", id), house.want("g2", id));
        assert_eq!(wants, (Some(Want::Stop), Some(Want::Stop)));
        assert_eq!(house.apply(finish(id.key, 9)), [], "said once");
        house.report("g1", id, end(EndCause::Stopped, 0));
        house.report("g2", id, end(EndCause::Stopped, 0));
        assert_eq!(house.outcome(id.key), Some(outcome));
        let end = house.element(id.key).run.as_ref().unwrap().end.clone().unwrap();
        assert_eq!(end.exit.map(|exit| exit.code), Some(code));
    }
}

#[test]
fn a_job_with_a_script_cannot_be_finished() {
    let mut house = House::new();
    let key = house.job();
    let events = house.apply(finish(key, 0));
    assert!(matches!(events.as_slice(), [Event::CommandRefused(_)]), "{events:?}");
    assert_eq!(house.phase(key), Phase::Pending);
}

#[test]
fn a_lease_that_is_over_ends_a_job_that_waits_and_one_that_runs() {
    let mut house = House::new();
    let waiting = JobKey::single(house.submit(ask()));
    let id = holding(&mut house);
    let leased: Vec<JobKey> = state::leased(&house.state).map(|(key, _)| key).collect();
    assert_eq!(leased, [waiting, id.key]);
    house.apply(Command::LeaseOver { key: waiting });
    assert_eq!(house.outcome(waiting), Some(Outcome::Cancelled));
    house.apply(Command::LeaseOver { key: id.key });
    assert_eq!((house.phase(id.key), house.want("g1", id)), (Phase::Completing, Some(Want::Stop)));
    assert_eq!(state::leased(&house.state).next(), None);
    let plain = house.job();
    assert_eq!(house.apply(Command::LeaseOver { key: plain }), [], "it lives on none");
}
