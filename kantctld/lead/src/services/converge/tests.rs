//! Services in a model world: the commands of `converge` are applied to a real state, and replicas
//! start, become ready and fail as each test says. The judge of the state looks after each command.

mod gang;
mod knowledge;

use super::super::{Readiness, plan_services, replicas, routes};
use super::*;
use common::id::{AttemptId, Ordinal, ServiceName};
use common::job::{EndCause, Probe, ProbeAction, ReplicaHealth, ReplicaStatus};
use common::service::{ServiceEventKind, ServiceSpec};
use common::time::Span;
use proptest::prelude::*;
use state::ServiceAction;
use state::service::FAILURES_MAX;
use testkit::house::{House, USER, end, exited, inventory, name, running, share};

const CPUS: u32 = 64;
const READY_AFTER: u64 = 3;

/// What the replicas of a revision do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Behaviour {
    Works,
    NeverReady,
    Crashes,
}

struct World {
    house: House,
    readiness: Readiness,
    /// Of revisions that are not named, replicas work.
    behaviour: Vec<(u32, Behaviour)>,
    /// Whether the minimum of ready replicas has been reached, from which on it is judged.
    is_judged: bool,
}

fn service_name() -> ServiceName {
    "chat".parse().unwrap()
}

fn role_name() -> RoleName {
    "worker".parse().unwrap()
}

/// A specification whose script holds this text, so that another text makes another revision.
fn deployment(text: &str, change: impl FnOnce(&mut ServiceSpec)) -> Command {
    let script = format!("#!/bin/sh\nserve {text}\n");
    Command::DeployService(Box::new(testkit::deployment("chat", &script, |spec| {
        let role = &mut spec.roles[0];
        role.replicas.max = 6;
        let line = "true".to_owned();
        role.probes.readiness = Some(Probe::new(ProbeAction::Command { line }));
        change(spec);
    })))
}

impl World {
    fn new() -> Self {
        let mut house = House::empty();
        let hello = house.hello("n", inventory(CPUS, 256, 0), &[]);
        house.apply(hello);
        let readiness = Readiness::default();
        Self { house, readiness, behaviour: Vec::new(), is_judged: false }
    }

    fn act(&mut self, action: ServiceAction) {
        // Another number of replicas needs time.
        self.is_judged = false;
        let (actor, name) = (USER, service_name());
        self.house.apply(Command::ActOnService { actor, name, action });
    }

    fn scale(&mut self, replicas: u32) {
        self.act(ServiceAction::Scale { role: role_name(), replicas });
    }

    fn service(&self) -> Option<&Service> {
        self.house.state.service(&service_name())
    }

    fn replicas(&self) -> Vec<ReplicaNow> {
        let service = self.service();
        let all = service.map(|one| replicas(&self.house.state, one, &self.readiness));
        all.unwrap_or_default()
    }

    fn ready(&self) -> usize {
        self.replicas().iter().filter(|replica| replica.ready_since.is_some()).count()
    }

    fn has_event(&self, is_it: impl Fn(&ServiceEventKind) -> bool) -> bool {
        self.service().is_some_and(|one| one.events.iter().any(|event| is_it(&event.kind)))
    }

    fn behaviour_of(&self, revision: Revision) -> Behaviour {
        let found = self.behaviour.iter().find(|(of, _)| *of == revision.0);
        found.map_or(Behaviour::Works, |(_, behaviour)| *behaviour)
    }

    /// One second: commands are carried out, then replicas do what they do, then the judge looks.
    fn tick(&mut self) {
        self.readiness.prune(&self.house.state, self.house.now);
        let plan = plan_services(&self.house.state, &self.readiness, self.house.now);
        for command in plan.commands {
            self.house.apply(command);
        }
        for replica in self.replicas() {
            let id = self.house.element(replica.key).attempt_id(replica.key);
            match replica.phase {
                Phase::Pending => self.begin(replica.key),
                Phase::Completing => {
                    self.house.report("n", id, end(EndCause::Stopped, 0));
                }
                Phase::Running => self.live(&replica, id),
                _ => {}
            }
        }
        self.house.wait(1);
        self.judge();
    }

