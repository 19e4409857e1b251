//! What a leader decides from incomplete knowledge: a new leader has no reports yet, replicas have
//! just become ready, or stop being so.

use super::*;
use common::service::StopReason;
use common::wire::node::StepStatus;

fn three_replicas(spec: &mut ServiceSpec) {
    spec.roles[0].replicas.min = 3;
}

impl World {
    /// A new leader begins its term.
    fn fail_over(&mut self) {
        self.readiness.start_term(self.house.now);
    }

    fn report(&mut self, ordinal: u32, health: ReplicaHealth) {
        let found = self.replicas().into_iter().find(|one| one.ordinal == Ordinal(ordinal));
        let key = found.unwrap().key;
        let id = self.house.element(key).attempt_id(key);
        let status = ReplicaStatus { id, health, ports: Vec::new(), why: None };
        self.readiness.note_report(&name("n"), vec![status], self.house.now);
    }

    /// The replicas that the next step stops, and why.
    fn stops(&self) -> Vec<StopReason> {
        let plan = plan_services(&self.house.state, &self.readiness, self.house.now);
        let stops = plan.commands.iter().filter_map(|command| match command {
            Command::StopReplica { why, .. } => Some(*why),
            _ => None,
        });
        stops.collect()
    }

    fn starts(&self) -> usize {
        let plan = plan_services(&self.house.state, &self.readiness, self.house.now);
        let is_start = |command: &&Command| matches!(command, Command::StartReplicas { .. });
        plan.commands.iter().filter(is_start).count()
    }

    fn has_failed(&self) -> bool {
        self.has_event(|event| matches!(event, ServiceEventKind::UpdateFailed { .. }))
    }
}

#[test]
fn a_new_leader_stops_no_replica_before_nodes_have_reported() {
    let mut world = World::new();
    world.house.apply(deployment("a", three_replicas));
    world.ticks(20);
    world.house.apply(deployment("b", three_replicas));
    world.fail_over();
    assert_eq!(world.stops(), [], "it knows of no replica whether it is ready");
    // One node of three reports in time. The others may be ready, and nothing replaces them yet.
    world.house.wait(16);
    world.report(0, ReplicaHealth::Ready);
    assert_eq!(world.stops(), []);
    // A replica that is known not to be ready is of no use.
    world.report(1, ReplicaHealth::NotReady);
    assert_eq!(world.stops(), [StopReason::Replaced]);
}

/// A service with a port, all of whose replicas have reported to a new leader, but not that of
/// another service with a port, so that routers still have the table of the last leader.
fn without_a_table() -> (World, Vec<ReplicaStatus>) {
    let mut world = World::new();
    let deploy = |name, port| testkit::deployment(name, "#!/bin/sh\n", |spec| spec.port = port);
    world.house.apply(Command::DeployService(Box::new(deploy("other", Some(8001)))));
    world.ticks(1);
    let other = world.house.state.jobs().next().unwrap();
    let key = other.key(*other.elements.first_key_value().unwrap().0);
    world.begin(key);
    let id = world.house.element(key).attempt_id(key);
    let health = ReplicaHealth::Ready;
    let status = ReplicaStatus { id, health, ports: Vec::new(), why: None };
    let with_port = |spec: &mut ServiceSpec| {
        three_replicas(spec);
        spec.port = Some(8000);
    };
    world.house.apply(deployment("a", with_port));
    world.ticks(20);
    world.fail_over();
    world.report(0, ReplicaHealth::Ready);
    world.report(1, ReplicaHealth::Ready);
    world.report(2, ReplicaHealth::NotReady);
    world.house.apply(deployment("b", with_port));
    (world, vec![status])
}

#[test]
fn no_replica_stops_while_routers_go_on_with_the_table_of_the_last_leader() {
    let (mut world, missing) = without_a_table();
    let table = |world: &World| routes(&world.house.state, &world.readiness, world.house.now);
    assert_eq!((world.stops(), table(&world)), (Vec::new(), None));
    assert_eq!(world.starts(), 1, "the update begins nevertheless");
    world.readiness.note_report(&name("n"), missing, world.house.now);
    assert_eq!(world.stops(), [StopReason::Replaced]);
    assert!(table(&world).is_some());

    let (mut world, _) = without_a_table();
    world.act(ServiceAction::Stop);
    assert_eq!(world.stops(), []);
    world.house.wait(REPORTS_MAX.seconds());
    assert_eq!(world.stops(), [StopReason::ServiceStopped; 3]);
    assert!(table(&world).is_some());
}

