//! The `[[queue]]` tables. Names in them are resolved by `config::policy`.

use super::amounts::AmountsTable;
use super::limits::LimitsTable;
use super::table::config_table;
use crate::id::{AccountName, QueueName, ZoneName};
use crate::policy::{
    Behind, Candidates, Order, Placement, QuotaMode, ReservationKind, VictimMode, ZoneOverflow,
};

config_table! {
    /// One queue ("partition" in Slurm).
    pub struct QueueTable {
        /// The queue's name, unique.
        name: Option<QueueName> = None,
        /// The queue above it. The parent's quota, limits, users and nodes also bound this queue.
        parent: Option<QueueName> = None,
        /// Jobs that name no queue go here. If no queue has this, they go to the first queue that
        /// has no children.
        default: bool = false,
        /// Jobs of a queue with a higher priority go first.
        priority: i32 = 0,
        /// The queue's nodes, like `g[001-064]`. Empty: its parent's, or all nodes.
        nodes: String = String::new(),
        /// Time limit of jobs that name none, like `1-00:00:00`. Empty: `time_limit_max`.
        time_limit_default: String = String::new(),
        /// The longest time limit that a job may have. Empty: no bound.
        time_limit_max: String = String::new(),
        /// Memory for each CPU of a job that asks for no memory.
        memory_per_cpu: String = "1G".to_owned(),
        /// Users (names or uids) who may use it. With no user, group and account, it is open to
        /// all.
        users: Vec<String> = Vec::new(),
        /// Groups (names or gids) whose members may use it.
        groups: Vec<String> = Vec::new(),
        /// Accounts whose jobs may use it. This restricts use only if each account has `users` or
        /// `groups` in its [[account]] table.
        accounts: Vec<AccountName> = Vec::new(),
        /// The order of its jobs: `fifo` (by queue and QoS priority, then by waiting time) or
        /// `multifactor` (by the weights of [priority]).
        order: Order = Order::default(),
        /// What may start ahead of a job that has no room: `wait` (no job), `pass` (every job that
        /// fits) or `backfill` (every job that fits and delays no planned start).
        behind: Behind = Behind::default(),
        /// How many jobs without room get a planned start in each round. 1: EASY backfill; 0: all
        /// of them (conservative backfill).
        backfill_depth: u32 = 1,
        /// Whether a planned start keeps any nodes that will do (`floating`) or certain ones
        /// (`pinned`). With a depth other than 1 they are always pinned.
        backfill_reservation: ReservationKind = ReservationKind::default(),
        /// The order in which jobs are tried for backfill: `in-order` or `shortest-first`.
        backfill_candidates: Candidates = Candidates::default(),
        /// When the first job has waited for this long, like `2h`, preemptible jobs that started
        /// ahead of it are preempted. Empty: never.
        head_timeout: String = String::new(),
        /// How nodes are chosen for a job: `ebinpack`, `binpack`, `spread`, `espread`, `fgd` or
        /// `first`.
        placement: Placement = Placement::default(),
        /// The zone over which its services are spread (`espread`). Other queues' jobs stay out of
        /// it.
        zone: Option<ZoneName> = None,
        /// When the zone is full, services are packed elsewhere (`pack`) or wait (`wait`).
        zone_overflow: ZoneOverflow = ZoneOverflow::default(),
        /// With `fair_sharing`: its part of the GPUs beyond all quotas, relative to its siblings.
        /// 0: none.
        weight: u32 = 1,
        /// `shared` lends and borrows idle quota, `isolated` does neither.
        quota_mode: QuotaMode = QuotaMode::default(),
        /// What is guaranteed to it and the queues below it, like `{ h100 = 64, gpus = 128, cpus =
        /// 1000, memory = "4T" }`; `gpus` counts all kinds together. A resource that is not named
        /// is not bounded.
        quota: AmountsTable = AmountsTable::default(),
        /// The most that it may hold with what it borrows, written like `quota`. A resource that is
        /// not named is not bounded.
        borrow_at_most: AmountsTable = AmountsTable::default(),
        /// Limits on running jobs of it and the queues below it, like `{ jobs = 10, gpus = 64, cpus
        /// = 512, gpu_minutes = 100000 }`.
        limits: LimitsTable = LimitsTable::default(),
        /// The same for the jobs of each user in it.
        limits_per_user: LimitsTable = LimitsTable::default(),
        /// The same for the jobs of each account in it.
        limits_per_account: LimitsTable = LimitsTable::default(),
        /// Its jobs may preempt preemptible jobs of lower priority in the same queue.
        preempt_by_priority: bool = false,
        /// Its jobs, within its quota, may preempt jobs of queues that borrow.
        reclaim: bool = true,
        /// Its jobs are preemptible unless they say otherwise.
        preemptible: bool = false,
        /// What happens to a preempted job: it is queued again (`requeue`) or ends (`cancel`).
        victims: VictimMode = VictimMode::default(),
        /// A job that has run for less than this, like `10m`, is not preempted. Empty: no such
        /// protection.
        runtime_min: String = String::new(),
        /// With `fair_sharing`: for this long after its start, like `1h`, a job is not preempted by
        /// jobs of other queues. The value is looked up at the child of the two queues' lowest
        /// common ancestor, then in its ancestors. Empty: the ancestor's value.
        reclaim_runtime_min: String = String::new(),
        /// Jobs may share a GPU (`--gpus=0.5`). A job that uses more than its share of the GPU's
        /// memory is ended (`hold_gpu_memory` of the node); until then the jobs beside it may run
        /// out of memory.
        share_gpus: bool = false,
    }
}
