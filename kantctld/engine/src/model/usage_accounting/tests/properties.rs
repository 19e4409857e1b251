//! Property tests of usage accounting, for any policy and any jobs. The expected values are counted
//! here again, without it.

use super::*;
use common::policy::Limits;
use proptest::prelude::{Strategy, prop_assert, prop_assert_eq, proptest};

const NAMES: [&str; 6] = ["q0", "q1", "q2", "q3", "q4", "q5"];
const KINDS: [&str; 2] = ["a100", "h100"];

fn amounts() -> impl Strategy<Value = Amounts> {
    let gpus = || proptest::option::of(0..12_u32);
    (gpus(), gpus(), gpus(), gpus()).prop_map(|(a100, h100, any, cpus)| Amounts {
        gpus: KINDS
            .into_iter()
            .zip([a100, h100])
            .filter_map(|(of, gpus)| Some((kind(of), Gpus(gpus?))))
            .collect(),
        gpus_any: any.map(Gpus),
        cpus: cpus.map(Cpus),
        memory: None,
    })
}

fn limits() -> impl Strategy<Value = Limits> {
    let few = || proptest::option::weighted(0.3, 0..9_u32);
    (few(), few(), few(), few()).prop_map(|(jobs, gpus, cpus, minutes)| Limits {
        jobs,
        gpus: gpus.map(Gpus),
        cpus: cpus.map(Cpus),
        gpu_minutes: minutes.map(|minutes| u64::from(minutes) * 100),
    })
}

/// Any tree of six queues, each at the top or below an earlier one.
fn queues() -> impl Strategy<Value = Vec<Queue>> {
    let one =
        (0..=255_u8, proptest::bool::ANY, amounts(), amounts(), [limits(), limits(), limits()]);
    proptest::collection::vec(one, NAMES.len()).prop_map(|all| {
        let queue = |(at, (parent, isolated, owed, at_most, bounds))| {
            let mode = if isolated { QuotaMode::Isolated } else { QuotaMode::Shared };
            let quota = Quota { mode, amounts: owed, at_most };
            let parent = usize::from(parent) % (at + 1);
            let parent = NAMES.get(parent).filter(|_| parent < at).copied();
            let plain = queue(NAMES[at], parent, quota);
            let [limits, limits_per_user, limits_per_account] = bounds;
            Queue { limits, limits_per_user, limits_per_account, ..plain }
        };
        all.into_iter().enumerate().map(queue).collect()
    })
}

/// Queue, user, kind and GPUs, CPUs, and the minute of the end.
type Job = (usize, u32, usize, u32, u32, Option<u64>);

fn jobs() -> impl Strategy<Value = Vec<Job>> {
    let end = proptest::option::of(0..300_u64);
    proptest::collection::vec((0..7_usize, 0..3_u32, 0..3_usize, 0..5_u32, 0..4_u32, end), 0..40)
}

fn claim_of(accounting: &mut UsageAccounting, job: &Job) -> (Claim, Option<Time>) {
    let name = QueueName::new(*NAMES.get(job.0).unwrap_or(&"gone")).unwrap();
    let account = AccountName::new(format!("account-{}", job.1 % 2)).unwrap();
    let mut claim = Claim::new(accounting.principal(&name, Uid(job.1), Some(&account), None));
    let of = KINDS.get(job.2).and_then(|of| accounting.kind(&kind(of)));
    claim.add_gpus(of, GpuMilli(job.3 * 500));
    claim.cpus = Cpus(job.4);
    (claim, job.5.map(|minute| Time(minute * 60_000)))
}

fn capacity() -> Amounts {
    Amounts { gpus_any: Some(Gpus(16)), cpus: Some(Cpus(32)), ..of_kinds(&[("h100", 8)]) }
}

proptest! {
    #[test]
    fn to_add_and_to_remove_leaves_no_trace(queues in queues(), jobs in jobs(), seed in 0..97_usize)
    {
        let mut accounting = accounting(queues, &capacity());
        let claims: Vec<_> = jobs.iter().map(|job| claim_of(&mut accounting, job)).collect();
        let (stay, go) = claims.split_at(claims.len() / 2);
        for (claim, end) in stay {
            accounting.add(claim, *end);
        }
        let before = accounting.clone();
        let mut order: Vec<usize> = (0..go.len()).collect();
        for at in &order {
            accounting.add(&go[*at].0, go[*at].1);
        }
        order.sort_by_key(|at| (at * 31 + seed) % 97);
        for at in order {
            accounting.remove(&go[at].0, go[at].1);
        }
        prop_assert_eq!(accounting, before);
    }

    #[test]
    fn who_is_admitted_breaks_no_bound(queues in queues(), jobs in jobs()) {
        let now = Time(60 * 60_000);
        let mut accounting = accounting(queues.clone(), &capacity());
        let mut running: Vec<Job> = Vec::new();
        for job in jobs {
            let (claim, _) = claim_of(&mut accounting, &job);
            let span = job.5.map(Span::from_minutes);
            let limits = accounting.check_limits(&claim, span, now);
            let quota = accounting.admit(&claim);
            let broken = broken(&queues, &running, &job);
            prop_assert_eq!(limits.is_err(), broken.0, "limits of {:?}: {:?}", job, limits);
            if broken.1 {
                prop_assert!(quota.is_err(), "quota of {:?}", job);
            }
            if limits.is_ok() && quota.is_ok() {
                accounting.add(&claim, span.map(|span| now + span));
                running.push(job);
            }
        }
    }
}

