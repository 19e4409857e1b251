//! Admission: which users may submit what to which queue, by queues and their ancestors, QoS, and
//! accounts.

use crate::house::{House, USER, queue, settings};
use common::id::{AccountName, Gid, QosName};
use common::job::Ask;
use common::policy::qos::Qos;
use common::policy::{Access, Limits};
use common::reason::Refusal;
use common::time::Span;
use state::{Command, Settings};
use std::collections::BTreeSet;

fn configure(house: &mut House, change: impl FnOnce(&mut Settings)) {
    let mut settings = settings();
    change(&mut settings);
    house.apply(Command::Configure(settings));
}

fn group(gid: u32) -> Access {
    Access { groups: BTreeSet::from([Gid(gid)]), ..Access::default() }
}

/// The submission by a user with these groups besides the main one.
fn with_groups(house: &mut House, ask: Ask, more: &[u32]) -> Command {
    let mut command = house.submission(ask);
    if let Command::SubmitJob { groups, .. } = &mut command {
        *groups = more.iter().map(|gid| Gid(*gid)).collect();
    }
    command
}

#[test]
fn a_queue_and_all_above_it_must_let_them_in() {
    let mut house = House::new();
    configure(&mut house, |settings| {
        let mut staff = queue("staff", false);
        staff.access = group(7);
        let mut night = queue("night", false);
        night.parent = Some(staff.name.clone());
        settings.queues.extend([staff, night]);
    });
    let asks = |text: &str| Ask { queue: text.parse().ok(), ..Ask::default() };
    let command = with_groups(&mut house, asks("staff"), &[]);
    let refusal = house.refused(command).text_with_hint();
    assert!(refusal.starts_with("queue staff is not open to you; name another"), "{refusal}");
    let command = with_groups(&mut house, asks("night"), &[8]);
    let refusal = house.refused(command).to_string();
    assert!(refusal.contains("staff is not open to you, and night is below it"), "{refusal}");
    let command = with_groups(&mut house, asks("night"), &[8, 7]);
    house.apply(command);
    assert_eq!(house.state.last_job_id().0, 1);
}

#[test]
fn the_main_group_of_a_user_counts_as_well() {
    let mut house = House::new();
    configure(&mut house, |settings| settings.queues[0].access = group(1000));
    house.submit(Ask::default());
    configure(&mut house, |settings| settings.queues[0].access = group(1001));
    let command = house.submission(Ask::default());
    assert!(matches!(house.refused(command), Refusal::QueueClosed { .. }));
}

#[test]
fn a_finished_job_lives_again_only_where_its_user_may_still_queue() {
    let mut house = House::new();
    configure(&mut house, |settings| settings.queues[0].access = group(7));
    let command = with_groups(&mut house, Ask::default(), &[7]);
    house.apply(command);
    let key = common::id::JobKey::single(house.state.last_job_id());
    let cancel = house.cancel(key);
    house.apply(cancel);
    let again = house.requeue(key);
    house.apply(again);
    let cancel = house.cancel(key);
    house.apply(cancel);
    configure(&mut house, |settings| settings.queues[0].access = group(8));
    let again = house.requeue(key);
    assert!(matches!(house.refused(again), Refusal::QueueClosed { .. }));
}

#[test]
fn a_qos_is_known_open_and_bounds_the_time_limit() {
    let mut house = House::new();
    let qos = |text: &str| Qos {
        name: QosName::new(text).unwrap(),
        priority: 0,
        access: Access::default(),
        preemptible: None,
        time_limit_max: Some(Span::from_minutes(5)),
        limits: Limits::default(),
        limits_per_user: Limits::default(),
    };
    let asks = |text: &str, minutes: Option<u64>| Ask {
        qos: text.parse().ok(),
        time_limit: minutes.map(Span::from_minutes),
        ..Ask::default()
    };
    let command = house.submission(asks("quick", None));
    assert!(house.refused(command).text_with_hint().contains("this cluster has none"));
    configure(&mut house, |settings| {
        settings.qos = vec![qos("quick"), Qos { access: group(7), ..qos("staff") }];
    });
    for (text, minutes, word) in [
        ("slow", None, "there are quick, staff"),
        ("staff", None, "QoS staff is not open to you"),
        ("quick", Some(6), "QoS quick allows at most 05:00 (requested: 06:00)"),
    ] {
        let command = house.submission(asks(text, minutes));
        let refusal = house.refused(command).text_with_hint();
        assert!(refusal.contains(word), "{refusal}");
    }
    let short = Ask { queue: "short".parse().ok(), ..asks("quick", None) };
    let job = house.submit(short);
    let limit = house.state.job(job).unwrap().spec.ask.time_limit;
    assert_eq!(limit, Some(Span::from_minutes(5)), "the queue's default is longer");
}

#[test]
fn an_account_opens_a_queue_too() {
    let mut house = House::new();
    configure(&mut house, |settings| {
        let accounts = BTreeSet::from([AccountName::new("vision").unwrap()]);
        settings.queues[0].access = Access { accounts, ..Access::default() };
    });
    let command = house.submission(Ask::default());
    assert!(matches!(house.refused(command), Refusal::QueueClosed { .. }));
    house.submit(Ask { account: "vision".parse().ok(), ..Ask::default() });
    assert_eq!(house.state.jobs().next().unwrap().spec.owner.uid, USER.uid);
}
