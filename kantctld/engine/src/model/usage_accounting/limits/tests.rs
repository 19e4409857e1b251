//! Tests of the limits of each kind of holder.

use crate::model::usage_accounting::tests::{accounting, claim, isolated, queue, run};
use crate::model::usage_accounting::{Claim, UsageAccounting};
use common::id::{AccountName, QosName, QueueName, Uid};
use common::policy::account::Account;
use common::policy::qos::Qos;
use common::policy::queue::Queue;
use common::policy::{Access, Amounts, Limits, Policy, Quota};
use common::reason::{Bound, Counted, WaitReason, What};
use common::time::{Span, Time};
use common::unit::{Cpus, GpuMilli, Gpus};

fn gpus(gpus: u32) -> Limits {
    Limits { gpus: Some(Gpus(gpus)), ..Limits::default() }
}

fn plain(text: &str, parent: Option<&str>) -> Queue {
    queue(text, parent, Quota::default())
}

fn name(text: &str) -> QueueName {
    QueueName::new(text).unwrap()
}

/// A job with this number of GPUs.
fn job(accounting: &mut UsageAccounting, queue: &str, user: u32, gpus: u32) -> Claim {
    let mut claim = Claim::new(accounting.principal(&name(queue), Uid(user), None, None));
    claim.add_gpus(None, GpuMilli::WHOLE.times(gpus));
    claim
}

fn refusal(accounting: &UsageAccounting, claim: &Claim) -> Option<(Bound, Counted)> {
    match accounting.check_limits(claim, Some(Span::from_minutes(60)), Time(0)) {
        Ok(()) => None,
        Err(WaitReason::LimitReached { bound, counted }) => Some((bound, counted)),
        Err(other) => panic!("{other}"),
    }
}

fn bound(accounting: &UsageAccounting, claim: &Claim) -> Option<Bound> {
    refusal(accounting, claim).map(|(bound, _)| bound)
}

#[test]
fn the_example() {
    let q = Queue { limits_per_user: gpus(8), ..plain("q", None) };
    let mut accounting = accounting(vec![q], &Amounts::default());
    let [first, second, third] =
        [(7, 6), (7, 4), (8, 4)].map(|(user, gpus)| job(&mut accounting, "q", user, gpus));
    accounting.add(&first, None);
    let counted =
        Counted { what: What::Gpus, gpu_kind: None, limit: 8_000, used: 6_000, asked: 4_000 };
    let expected = Some((Bound::UserInQueue(Uid(7), name("q")), counted));
    assert_eq!(refusal(&accounting, &second), expected);
    assert_eq!(refusal(&accounting, &third), None);
    accounting.remove(&first, None);
    assert_eq!(refusal(&accounting, &second), None);
}

#[test]
fn a_limit_holds_for_all_queues_below() {
    let top = Queue { limits: gpus(8), limits_per_user: gpus(5), ..plain("top", None) };
    let queues = vec![top, plain("a", Some("top")), plain("b", Some("top"))];
    let mut accounting = accounting(queues, &Amounts::default());
    let first = job(&mut accounting, "a", 1, 4);
    accounting.add(&first, None);
    let same_user = job(&mut accounting, "b", 1, 2);
    assert_eq!(bound(&accounting, &same_user), Some(Bound::UserInQueue(Uid(1), name("top"))));
    let other_user = job(&mut accounting, "b", 2, 4);
    assert_eq!(bound(&accounting, &other_user), None);
    accounting.add(&other_user, None);
    let third = job(&mut accounting, "top", 3, 1);
    assert_eq!(bound(&accounting, &third), Some(Bound::Queue(name("top"))));
}

#[test]
fn running_jobs_and_cpus_have_limits_of_their_own() {
    let limits = Limits { jobs: Some(2), cpus: Some(Cpus(10)), ..Limits::default() };
    let mut accounting =
        accounting(vec![Queue { limits, ..plain("q", None) }], &Amounts::default());
    let mut wide = job(&mut accounting, "q", 1, 0);
    wide.cpus = Cpus(6);
    accounting.add(&wide, None);
    let what = |accounting: &UsageAccounting, claim| {
        refusal(accounting, claim).map(|(_, counted)| counted.what)
    };
    assert_eq!(what(&accounting, &wide), Some(What::Cpus));
    let small = job(&mut accounting, "q", 1, 1);
    assert_eq!(what(&accounting, &small), None);
    accounting.add(&small, None);
    assert_eq!(what(&accounting, &small), Some(What::Jobs));
}

#[test]
fn a_limit_that_was_lowered_stops_only_who_asks_for_more() {
    let mut accounting =
        accounting(vec![Queue { limits: gpus(4), ..plain("q", None) }], &Amounts::default());
    run(&mut accounting, "q", None, 8);
    let cpu_job = claim(&mut accounting, "q", None, 0);
    assert_eq!(bound(&accounting, &cpu_job), None);
    let gpu_job = claim(&mut accounting, "q", None, 1);
    assert_eq!(bound(&accounting, &gpu_job), Some(Bound::Queue(name("q"))));
}

