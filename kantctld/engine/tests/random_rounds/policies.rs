//! Random policies that the configuration would accept: every kind of order, backfill and
//! placement, queue trees, quotas, limits, QoS, accounts, preemption.

use super::cluster::name;
use super::draw::Draw;
use common::gpu::GpuKind;
use common::id::{AccountName, QosName, QueueName, ZoneName};
use common::policy::account::Account;
use common::policy::qos::Qos;
use common::policy::queue::Queue;
use common::policy::{
    Amounts, Backfill, Behind, Candidates, Factors, Limits, Order, Placement, Policy, Preemption,
    Quota, QuotaMode, ReservationKind, RunTimes, VictimMode, ZoneOverflow,
};
use common::time::Span;
use common::topology::Topology;
use common::unit::{Bytes, Cpus, Gpus};

pub fn queue_name(number: u32) -> QueueName {
    QueueName::new(format!("q{number}")).unwrap()
}

pub fn policy(draw: &mut Draw, topology: Topology, nodes: u32) -> Policy {
    let bounded = draw.once_in(2);
    let zone = topology.0.values().find_map(|position| position.zone.clone());
    let count = draw.within(1, 4);
    let queues = (0..count).map(|number| queue(draw, number, nodes, bounded, zone.as_ref()));
    let queues = queues.collect();
    let limits = |draw: &mut Draw| if bounded { limits(draw, 3) } else { Limits::default() };
    let qos = |draw: &mut Draw, text: &str, priority| Qos {
        name: QosName::new(text).unwrap(),
        priority,
        access: Default::default(),
        preemptible: None,
        time_limit_max: None,
        limits: limits(draw),
        limits_per_user: limits(draw),
    };
    let qos = vec![qos(draw, "high", 5), qos(draw, "low", -5)];
    let account = |draw: &mut Draw, text: &str, shares| Account {
        name: AccountName::new(text).unwrap(),
        shares,
        access: Default::default(),
        limits: limits(draw),
        limits_per_user: limits(draw),
    };
    let accounts = vec![account(draw, "red", 1), account(draw, "blue", 3)];
    let factors = Factors {
        age: draw.one(&[0, 10, 1000]),
        size: draw.one(&[0, 0, 500]),
        favor_small: draw.once_in(2),
        ..Factors::default()
    };
    Policy { queues, qos, accounts, factors, topology, ..Policy::default() }
}

fn queue(
    draw: &mut Draw,
    number: u32,
    nodes: u32,
    bounded: bool,
    zone: Option<&ZoneName>,
) -> Queue {
    let placements = [
        Placement::First,
        Placement::Binpack,
        Placement::EBinpack,
        Placement::Spread,
        Placement::ESpread,
        Placement::Fgd,
    ];
    let placement = draw.one(&placements);
    let of_nodes = |draw: &mut Draw| (0..nodes).filter(|_| !draw.once_in(3)).map(name).collect();
    Queue {
        default: number == 0,
        priority: draw.one(&[0, 0, 0, 10]),
        nodes: draw.maybe(4, of_nodes).unwrap_or_default(),
        memory_per_cpu: Bytes(draw.one(&[1, 512, 2048]) << 20),
        parent: (number > 0)
            .then(|| draw.maybe(2, |draw| queue_name(draw.below(number))))
            .flatten(),
        order: draw.one(&[Order::Fifo, Order::Fifo, Order::Multifactor]),
        behind: draw.one(&[Behind::Wait, Behind::Pass, Behind::Backfill, Behind::Backfill]),
        backfill: Backfill {
            depth: draw.one(&[1, 1, 2, 0]),
            reservation: draw.one(&[ReservationKind::Floating, ReservationKind::Pinned]),
            candidates: draw.one(&[
                Candidates::InOrder,
                Candidates::ShortestFirst,
                Candidates::RelativeWait,
            ]),
            run_times: [RunTimes::Limit, RunTimes::Expected][number as usize % 2],
            head_timeout: draw.maybe(4, |draw| Span::from_minutes(draw.within(0, 20).into())),
        },
        placement,
        zone: zone.filter(|_| placement == Placement::ESpread).cloned(),
        zone_overflow: draw.one(&[ZoneOverflow::Pack, ZoneOverflow::Wait]),
        quota: if bounded { quota(draw) } else { Quota::default() },
        limits: if bounded { limits(draw, 3) } else { Limits::default() },
        limits_per_user: if bounded { limits(draw, 3) } else { Limits::default() },
        limits_per_account: if bounded { limits(draw, 4) } else { Limits::default() },
        preemption: Preemption {
            by_priority: draw.once_in(2),
            reclaim: draw.once_in(2),
            preemptible: draw.once_in(2),
            victims: draw.one(&[VictimMode::Requeue, VictimMode::Requeue, VictimMode::Cancel]),
            runtime_min: Span::from_minutes(draw.one(&[0, 0, 3])),
        },
        share_gpus: true,
        ..Queue::with_defaults(queue_name(number))
    }
}

fn limits(draw: &mut Draw, rare: u32) -> Limits {
    if !draw.once_in(rare) {
        return Limits::default();
    }
    Limits {
        jobs: draw.maybe(2, |draw| draw.within(1, 4)),
        gpus: draw.maybe(2, |draw| Gpus(draw.within(1, 8))),
        cpus: draw.maybe(3, |draw| Cpus(draw.within(2, 16))),
        gpu_minutes: draw.maybe(4, |draw| draw.within(10, 500).into()),
    }
}

fn quota(draw: &mut Draw) -> Quota {
    Quota {
        mode: draw.one(&[QuotaMode::Shared, QuotaMode::Shared, QuotaMode::Isolated]),
        amounts: draw.maybe(2, amounts).unwrap_or_default(),
        at_most: draw.maybe(4, amounts).unwrap_or_default(),
    }
}

fn amounts(draw: &mut Draw) -> Amounts {
    let mut amounts = Amounts {
        gpus_any: draw.maybe(2, |draw| Gpus(draw.within(1, 8))),
        cpus: draw.maybe(3, |draw| Cpus(draw.within(2, 20))),
        memory: draw.maybe(4, |draw| Bytes(u64::from(draw.within(2, 40)) << 30)),
        ..Amounts::default()
    };
    if draw.once_in(2) {
        amounts.gpus.insert(GpuKind("h100".to_owned()), Gpus(draw.within(1, 6)));
    }
    amounts
}

/// The same policy without bounds.
pub fn unbounded(policy: &Policy) -> Policy {
    let mut policy = policy.clone();
    for queue in &mut policy.queues {
        queue.quota = Quota::default();
        queue.limits = Limits::default();
        queue.limits_per_user = Limits::default();
        queue.limits_per_account = Limits::default();
    }
    for qos in &mut policy.qos {
        (qos.limits, qos.limits_per_user) = Default::default();
    }
    for account in &mut policy.accounts {
        (account.limits, account.limits_per_user) = Default::default();
    }
    policy
}