#[test]
fn replicas_that_have_just_become_ready_are_not_replaced_all_at_once() {
    let mut world = World::new();
    world.house.apply(deployment("a", three_replicas));
    // Ready, and not healthy yet.
    world.ticks(6);
    assert_eq!(world.ready(), 3);
    world.house.apply(deployment("b", three_replicas));
    assert_eq!(world.stops(), []);
    world.ticks(120);
    assert!(world.replicas().iter().all(|replica| replica.revision == Revision(2)));
}

#[test]
fn a_long_update_goes_on_under_a_new_leader() {
    let mut world = World::new();
    world.house.apply(deployment("a", three_replicas));
    world.ticks(20);
    world.house.apply(deployment("b", three_replicas));
    world.ticks(20);
    // Both deadlines have passed since the update and its first replica began.
    let update = common::service::UpdatePolicy::default();
    world.house.wait(update.healthy_deadline.seconds() + update.progress_deadline.seconds());
    world.fail_over();
    world.ticks(120);
    assert!(!world.has_failed());
    assert_eq!(world.service().unwrap().healthy, Some(Revision(2)));
}

#[test]
fn a_new_replica_that_is_not_ready_for_a_moment_does_not_fail_the_update() {
    let mut world = World::new();
    world.house.apply(deployment("a", three_replicas));
    world.ticks(20);
    let with_canary = |spec: &mut ServiceSpec| {
        three_replicas(spec);
        spec.update.canary = 1;
    };
    world.house.apply(deployment("b", with_canary));
    world.ticks(400);
    let canary = world.replicas().into_iter().find(|one| one.revision == Revision(2)).unwrap();
    let id = world.house.element(canary.key).attempt_id(canary.key);
    let health = ReplicaHealth::NotReady;
    let status = ReplicaStatus { id, health, ports: Vec::new(), why: None };
    world.readiness.note_report(&name("n"), vec![status], world.house.now);
    world.ticks(5);
    assert!(!world.has_failed());
}

#[test]
fn surplus_replicas_stay_while_those_in_the_lower_places_are_not_ready() {
    let mut world = World::new();
    world.house.apply(deployment("a", |spec| spec.roles[0].replicas.min = 2));
    world.scale(4);
    world.ticks(20);
    world.report(0, ReplicaHealth::NotReady);
    world.report(1, ReplicaHealth::NotReady);
    world.scale(2);
    assert_eq!(world.stops(), [StopReason::ScaledDown], "one may be missing, and two are ready");
    world.report(0, ReplicaHealth::Ready);
    assert_eq!(world.stops(), [StopReason::ScaledDown; 2]);
}

/// Two ready replicas, the canary of a second revision, which never gets ready, and a third
/// revision with a canary. Returns the canary of the second one, of which one replica too many is
/// left.
fn with_a_useless_canary() -> (World, ReplicaNow) {
    let mut world = World::new();
    world.behaviour = vec![(2, Behaviour::NeverReady)];
    let change = |canary| {
        move |spec: &mut ServiceSpec| {
            spec.roles[0].replicas.min = 2;
            spec.update.canary = canary;
            // As many beyond the wanted ones as are replaced at once, so none may be missing.
            (spec.update.max_parallel, spec.update.max_surge) = (2, 2);
        }
    };
    world.house.apply(deployment("a", change(0)));
    world.ticks(20);
    world.house.apply(deployment("b", change(1)));
    world.ticks(5);
    let canary = world.replicas().into_iter().find(|one| one.revision == Revision(2)).unwrap();
    assert_eq!((canary.ordinal, canary.is_ready()), (Ordinal(0), false));
    world.house.apply(deployment("c", change(1)));
    world.fail_over();
    world.house.wait(16);
    (world, canary)
}

#[test]
fn of_old_replicas_the_one_known_not_to_be_ready_stops_before_those_that_may_be() {
    let (mut world, canary) = with_a_useless_canary();
    let id = world.house.element(canary.key).attempt_id(canary.key);
    let (health, ports) = (ReplicaHealth::NotReady, Vec::new());
    let status = ReplicaStatus { id, health, ports, why: None };
    // Of the others nothing is known: their node is not in contact with the new leader.
    world.readiness.note_report(&name("n"), vec![status], world.house.now);
    let plan = plan_services(&world.house.state, &world.readiness, world.house.now);
    let stops: Vec<JobKey> = plan
        .commands
        .iter()
        .filter_map(|command| match command {
            Command::StopReplica { key, .. } => Some(*key),
            _ => None,
        })
        .collect();
    assert_eq!(stops, [canary.key]);
}

