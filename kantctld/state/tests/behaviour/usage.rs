//! Usage: charged to account and user when a node releases its share; current allocations are
//! added.

use crate::house::{House, USER, exited, running, settings, share, tasks_of};
use common::id::{AccountName, JobKey};
use common::job::Ask;
use state::Command;
use state::charging;
use state::usage::{Charged, Usages, Used};
use std::collections::BTreeMap;

fn used(usages: &Usages, payer: &Charged) -> Used {
    let hours =
        usages.iter().filter(|(who, _)| *who == payer).flat_map(|(_, hours)| hours.values());
    hours.fold(Used::default(), |sum, more| Used {
        gpu_milliseconds: sum.gpu_milliseconds + more.gpu_milliseconds,
        cpu_milliseconds: sum.cpu_milliseconds + more.cpu_milliseconds,
    })
}

#[test]
fn each_node_is_charged_until_it_lets_go_and_what_lives_comes_on_top() {
    let mut house = House::new();
    let account = AccountName::new("vision").ok();
    let key = JobKey::single(house.submit(Ask { account: account.clone(), ..tasks_of(2) }));
    let payer = Charged { account, user: USER.uid };
    let id = house.start(key, vec![share("g1", 0, 2, &[0]), share("g2", 0, 4, &[0, 1, 2])]);
    house.wait(10);
    house.report("g1", id, running());
    house.report("g2", id, running());
    assert!(house.state.usage().is_empty());
    let so_far = used(&charging::running_usage(&house.state, house.now), &payer);
    assert_eq!((so_far.gpu_milliseconds, so_far.cpu_milliseconds), (40_000, 60_000));
    house.report("g2", id, exited(0));
    let charged = used(house.state.usage(), &payer);
    assert_eq!((charged.gpu_milliseconds, charged.cpu_milliseconds), (30_000, 40_000));
    house.wait(5);
    let so_far = used(&charging::running_usage(&house.state, house.now), &payer);
    assert_eq!((so_far.gpu_milliseconds, so_far.cpu_milliseconds), (15_000, 30_000));
    house.report("g1", id, exited(0));
    let charged = used(house.state.usage(), &payer);
    assert_eq!((charged.gpu_milliseconds, charged.cpu_milliseconds), (45_000, 70_000));
    assert!(charging::running_usage(&house.state, house.now).is_empty());
}

#[test]
fn usage_is_forgotten_after_fourteen_days() {
    let mut house = House::new();
    let key = house.job();
    let id = house.start(key, vec![share("g1", 0, 1, &[])]);
    house.wait(1);
    house.report("g1", id, exited(0));
    house.wait(14 * 86_400);
    house.apply(Command::ForgetDone);
    assert!(!house.state.usage().is_empty());
    house.wait(3600);
    house.apply(Command::ForgetDone);
    assert!(house.state.usage().is_empty());
}

/// GPU milliseconds by queue, including running jobs.
fn of_queues(house: &House) -> Vec<(String, u64)> {
    let all = state::charging::queue_usage(&house.state, house.now);
    let sum = |hours: &BTreeMap<_, Used>| hours.values().map(|used| used.gpu_milliseconds).sum();
    all.iter().map(|(queue, hours)| (queue.to_string(), sum(hours))).collect()
}

#[test]
fn queues_are_charged_where_past_use_counts_and_nowhere_else() {
    for percent in [0, 50] {
        let mut house = House::new();
        let mut settings = settings();
        (settings.fair_sharing, settings.factors.past_use_percent) = (true, percent);
        house.apply(Command::Configure(settings.clone()));
        let key = house.job();
        let id = house.start(key, vec![share("g1", 0, 1, &[0, 1])]);
        house.wait(10);
        house.report("g1", id, running());
        let charged = |milliseconds| match percent {
            0 => Vec::new(),
            _ => vec![("main".to_owned(), milliseconds)],
        };
        assert_eq!(of_queues(&house), charged(20_000));
        assert!(house.state.queue_usage().is_empty());
        house.wait(5);
        house.report("g1", id, exited(0));
        assert_eq!(of_queues(&house), charged(30_000));
        assert_eq!(state::snapshot::queue_use(&house.state, house.now).len(), charged(0).len());
        settings.factors.past_use_percent = 0;
        house.apply(Command::Configure(settings));
        house.apply(Command::ForgetDone);
        assert!(house.state.queue_usage().is_empty(), "it counts no more");
    }
}

#[test]
fn what_queues_used_before_past_use_counts_is_charged_to_no_user() {
    let mut house = House::new();
    let (key, other) = (house.job(), house.job());
    let long = house.start(key, vec![share("g1", 0, 1, &[0, 1])]);
    house.report("g1", long, running());
    house.wait(7200);
    let mut settings = settings();
    (settings.fair_sharing, settings.factors.past_use_percent) = (true, 50);
    house.apply(Command::Configure(settings.clone()));
    assert_eq!(of_queues(&house), []);
    house.wait(10);
    // Other settings do not restart the recording.
    settings.factors.past_use_percent = 60;
    house.apply(Command::Configure(settings));
    let short = house.start(other, vec![share("g1", 1, 1, &[2])]);
    house.report("g1", short, running());
    house.wait(5);
    assert_eq!(of_queues(&house), [("main".to_owned(), 2 * 15_000 + 5_000)]);
    house.report("g1", long, exited(0));
    house.report("g1", short, exited(0));
    assert_eq!(of_queues(&house), [("main".to_owned(), 35_000)]);
}