    fn ticks(&mut self, seconds: u32) {
        (0..seconds).for_each(|_| self.tick());
    }

    /// Starts a replica on the first free CPU, with all that start together with it.
    fn begin(&mut self, key: JobKey) {
        if self.house.phase(key) != Phase::Pending {
            return;
        }
        if let Some(set) = self.house.state.job(key.job).and_then(|record| record.set) {
            if set.offset == 0 {
                self.begin_together(set);
            }
            return;
        }
        let held = self.house.state.ledger().holdings_on(&name("n")).map(|on| on.cpus());
        let is_free = |cpu: &u32| held.as_ref().is_none_or(|held| !held.contains(*cpu));
        let Some(cpu) = (0..CPUS).find(is_free) else { return };
        let id = self.house.start(key, vec![share("n", cpu, 1, &[])]);
        self.house.report("n", id, running());
    }

    fn live(&mut self, replica: &ReplicaNow, id: AttemptId) {
        let ran = replica.running_at.map_or(Span(0), |since| self.house.now.since(since));
        match self.behaviour_of(replica.revision) {
            Behaviour::Crashes if ran >= Span::from_seconds(1) => {
                self.house.report("n", id, exited(1));
            }
            Behaviour::Works if ran >= Span::from_seconds(READY_AFTER) => {
                self.report_health(id, ReplicaHealth::Ready);
            }
            // As kantd does for a replica that it begins to probe.
            _ => self.report_health(id, ReplicaHealth::Starting),
        }
    }

    fn report_health(&mut self, id: AttemptId, health: ReplicaHealth) {
        let status = ReplicaStatus { id, health, ports: Vec::new(), why: None };
        self.readiness.note_report(&name("n"), vec![status], self.house.now);
    }

    /// What holds at any time, whatever users do.
    fn judge(&mut self) {
        let Some(service) = self.service() else { return };
        let Some(spec) = service.spec() else { return };
        let (wanted, update) = (service.wanted(&role_name()), spec.update.clone());
        let extra = update.max_surge.max(update.canary);
        let mut all = self.replicas();
        all.retain(|one| one.role == role_name());
        let alive = all.iter().filter(|replica| !replica.is_ending()).count();
        let least = wanted.saturating_sub(update.missing_max()) as usize;
        let mut places: Vec<(Revision, Ordinal)> =
            all.iter().map(|replica| (replica.revision, replica.ordinal)).collect();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), all.len(), "a place is taken twice: {all:?}");
        if service.is_stopping {
            return;
        }
        let ready = self.ready();
        if self.is_judged {
            assert!(ready >= least, "{ready} ready, {wanted} wanted, {update:?}: {all:?}");
            assert!(alive <= (wanted + extra) as usize, "{alive} alive, {wanted} wanted");
        }
        self.is_judged |= ready >= wanted as usize && alive <= (wanted + extra) as usize;
    }
}

#[test]
fn a_service_gets_its_replicas_is_scaled_and_is_gone_after_a_stop() {
    let mut world = World::new();
    world.house.apply(deployment("a", |_| {}));
    world.ticks(20);
    let events = &world.service().unwrap().events;
    assert_eq!(world.service().unwrap().healthy, Some(Revision(1)), "{events:?}");
    assert_eq!(world.ready(), 1);
    world.scale(4);
    world.ticks(20);
    assert_eq!(world.ready(), 4);
    let extra = world.replicas().into_iter().find(|one| one.ordinal == Ordinal(3)).unwrap();
    let ask = &world.house.state.job(extra.key.job).unwrap().spec.ask;
    assert_eq!(ask.preemptible, Some(true), "beyond the minimum of one");
    world.scale(2);
    world.ticks(5);
    assert_eq!(world.ready(), 2);
    assert!(world.replicas().iter().all(|replica| replica.ordinal.0 < 2));
    world.act(ServiceAction::Stop);
    world.ticks(5);
    assert!(world.service().is_none());
    assert_eq!(world.house.state.live().count(), 0);
}

