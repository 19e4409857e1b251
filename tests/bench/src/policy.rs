//! The two sets of rules under which rounds are measured. They are those of a plain cluster and of
//! a cluster that many teams share, and are not tuned to the results.
//!
//! - plain: eight queues, first come first served, EASY backfill, E-Binpack; no quotas, no limits;
//! - teams: a tree (one lab, four divisions, eight teams) with quotas at each level that lend and
//!   borrow, one isolated team, limits per user, two QoS, accounts, multifactor order with fair
//!   share, preemption by priority and for lent quota.

use common::gpu::GpuKind;
use common::id::{AccountName, QosName, QueueName};
use common::policy::account::Account;
use common::policy::qos::Qos;
use common::policy::queue::Queue;
use common::policy::{Access, Factors, Limits, Order, Preemption, Quota, QuotaMode, VictimMode};
use common::time::Span;
use common::unit::Gpus;
use state::Settings;

/// Number of queues that take jobs.
pub const QUEUES: u32 = 8;

/// GPUs of the largest job.
pub const GPUS_MAX: u32 = 128;

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Rules {
    Plain,
    Teams,
}

/// The name of a queue, by its number below [`QUEUES`].
pub fn queue_name(number: u32) -> QueueName {
    QueueName::new(format!("q{number}")).expect("a letter and digits make a name")
}

/// The name of an account, by its number below [`QUEUES`].
pub fn account_name(number: u32) -> AccountName {
    AccountName::new(format!("a{number}")).expect("a letter and digits make a name")
}

/// The QoS of urgent jobs.
pub fn urgent() -> QosName {
    QosName::new("urgent").expect("letters make a name")
}

impl Rules {
    pub const ALL: [Self; 2] = [Self::Plain, Self::Teams];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Teams => "teams",
        }
    }

    /// The settings of a controller with this number of GPUs, without topology.
    pub fn settings(self, gpus: u32) -> Settings {
        let teams = self == Self::Teams;
        Settings {
            cluster: "bench".to_owned(),
            queues: if teams { queue_tree(gpus) } else { flat_queues() },
            allow_root_jobs: false,
            kill_grace: Span::from_seconds(30),
            // Finished jobs are not needed here.
            done_jobs_kept: Span(0),
            user_bounds: state::UserBounds::NONE,
            qos: if teams { vec![qos_urgent()] } else { Vec::new() },
            accounts: if teams { bench_accounts() } else { Vec::new() },
            fair_sharing: false,
            yields_first: common::policy::YieldsFirst::default(),
            factors: Factors { size: 500, ..Factors::default() },
            moves: common::policy::Moves::default(),
            topology: common::topology::Topology::default(),
        }
    }
}

fn flat_queues() -> Vec<Queue> {
    let queue = |number| Queue { default: number == 0, ..Queue::with_defaults(queue_name(number)) };
    (0..QUEUES).map(queue).collect()
}

/// One lab, four divisions, eight teams.
fn queue_tree(gpus: u32) -> Vec<Queue> {
    let lab = QueueName::new("lab").expect("letters make a name");
    let division = |number: u32| {
        QueueName::new(format!("d{number}")).expect("a letter and digits make a name")
    };
    let mut queues = vec![Queue { quota: gpu_quota(gpus), ..Queue::with_defaults(lab.clone()) }];
    for number in 0..QUEUES / 2 {
        let (parent, quota) = (Some(lab.clone()), gpu_quota(gpus / 4));
        queues.push(Queue { parent, quota, ..Queue::with_defaults(division(number)) });
    }
    for number in 0..QUEUES {
        let isolated = number == QUEUES - 1;
        let mode = if isolated { QuotaMode::Isolated } else { QuotaMode::Shared };
        queues.push(Queue {
            default: number == 0,
            parent: Some(division(number / 2)),
            order: Order::Multifactor,
            quota: Quota { mode, ..gpu_quota(gpus / 8) },
            // Several times the GPUs that one of 200 users holds on average; the largest job must
            // fit.
            limits_per_user: Limits {
                gpus: Some(Gpus((gpus / 100).max(GPUS_MAX))),
                ..Limits::default()
            },
            preemption: Preemption {
                by_priority: true,
                reclaim: true,
                preemptible: number % 2 == 1,
                victims: VictimMode::Requeue,
                runtime_min: Span::from_minutes(10),
            },
            ..Queue::with_defaults(queue_name(number))
        });
    }
    queues
}

fn gpu_quota(gpus: u32) -> Quota {
    let mut quota = Quota::default();
    quota.amounts.gpus.insert(GpuKind("h100".to_owned()), Gpus(gpus));
    quota
}

fn qos_urgent() -> Qos {
    Qos {
        name: urgent(),
        priority: 10,
        access: Access::default(),
        preemptible: Some(false),
        time_limit_max: None,
        limits: Limits::default(),
        limits_per_user: Limits { jobs: Some(100), ..Limits::default() },
    }
}

fn bench_accounts() -> Vec<Account> {
    let account = |number| Account {
        name: account_name(number),
        shares: 1 + number % 3,
        access: Access::default(),
        limits: Limits::default(),
        limits_per_user: Limits::default(),
    };
    (0..QUEUES).map(account).collect()
}