proptest! {
    #[test]
    fn what_is_kept_for_isolated_queues_is_there_for_them(
        mut queues in queues(), jobs in jobs(), spare in 0..9_u32,
    ) {
        let position = |queues: &[Queue], name: &QueueName| {
            queues.iter().position(|queue| queue.name == *name)
        };
        let mut tops = Vec::new();
        for at in 0..queues.len() {
            let quota = &mut queues[at].quota;
            quota.at_most = Amounts::default();
            let owed = quota.amounts.gpus_any.filter(|_| quota.mode == QuotaMode::Isolated);
            quota.amounts = Amounts { gpus_any: owed, ..Amounts::default() };
            let above = |at: &usize| {
                let parent = queues[*at].parent.as_ref();
                parent.and_then(|name| position(&queues, name))
            };
            let mut all_above = std::iter::successors(above(&at), above);
            if owed.is_some() && all_above.all(|at| queues[at].quota.amounts.is_empty()) {
                tops.push((queues[at].name.clone(), u64::from(owed.unwrap_or_default().0)));
            }
        }
        let kept: u64 = tops.iter().map(|(_, owed)| *owed).sum();
        let all = u32::try_from(kept).unwrap() + spare;
        let mut accounting = accounting(queues, &any(all));
        let mut used = 0;
        for job in jobs {
            let (claim, _) = claim_of(&mut accounting, &job);
            if claim.who.queue.is_some() && kept > 0 && accounting.admit(&claim).is_ok() {
                accounting.add(&claim, None);
                used += claim.gpu_milli();
            }
        }
        let to_go = tops.iter().map(|(name, owed)| {
            let queue = accounting.tree().index(name).unwrap();
            owed * 1000 - accounting.used(queue).gpu_milli
        });
        let to_go: u64 = to_go.sum();
        prop_assert!(to_go == 0 || used + to_go <= u64::from(all) * 1000, "{used} {to_go} {all}");
    }
}

/// Counts everything again, without it. Returns whether a limit and whether a hard quota is
/// exceeded.
fn broken(queues: &[Queue], running: &[Job], job: &Job) -> (bool, bool) {
    let position = |name: &QueueName| queues.iter().position(|queue| queue.name == *name);
    let path = |job: &Job| {
        let first = queues.get(job.0).map(|_| job.0);
        std::iter::successors(first, |at| queues[*at].parent.as_ref().and_then(position))
            .collect::<Vec<_>>()
    };
    let breaks = |limits: &Limits, is_same: &dyn Fn(&Job) -> bool| {
        let with_it = || running.iter().chain([job]).filter(|other| is_same(other));
        let over = |asked: u32, limit: Option<u32>, of: &dyn Fn(&Job) -> u32| {
            asked > 0 && limit.is_some_and(|limit| with_it().map(of).sum::<u32>() > limit)
        };
        let minutes = |job: &Job| u64::from(job.3) * job.5.unwrap_or(0);
        let minutes: u64 = with_it().map(minutes).sum();
        let bounded = limits.gpu_minutes.filter(|_| job.3 > 0);
        over(1, limits.jobs, &|_| 1)
            || over(job.3, limits.gpus.map(|gpus| gpus.0 * 2), &|other| other.3)
            || over(job.4, limits.cpus.map(|cpus| cpus.0), &|other| other.4)
            || bounded.is_some_and(|limit| job.5.is_none() || minutes > limit * 2)
    };
    let mut found = (false, false);
    for at in path(job) {
        let queue = &queues[at];
        let inside = |other: &Job| path(other).contains(&at);
        found.0 |= breaks(&queue.limits, &inside)
            || breaks(&queue.limits_per_user, &|other| inside(other) && other.1 == job.1)
            || breaks(&queue.limits_per_account, &|other| {
                inside(other) && other.1 % 2 == job.1 % 2
            });
        let over = |bound: &Amounts| {
            let held = |of: &dyn Fn(&Job) -> u32| -> u32 {
                running.iter().chain([job]).filter(|other| inside(other)).map(of).sum()
            };
            let own = KINDS.get(job.2).and_then(|of| bound.gpus.get(&kind(of)));
            let any = bound.gpus_any.filter(|_| job.3 > 0);
            let cpus = bound.cpus.filter(|_| job.4 > 0);
            let of_kind = |other: &Job| if other.2 == job.2 { other.3 } else { 0 };
            own.is_some_and(|own| job.3 > 0 && held(&of_kind) > own.0 * 2)
                || any.is_some_and(|any| held(&|other| other.3) > any.0 * 2)
                || cpus.is_some_and(|cpus| held(&|other| other.4) > cpus.0)
        };
        let isolated = queue.quota.mode == QuotaMode::Isolated;
        found.1 |= over(&queue.quota.at_most) || (isolated && over(&queue.quota.amounts));
    }
    found
}