#[test]
fn old_replicas_that_may_be_ready_stay_while_canaries_wait_and_none_may_be_missing() {
    let (mut world, _) = with_a_useless_canary();
    assert_eq!(world.stops(), [], "it knows of no replica whether it is ready");
    world.report(1, ReplicaHealth::Ready);
    assert_eq!(world.stops(), [], "two are wanted, and one is ready");
}

#[test]
fn surplus_and_old_replicas_that_stop_together_do_not_leave_too_few() {
    let mut world = World::new();
    world.house.apply(deployment("a", |_| {}));
    world.scale(2);
    world.ticks(20);
    // The first revision loses the place that the second one takes.
    let first = world.replicas().into_iter().find(|one| one.ordinal == Ordinal(0)).unwrap();
    let cancel = world.house.cancel(first.key);
    world.house.apply(deployment("b", |_| {}));
    world.house.apply(cancel);
    world.is_judged = false;
    world.ticks(6);
    assert_eq!(world.ready(), 2);
    world.act(ServiceAction::RollBack { to: None });
    world.scale(1);
    assert_eq!(world.stops(), [StopReason::ScaledDown], "{:?}", world.replicas());
}

#[test]
fn a_replica_that_was_preempted_still_counts() {
    let mut world = World::new();
    let change = |spec: &mut ServiceSpec| spec.roles[0].replicas.min = 2;
    world.house.apply(deployment("a", change));
    world.ticks(20);
    world.house.apply(deployment("b", change));
    world.ticks(1);
    let all: Vec<ReplicaNow> = world.replicas();
    assert_eq!(all.len(), 3, "two, and one beyond");
    let old = all.iter().find(|one| one.revision == Revision(1)).unwrap();
    let requeue = world.house.requeue(old.key);
    world.house.apply(requeue);
    assert_eq!(world.house.phase(old.key), Phase::Completing);
    assert_eq!(world.starts(), 0, "{:?}", world.replicas());
}

#[test]
fn fewer_replicas_also_end_while_canaries_wait_or_the_update_is_paused() {
    for (canary, is_paused) in [(1, false), (0, true)] {
        let mut world = World::new();
        world.house.apply(deployment("a", |_| {}));
        world.scale(4);
        world.ticks(20);
        world.house.apply(deployment("b", |spec| spec.update.canary = canary));
        if is_paused {
            world.act(ServiceAction::Pause);
        }
        world.scale(1);
        world.ticks(30);
        let old = world.replicas().iter().filter(|one| one.revision == Revision(1)).count();
        let new = world.replicas().len() - old;
        assert_eq!((old, new), (1, canary as usize));
    }
}

#[test]
fn replicas_on_a_drained_node_stop_as_many_at_a_time_as_may_be_missing() {
    let mut world = World::new();
    world.house.apply(deployment("a", three_replicas));
    world.ticks(20);
    let (actor, name, reason) = (testkit::house::OPERATOR, name("n"), "fan".to_owned());
    world.house.apply(Command::DrainNode { actor, name, reason });
    assert_eq!(world.stops(), [StopReason::Replaced]);
    for command in plan_services(&world.house.state, &world.readiness, world.house.now).commands {
        world.house.apply(command);
    }
    assert_eq!((world.stops().len(), world.starts()), (0, 0), "it is missing, and still ends");
    let ending = world.replicas().into_iter().find(ReplicaNow::is_ending).unwrap();
    let id = world.house.element(ending.key).attempt_id(ending.key);
    world.house.report("n", id, end(EndCause::Stopped, 0));
    assert_eq!((world.stops().len(), world.starts()), (0, 1));
}

#[test]
fn replicas_of_a_silent_node_are_not_ready_until_it_reports_again() {
    let mut world = World::new();
    world.house.apply(deployment("a", three_replicas));
    world.ticks(20);
    world.house.silence("n");
    let silent_for = |world: &mut World, seconds| {
        world.house.wait(seconds);
        world.readiness.prune(&world.house.state, world.house.now);
        let service = world.service().unwrap();
        let found = crate::services::endpoints(&world.house.state, service, &world.readiness);
        (world.ready(), found.len())
    };
    assert_eq!(silent_for(&mut world, 39), (3, 3), "kantd may be restarted");
    assert_eq!(silent_for(&mut world, 2), (0, 0));
    assert_eq!((world.stops().len(), world.starts()), (0, 0), "they may still run");
    let steps: Vec<StepStatus> = world
        .replicas()
        .iter()
        .map(|one| world.house.element(one.key).attempt_id(one.key))
        .map(|id| StepStatus { id, phase: running() })
        .collect();
    let hello = world.house.hello("n", inventory(CPUS, 256, 0), &steps);
    world.house.apply(hello);
    world.report(1, ReplicaHealth::Ready);
    assert_eq!(world.ready(), 1);
}