#[test]
fn qos_and_accounts_bound_their_jobs_in_any_queue() {
    let qos = Qos {
        name: QosName::new("urgent").unwrap(),
        priority: 0,
        access: Access::default(),
        preemptible: None,
        time_limit_max: None,
        limits: gpus(8),
        limits_per_user: gpus(4),
    };
    let account = Account {
        name: AccountName::new("vision").unwrap(),
        shares: 1,
        access: Access::default(),
        limits: gpus(6),
        limits_per_user: gpus(3),
    };
    let policy = Policy {
        queues: vec![plain("a", None), plain("b", None)],
        qos: vec![qos.clone()],
        accounts: vec![account.clone()],
        ..Policy::default()
    };
    let mut accounting = UsageAccounting::new(&policy, &Amounts::default());
    let mut of = |queue: &str, user, qos: Option<&QosName>, account, gpus| {
        let mut claim = Claim::new(accounting.principal(&name(queue), Uid(user), account, qos));
        claim.add_gpus(None, GpuMilli::WHOLE.times(gpus));
        let bound = bound(&accounting, &claim);
        if bound.is_none() {
            accounting.add(&claim, None);
        }
        bound
    };
    let (urgent, vision) = (Some(&qos.name), Some(&account.name));
    assert_eq!(of("a", 1, urgent, None, 4), None);
    assert_eq!(of("b", 1, urgent, None, 1), Some(Bound::UserInQos(Uid(1), qos.name.clone())));
    assert_eq!(of("b", 2, urgent, None, 4), None);
    assert_eq!(of("b", 3, urgent, None, 1), Some(Bound::Qos(qos.name.clone())));
    assert_eq!(of("a", 1, None, vision, 3), None);
    let one = Some(Bound::UserInAccount(Uid(1), account.name.clone()));
    assert_eq!(of("b", 1, None, vision, 1), one);
    assert_eq!(of("b", 2, None, vision, 3), None);
    assert_eq!(of("a", 3, None, vision, 1), Some(Bound::Account(account.name.clone())));
    assert_eq!(of("a", 3, None, None, 100), None);
}

#[test]
fn each_account_of_a_queue_is_bounded_listed_or_not() {
    let q = Queue { limits_per_account: gpus(2), ..plain("q", None) };
    let mut accounting = accounting(vec![q], &Amounts::default());
    let accounts = ["x", "y"].map(|text| AccountName::new(text).unwrap());
    let mut of = |account: &AccountName| {
        let mut claim = Claim::new(accounting.principal(&name("q"), Uid(1), Some(account), None));
        claim.add_gpus(None, GpuMilli(2_000));
        claim
    };
    let (x, y) = (of(&accounts[0]), of(&accounts[1]));
    accounting.add(&x, None);
    assert_eq!(bound(&accounting, &y), None);
    let expected = Bound::AccountInQueue(accounts[0].clone(), name("q"));
    assert_eq!(bound(&accounting, &x), Some(expected));
}

#[test]
fn gpu_minutes_shrink_as_jobs_run() {
    let limits = Limits { gpu_minutes: Some(600), ..Limits::default() };
    let mut accounting =
        accounting(vec![Queue { limits, ..plain("q", None) }], &Amounts::default());
    let eight = job(&mut accounting, "q", 1, 8);
    let hour = Some(Span::from_minutes(60));
    let at = |minute: u64| Time(minute * 60_000);
    assert_eq!(accounting.check_limits(&eight, hour, at(0)), Ok(()));
    accounting.add(&eight, Some(at(60)));
    let Err(WaitReason::LimitReached { counted, .. }) =
        accounting.check_limits(&eight, hour, at(1))
    else {
        panic!("472 + 480 minutes are more than 600");
    };
    assert_eq!((counted.what, counted.used, counted.asked), (What::GpuMinutes, 472, 480));
    assert_eq!(accounting.check_limits(&eight, hour, at(45)), Ok(()), "120 are left");
    assert!(accounting.check_limits(&eight, hour, at(44)).is_err(), "128 are left");
    assert_eq!(
        accounting.check_limits(&eight, hour, at(500)),
        Ok(()),
        "past its end it counts none"
    );
}

#[test]
fn without_a_time_limit_there_is_no_end_of_gpu_minutes() {
    let limits = Limits { gpu_minutes: Some(600), ..Limits::default() };
    let q = Queue { limits, ..queue("q", None, isolated(Amounts::default())) };
    let mut accounting = accounting(vec![q], &Amounts::default());
    let gpu_job = job(&mut accounting, "q", 1, 1);
    let text = accounting.check_limits(&gpu_job, None, Time(0)).unwrap_err().to_string();
    assert_eq!(
        text,
        "queue q may have 600 outstanding GPU-minutes at once, and this job has no time limit: it \
         never starts"
    );
    let cpu_job = job(&mut accounting, "q", 1, 0);
    assert_eq!(accounting.check_limits(&cpu_job, None, Time(0)), Ok(()));
}
