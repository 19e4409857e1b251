//! The decisions of a round, each of which is checked again.

use crate::house::{House, OPERATOR, USER, attempt, exited, inventory, name, running, share};
use common::id::JobKey;
use common::job::{Ask, Phase};
use common::resource::Share;
use common::unit::Bytes;
use state::ledger::StartRefusal;
use state::{Command, Event, Target};

/// The refusal of a start, which must not have changed anything.
fn refusal(house: &mut House, key: JobKey, number: u32, shares: Vec<Share>) -> StartRefusal {
    let before = house.state.clone();
    let events = house.enact(attempt(key, number), shares);
    assert_eq!(before, house.state);
    match events.as_slice() {
        [Event::RoundEntryRefused { reason, .. }] => reason.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn nothing_is_given_twice() {
    let mut house = House::new();
    let (first, second) = (house.job(), house.job());
    house.start(first, vec![share("g1", 0, 4, &[0, 1])]);
    let taken = || StartRefusal::Taken(name("g1"));
    assert_eq!(refusal(&mut house, second, 1, vec![share("g1", 3, 2, &[])]), taken());
    assert_eq!(refusal(&mut house, second, 1, vec![share("g1", 4, 2, &[1])]), taken());
    let much = Share { memory: Bytes::from_mib(64 * 1024), ..share("g1", 4, 2, &[]) };
    assert_eq!(refusal(&mut house, second, 1, vec![much]), taken());
    house.start(second, vec![share("g1", 4, 4, &[2, 3])]);
}

#[test]
fn a_gang_starts_whole_or_not_at_all() {
    let mut house = House::new();
    let (first, second) = (house.job(), house.gang(2));
    house.start(first, vec![share("g2", 0, 8, &[])]);
    let shares = vec![share("g1", 0, 4, &[]), share("g2", 0, 4, &[])];
    assert_eq!(refusal(&mut house, second, 1, shares), StartRefusal::Taken(name("g2")));
}

#[test]
fn nothing_is_given_that_is_not_there() {
    let mut house = House::new();
    let key = house.job();
    let not_there = || StartRefusal::NotThere(name("g1"));
    assert_eq!(refusal(&mut house, key, 1, vec![share("g1", 7, 2, &[])]), not_there());
    assert_eq!(refusal(&mut house, key, 1, vec![share("g1", 0, 2, &[4])]), not_there());
    let much = Share { memory: Bytes(u64::MAX), ..share("g1", 0, 2, &[]) };
    assert_eq!(refusal(&mut house, key, 1, vec![much]), not_there());
    let unknown = StartRefusal::UnknownNode(name("g9"));
    assert_eq!(refusal(&mut house, key, 1, vec![share("g9", 0, 2, &[])]), unknown);
    let malformed = || StartRefusal::Malformed(name("g1"));
    assert_eq!(refusal(&mut house, key, 1, vec![share("g1", 0, 0, &[])]), malformed());
    assert_eq!(refusal(&mut house, key, 1, vec![share("g1", 0, 1, &[2, 2])]), malformed());
}

#[test]
fn a_round_that_was_overtaken_is_refused() {
    let mut house = House::new();
    let key = house.job();
    let place = || vec![share("g1", 0, 2, &[])];
    let other = StartRefusal::OtherAttempt { next: common::id::Attempt(1) };
    assert_eq!(refusal(&mut house, key, 2, place()), other);
    house.apply(Command::HoldJob { actor: USER, target: Target { key } });
    assert_eq!(refusal(&mut house, key, 1, place()), StartRefusal::Held);
    house.apply(Command::ReleaseJob { actor: USER, target: Target { key } });

    let drain = Command::DrainNode { actor: OPERATOR, name: name("g1"), reason: "fan".into() };
    house.apply(drain);
    let unusable = || StartRefusal::NodeUnusable(name("g1"));
    assert_eq!(refusal(&mut house, key, 1, place()), unusable());
    house.apply(Command::ResumeNode { actor: OPERATOR, name: name("g1") });
    house.silence("g1");
    assert_eq!(refusal(&mut house, key, 1, place()), unusable());
    house.register("g1", &[]);

    house.start(key, place());
    let started = StartRefusal::NotPending(Phase::Starting);
    assert_eq!(refusal(&mut house, key, 1, place()), started);
    let gone = JobKey::single(common::id::JobId(9));
    assert_eq!(refusal(&mut house, gone, 1, place()), StartRefusal::UnknownJob);
}

#[test]
fn a_node_wanted_whole_has_no_company() {
    let mut house = House::new();
    let mut ask = Ask::default();
    ask.request.exclusive = true;
    let whole = JobKey::single(house.submit(ask));
    let plain = house.job();
    let not_shared = || StartRefusal::NotShared(name("g1"));
    let id = house.start(plain, vec![share("g1", 0, 1, &[])]);
    assert_eq!(refusal(&mut house, whole, 1, vec![share("g1", 1, 7, &[])]), not_shared());
    house.report("g1", id, exited(0));
    house.start(whole, vec![share("g1", 0, 4, &[])]);
    let next = house.job();
    assert_eq!(refusal(&mut house, next, 1, vec![share("g1", 4, 1, &[])]), not_shared());
}

#[test]
fn one_bad_entry_does_not_spoil_the_others() {
    let mut house = House::new();
    let (first, second) = (house.job(), house.job());
    let allocation =
        |node: &str| common::resource::Allocation::new(vec![share(node, 0, 8, &[])]).unwrap();
    let start = |key, node| {
        let (id, allocation) = (attempt(key, 1), allocation(node));
        state::RoundStart { id, allocation, group: None }
    };
    let starts = vec![start(first, "g1"), start(second, "g1"), start(second, "g2")];
    let events = house.apply(Command::EnactRound {
        preempts: vec![],
        shrinks: Vec::new(),
        starts,
        grows: Vec::new(),
    });
    assert!(matches!(
        events.as_slice(),
        [Event::JobStarted { .. }, Event::RoundEntryRefused { .. }, Event::JobStarted { .. }]
    ));
}

#[test]
fn what_is_held_stays_held_when_the_node_shrinks_under_it() {
    let mut house = House::new();
    let key = house.job();
    let id = house.start(key, vec![share("g1", 4, 4, &[2, 3])]);
    house.report("g1", id, running());
    let steps = [common::wire::node::StepStatus { id, phase: running() }];
    let hello = house.hello("g1", inventory(6, 1, 3), &steps);
    house.apply(hello);
    assert_eq!(house.phase(key), Phase::Running);
    let seen = state::snapshot::snapshot(&house.state);
    let given = &seen.running_job(key).unwrap().allocation.shares()[0];
    assert_eq!((given.cpus.to_string().as_str(), given.gpus.len()), ("4-7", 2));
    let next = house.job();
    let not_there = StartRefusal::NotThere(name("g1"));
    assert_eq!(refusal(&mut house, next, 1, vec![share("g1", 0, 1, &[3])]), not_there);
    house.report("g1", id, exited(0));
    house.start(next, vec![share("g1", 0, 6, &[0, 1, 2])]);
}

#[test]
fn a_gpu_that_is_gone_leaves_a_hole_and_the_others_keep_their_numbers() {
    let mut house = House::new();
    let mut changed = inventory(8, 64, 4);
    changed.gpus.remove(1);
    let hello = house.hello("g1", changed, &[]);
    house.apply(hello);
    let held = |house: &House| -> Vec<u16> {
        let held = house.state.ledger().holdings_on(&name("g1"));
        held.into_iter().flat_map(|held| held.gpus()).map(|gpu| gpu.0).collect()
    };
    let (gone, there) = (house.job(), house.job());
    let id = attempt(gone, 1);
    let events = house.enact(id, vec![share("g1", 0, 2, &[1])]);
    assert!(matches!(events.as_slice(), [Event::RoundEntryRefused { .. }]), "{events:?}");
    house.start(there, vec![share("g1", 0, 2, &[3])]);
    assert_eq!(held(&house), [3]);
    let id = attempt(gone, 1);
    let events = house.enact(id, vec![share("g1", 2, 2, &[3])]);
    assert!(matches!(events.as_slice(), [Event::RoundEntryRefused { .. }]), "{events:?}");
}