#[test]
fn an_update_replaces_all_replicas_and_never_lets_fewer_be_ready() {
    for (max_parallel, max_surge) in [(1, 1), (1, 0), (2, 1), (3, 3), (2, 0)] {
        let mut world = World::new();
        let change = |spec: &mut ServiceSpec| {
            spec.roles[0].replicas.min = 4;
            (spec.update.max_parallel, spec.update.max_surge) = (max_parallel, max_surge);
        };
        world.house.apply(deployment("a", change));
        world.ticks(20);
        world.house.apply(deployment("b", change));
        // The judge looks after each second.
        world.ticks(120);
        let replicas = world.replicas();
        assert_eq!(replicas.len(), 4, "{max_parallel} {max_surge}");
        assert!(replicas.iter().all(|replica| replica.revision == Revision(2)));
        let service = world.service().unwrap();
        assert_eq!((service.update, service.healthy), (None, Some(Revision(2))));
    }
}

#[test]
fn a_broken_revision_is_reverted_by_itself_without_a_loss() {
    for behaviour in [Behaviour::NeverReady, Behaviour::Crashes] {
        let mut world = World::new();
        world.behaviour = vec![(2, behaviour)];
        let change = |spec: &mut ServiceSpec| spec.roles[0].replicas.min = 3;
        world.house.apply(deployment("a", change));
        world.ticks(20);
        let before: Vec<JobKey> = world.replicas().iter().map(|replica| replica.key).collect();
        world.house.apply(deployment("b", change));
        world.ticks(400);
        let service = world.service().unwrap();
        assert_eq!((service.current, service.update), (Revision(1), None), "{behaviour:?}");
        assert!(world.has_event(|event| matches!(event, ServiceEventKind::UpdateFailed { .. })));
        let after: Vec<JobKey> = world.replicas().iter().map(|replica| replica.key).collect();
        assert_eq!(before, after, "replicas of the healthy revision ran on");
        // The next deployment is another revision.
        world.house.apply(deployment("c", change));
        assert_eq!(world.service().unwrap().current, Revision(3));
    }
}

#[test]
fn without_a_healthy_revision_a_failed_update_pauses() {
    let mut world = World::new();
    world.behaviour = vec![(1, Behaviour::Crashes)];
    world.house.apply(deployment("a", |_| {}));
    world.ticks(100);
    let service = world.service().unwrap();
    assert!(service.is_paused && service.healthy.is_none());
}

#[test]
fn a_replica_that_fails_again_and_again_is_held_until_it_is_resumed() {
    let mut world = World::new();
    world.house.apply(deployment("a", |_| {}));
    world.ticks(20);
    world.behaviour = vec![(1, Behaviour::Crashes)];
    world.is_judged = false;
    world.ticks(600);
    assert!(world.has_event(|event| matches!(event, ServiceEventKind::ReplicaHeld { .. })));
    assert_eq!(world.replicas().len(), 0);
    let submitted = world.service().unwrap().submitted;
    assert_eq!(submitted, u64::from(FAILURES_MAX), "one for each failure");
    world.behaviour.clear();
    world.act(ServiceAction::Resume);
    world.ticks(20);
    assert_eq!(world.ready(), 1);
}

#[test]
fn canaries_wait_for_a_user_to_promote_them() {
    let mut world = World::new();
    let change = |spec: &mut ServiceSpec| {
        spec.roles[0].replicas.min = 4;
        spec.update.canary = 2;
    };
    world.house.apply(deployment("a", change));
    world.ticks(20);
    assert_eq!(world.ready(), 4, "the first revision needs no promotion");
    world.house.apply(deployment("b", change));
    world.ticks(2000);
    let of = |world: &World, revision| {
        world.replicas().iter().filter(|one| one.revision == Revision(revision)).count()
    };
    assert_eq!((of(&world, 1), of(&world, 2)), (4, 2), "however long it takes");
    world.act(ServiceAction::Promote);
    world.ticks(200);
    assert_eq!((of(&world, 1), of(&world, 2)), (0, 4));
}

