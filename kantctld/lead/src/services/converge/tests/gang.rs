//! A service whose base starts as a whole.

use super::*;
use common::job::SetPlace;
use common::resource::Allocation;
use common::service::Base;
use common::wire::node::StepPhase;
use state::RoundStart;

impl World {
    /// Starts all components on the first free CPUs.
    pub(super) fn begin_together(&mut self, set: SetPlace) {
        let ids = self.start_components(set);
        for phase in [StepPhase::Ready, running()] {
            for id in &ids {
                assert!(!matches!(self.house.phase(id.key), Phase::Pending | Phase::Done));
                self.house.report("n", *id, phase.clone());
            }
        }
    }

    /// Gives all components the first free CPUs.
    fn start_components(&mut self, set: SetPlace) -> Vec<AttemptId> {
        let held = self.house.state.ledger().holdings_on(&name("n")).map(|on| on.cpus());
        let is_free = |cpu: &u32| held.as_ref().is_none_or(|held| !held.contains(*cpu));
        let starts: Vec<RoundStart> = set
            .keys()
            .zip((0..CPUS).filter(is_free))
            .map(|(key, cpu)| RoundStart {
                id: self.house.attempt_of(key),
                allocation: Allocation::new(vec![share("n", cpu, 1, &[])]).unwrap(),
                group: Some(set.first_key()),
            })
            .collect();
        let ids: Vec<AttemptId> = starts.iter().map(|start| start.id).collect();
        let (preempts, shrinks, grows) = (Vec::new(), Vec::new(), Vec::new());
        self.house.apply(Command::EnactRound { preempts, shrinks, grows, starts });
        ids
    }

    /// The size of the set of each replica that waits; 1: it waits alone.
    fn waiting(&self) -> Vec<u32> {
        let waits = |one: &ReplicaNow| one.phase == Phase::Pending;
        let size = |one: ReplicaNow| {
            let record = self.house.state.job(one.key.job).unwrap();
            record.set.map_or(1, |set| set.size)
        };
        self.replicas().into_iter().filter(waits).map(size).collect()
    }

    /// What the leader decides now, without anything that follows.
    fn decide(&mut self) {
        let plan = plan_services(&self.house.state, &self.readiness, self.house.now);
        plan.commands.into_iter().for_each(|command| _ = self.house.apply(command));
    }

    fn stopped(&mut self, key: JobKey) {
        let id = self.house.element(key).attempt_id(key);
        self.house.report("n", id, end(EndCause::Stopped, 0));
    }

    fn cancel_all(&mut self) {
        self.is_judged = false;
        for key in self.replicas().into_iter().map(|one| one.key) {
            let cancel = self.house.cancel(key);
            self.house.apply(cancel);
        }
    }
}

/// Two roles, of which 2 and 1 replicas are the base.
fn change(spec: &mut ServiceSpec) {
    let mut second = spec.roles[0].clone();
    second.name = "decode".parse().unwrap();
    spec.roles[0].replicas.min = 2;
    spec.roles.push(second);
    spec.base = Base::Gang;
}

#[test]
fn the_base_of_all_roles_is_submitted_as_a_whole_and_what_is_beyond_it_later() {
    let mut world = World::new();
    world.house.apply(deployment("a", change));
    world.decide();
    assert_eq!(world.waiting(), [3, 3, 3]);
    let scale = |role: &str| ServiceAction::Scale { role: role.parse().unwrap(), replicas: 3 };
    world.act(scale("decode"));
    world.decide();
    assert_eq!(world.waiting(), [3, 3, 3, 1, 1]);
    world.ticks(20);
    assert_eq!((world.ready(), world.waiting().len()), (5, 0));
    let healthy = world.service().unwrap().healthy;
    assert_eq!(healthy, Some(Revision(1)));
}

#[test]
fn one_that_ends_is_replaced_alone_and_all_together_when_none_is_left() {
    let mut world = World::new();
    world.house.apply(deployment("a", change));
    world.ticks(20);
    let before: Vec<JobKey> = world.replicas().iter().map(|one| one.key).collect();
    let cancel = world.house.cancel(before[0]);
    world.is_judged = false;
    world.house.apply(cancel);
    world.stopped(before[0]);
    world.decide();
    assert_eq!(world.waiting(), [1]);
    world.ticks(20);
    let after: Vec<JobKey> = world.replicas().iter().map(|one| one.key).collect();
    assert_eq!((after.len(), &after[..2]), (3, &before[1..]), "the others ran on");
    world.cancel_all();
    for key in &after {
        world.decide();
        assert_eq!(world.waiting(), [0; 0], "the others still hold nodes");
        world.stopped(*key);
    }
    world.decide();
    assert_eq!(world.waiting(), [3, 3, 3]);
}

#[test]
fn an_update_of_a_base_that_still_starts_waits_until_it_is_gone() {
    let mut world = World::new();
    world.house.apply(deployment("a", change));
    world.decide();
    let set = world.house.state.job(world.replicas()[0].key.job).unwrap().set.unwrap();
    world.start_components(set);
    world.house.apply(deployment("b", change));
    for key in set.keys() {
        (0..3).for_each(|_| world.decide());
        assert_eq!(world.waiting(), [0; 0], "the old base holds nodes");
        world.stopped(key);
    }
    world.decide();
    assert_eq!(world.waiting(), [3, 3, 3]);
}

#[test]
fn an_update_replaces_one_by_one_but_a_base_that_waits_as_a_whole() {
    let mut world = World::new();
    world.house.apply(deployment("a", change));
    world.decide();
    world.house.apply(deployment("b", change));
    // The first look takes the old base back.
    (0..3).for_each(|_| world.decide());
    assert_eq!(world.waiting(), [3, 3, 3]);
    assert!(world.replicas().iter().all(|one| one.revision == Revision(2)));
    world.ticks(20);
    assert_eq!(world.ready(), 3);
    world.house.apply(deployment("c", change));
    // The judge looks after each second.
    world.ticks(120);
    assert!(world.replicas().iter().all(|one| one.revision == Revision(3)));
    assert_eq!((world.ready(), world.service().unwrap().healthy), (3, Some(Revision(3))));
}

#[test]
fn a_base_waits_until_each_of_its_places_may_start() {
    let mut world = World::new();
    world.behaviour = vec![(1, Behaviour::Crashes)];
    world.house.apply(deployment("a", change));
    // All three fail twice in a row, and wait for ten seconds.
    while world.service().unwrap().failures.iter().filter(|one| one.in_a_row == 2).count() < 3 {
        world.tick();
    }
    world.decide();
    assert_eq!(world.replicas().len(), 0, "{:?}", world.replicas());
    world.house.wait(20);
    world.decide();
    assert_eq!(world.waiting(), [3, 3, 3]);
}