#[test]
fn a_pause_stops_an_update_where_it_is() {
    let mut world = World::new();
    let change = |spec: &mut ServiceSpec| spec.roles[0].replicas.min = 4;
    world.house.apply(deployment("a", change));
    world.ticks(20);
    world.house.apply(deployment("b", change));
    world.ticks(20);
    world.act(ServiceAction::Pause);
    world.ticks(5);
    let before: Vec<(JobKey, Revision)> =
        world.replicas().iter().map(|one| (one.key, one.revision)).collect();
    assert!(before.iter().any(|(_, revision)| *revision == Revision(1)));
    world.ticks(1000);
    let after: Vec<(JobKey, Revision)> =
        world.replicas().iter().map(|one| (one.key, one.revision)).collect();
    assert_eq!(before, after);
    world.act(ServiceAction::Resume);
    world.ticks(100);
    assert!(world.replicas().iter().all(|one| one.revision == Revision(2)));
}

/// Something that users or programs do.
#[derive(Debug, Clone)]
enum Happening {
    Deploy { text: u8, parallel: u32, surge: u32, canary: u32, behaviour: Behaviour },
    Scale(u32),
    Pause,
    Resume,
    Promote,
    RollBack,
    Cancel(usize),
    Wait(u32),
}

fn happening() -> impl Strategy<Value = Happening> {
    let behaviour = prop_oneof![
        4 => Just(Behaviour::Works),
        1 => Just(Behaviour::NeverReady),
        1 => Just(Behaviour::Crashes),
    ];
    prop_oneof![
        3 => (0..4_u8, 1..4_u32, 0..4_u32, 0..3_u32, behaviour).prop_map(
            |(text, parallel, surge, canary, behaviour)| {
                let surge = surge.min(parallel);
                Happening::Deploy { text, parallel, surge, canary, behaviour }
            }
        ),
        2 => (1..6_u32).prop_map(Happening::Scale),
        1 => Just(Happening::Pause),
        2 => Just(Happening::Resume),
        1 => Just(Happening::Promote),
        1 => Just(Happening::RollBack),
        1 => (0..6_usize).prop_map(Happening::Cancel),
        6 => (1..60_u32).prop_map(Happening::Wait),
    ]
}

impl World {
    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Deploy { text, parallel, surge, canary, behaviour } => {
                let change = |spec: &mut ServiceSpec| {
                    spec.update.max_parallel = parallel;
                    (spec.update.max_surge, spec.update.canary) = (surge, canary);
                    spec.roles[0].replicas.min = 2;
                };
                self.is_judged = false;
                self.house.apply(deployment(&text.to_string(), change));
                let current = self.service().map_or(0, |service| service.current.0);
                self.behaviour.push((current, behaviour));
            }
            Happening::Scale(replicas) => self.scale(replicas.max(2)),
            Happening::Pause => self.act(ServiceAction::Pause),
            Happening::Resume => self.act(ServiceAction::Resume),
            Happening::Promote => self.act(ServiceAction::Promote),
            Happening::RollBack => self.act(ServiceAction::RollBack { to: None }),
            Happening::Cancel(at) => {
                self.is_judged = false;
                if let Some(replica) = self.replicas().get(at) {
                    let cancel = self.house.cancel(replica.key);
                    self.house.apply(cancel);
                }
            }
            Happening::Wait(seconds) => self.ticks(seconds),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn whatever_happens_a_working_revision_is_reached(
        happenings in proptest::collection::vec(happening(), 1..12),
    ) {
        let mut world = World::new();
        world.house.apply(deployment("first", |spec| spec.roles[0].replicas.min = 2));
        world.ticks(20);
        happenings.into_iter().for_each(|happening| world.happen(happening));
        // In the end a revision that works is deployed, and no user interferes.
        world.is_judged = false;
        world.house.apply(deployment("last", |spec| spec.roles[0].replicas.min = 2));
        world.ticks(300);
        let service = world.service().unwrap();
        let wanted = service.wanted(&role_name()) as usize;
        prop_assert_eq!((service.update, service.healthy), (None, Some(service.current)));
        prop_assert_eq!((world.ready(), world.replicas().len()), (wanted, wanted));
        world.act(ServiceAction::Stop);
        world.ticks(5);
        prop_assert!(world.service().is_none());
        let has_texts = world.house.state.blobs().uses().count() > 0;
        prop_assert_eq!(has_texts, world.house.state.jobs().count() > 0);
    }
}
