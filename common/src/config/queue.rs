//! The `[[queue]]` tables. Names in them are resolved by `config::policy`.

use super::amounts::AmountsTable;
use super::limits::LimitsTable;
use super::table::config_table;
use crate::id::{AccountName, QueueName, ZoneName};
use crate::policy::{
    Behind, Candidates, Order, Placement, QuotaMode, ReservationKind, RunTimes, Sandbox,
    VictimMode, ZoneOverflow,
};

config_table! {
    /// A queue is a "partition" in Slurm.
    pub struct QueueTable {
        /// The queue's name, unique.
        name: Option<QueueName> = None,
        /// The parent queue. Its quota, limits, users and nodes also apply to this queue.
        parent: Option<QueueName> = None,
        /// Jobs that name no queue go to this queue. If no queue has this key, such jobs go to the
        /// first queue without children.
        default: bool = false,
        /// Without `fair_sharing`: jobs of a queue with a higher priority are considered first.
        /// With `fair_sharing`: queues of the same parent with a higher priority get surplus first.
        priority: i32 = 0,
        /// The queue's nodes, e.g. `g[001-064]`. Empty: the parent's nodes, or all nodes.
        nodes: String = String::new(),
        /// Time limit of jobs that request none, e.g. `1-00:00:00` (days-hours:minutes:seconds).
        /// Empty: `time_limit_max`.
        time_limit_default: String = String::new(),
        /// The longest time limit that a job may request. Empty: no limit.
        time_limit_max: String = String::new(),
        /// Memory for each CPU of a job that requests no memory.
        memory_per_cpu: String = "1G".to_owned(),
        /// Users (names or uids) who may use the queue. If no user, group or account is listed, all
        /// users may use it.
        users: Vec<String> = Vec::new(),
        /// Groups (names or gids) whose members may use it.
        groups: Vec<String> = Vec::new(),
        /// Accounts whose jobs may use it. Caution: every user may name an account that has no
        /// `users` and no `groups`, and may then use the queue.
        accounts: Vec<AccountName> = Vec::new(),
        /// Coordinators: they may cancel, hold, release and requeue the jobs of the queue and of
        /// the queues below it, and change how these jobs are scheduled (docs/operating/rights.md).
        /// Entries as in [roles].
        coordinators: Vec<String> = Vec::new(),
        /// The order of the queue's jobs: `fifo` (by the priority of queue and QoS, then by --nice,
        /// then by waiting time) or `multifactor` (by the weights of [priority]).
        order: Order = Order::default(),
        /// Without `fair_sharing`: which jobs may start ahead of a waiting job that does not fit.
        /// `wait`: none. `pass`: every job that fits. `backfill`: every job that fits and delays no
        /// planned start. With `fair_sharing`, `behind`, the `backfill_` keys and `head_timeout`
        /// have no effect.
        behind: Behind = Behind::default(),
        /// The number of waiting jobs that get a planned start in each round. 1: EASY backfill. 0:
        /// all of them (conservative backfill).
        backfill_depth: u32 = 1,
        /// What is reserved for a planned start: a number of suitable nodes (`floating`) or
        /// particular nodes (`pinned`). With a depth other than 1 it is always `pinned`.
        backfill_reservation: ReservationKind = ReservationKind::default(),
        /// The order in which jobs of equal priority are tried for backfill. `relative-wait`: the
        /// job with the largest value of (waiting time)^5 / (time limit)^2 first. For example, a
        /// job with a limit of 32 hours goes ahead of a job with a limit of 1 hour once it has
        /// waited 4 times as long. `shortest-first`: the shortest time limit first. `in-order`: the
        /// longest wait first. A `multifactor` queue keeps its own order.
        backfill_candidates: Candidates = Candidates::default(),
        /// How long a job that would start ahead of a planned start is assumed to run. `limit`: its
        /// time limit. `expected`: the mean of the last two runs of similar jobs of the same user,
        /// at most the time limit; `backfill_candidates` then also uses this time in place of the
        /// time limit. Planned starts are always computed from time limits. A job that runs longer
        /// than expected may delay the planned start of the first job of the queue. As long as the
        /// same job stays the first, such delays add up to at most twice its time limit; they are
        /// counted from zero when another controller becomes the leader. Only with `backfill_depth
        /// = 1` and `backfill_reservation = "floating"`.
        backfill_run_times: RunTimes = RunTimes::default(),
        /// When the first job of the queue has waited for this long, e.g. `2h`, preemptible jobs of
        /// the queue that overtook it are preempted, as few as possible. A job has overtaken the
        /// first job if it comes later in the order of the queue, but started while the first job
        /// was waiting. Empty: never.
        head_timeout: String = String::new(),
        /// How nodes are chosen for a job: `ebinpack` (fill nodes and leaf switches that are in
        /// use), `binpack` (fill nodes that are in use), `spread` (the node with the most free),
        /// `espread` (spread services over the nodes of `zone`, pack other jobs), `fgd` (least
        /// fragmentation, for shares of GPUs) or `first` (by name).
        placement: Placement = Placement::default(),
        /// With `placement = "espread"`: the zone in which the queue's services (`kantctl submit
        /// --service`) are spread. The zone is then used only by services of queues that have
        /// `espread` and this zone. All other jobs, of any queue, are placed outside of it.
        zone: Option<ZoneName> = None,
        /// What happens to services when the zone is full: they are packed on nodes outside of it
        /// (`pack`) or wait (`wait`).
        zone_overflow: ZoneOverflow = ZoneOverflow::default(),
        /// With `fair_sharing`: the queue's part of the surplus, relative to the other queues with
        /// the same parent and the same `priority`; 0: no part. The surplus is the capacity that is
        /// left when each queue has as much of its quota as it asks for.
        weight: u32 = 1,
        /// `shared`: the queue lends its unused quota to others, and borrows from them. `isolated`:
        /// it does neither.
        quota_mode: QuotaMode = QuotaMode::default(),
        /// The resources that the queue and the queues below it are guaranteed, e.g. `{ h100 = 64,
        /// gpus = 128, cpus = 1000, memory = "4T" }`; `gpus` counts all kinds together. A resource
        /// that is not listed is neither guaranteed nor limited.
        quota: AmountsTable = AmountsTable::default(),
        /// The most that the queue may hold in all, quota and borrowed resources together. If it is
        /// less than `quota`, it counts in place of the quota. Written like `quota`. A resource
        /// that is not listed is not limited.
        borrow_at_most: AmountsTable = AmountsTable::default(),
        /// Limits on the running jobs of the queue and the queues below it together, e.g. `{ jobs =
        /// 10, gpus = 64, cpus = 512, gpu_minutes = 100000 }`. For `gpu_minutes`, a running job
        /// counts as its number of GPUs multiplied by the minutes that remain until its time limit.
        limits: LimitsTable = LimitsTable::default(),
        /// Limits, as in `limits`, on the running jobs of each user in the queue.
        limits_per_user: LimitsTable = LimitsTable::default(),
        /// Limits, as in `limits`, on the running jobs of each account in the queue.
        limits_per_account: LimitsTable = LimitsTable::default(),
        /// Jobs of the queue may preempt preemptible jobs of lower priority in the same queue.
        preempt_by_priority: bool = false,
        /// Jobs of the queue may preempt jobs of queues that borrow, as long as the queue stays
        /// within its quota (with `fair_sharing`: within its fair share).
        reclaim: bool = true,
        /// `true`: jobs of the queue may be preempted. `preemptible` of a job's QoS overrides this
        /// key. `--preemptible` or `--no-preemptible` of a job overrides both. Caution: without
        /// `fair_sharing`, a queue that reclaims its quota may preempt all jobs of a queue that
        /// borrows, even those that are not preemptible.
        preemptible: bool = false,
        /// What happens to a preempted job of the queue: it is requeued (`requeue`) or cancelled
        /// (`cancel`).
        victims: VictimMode = VictimMode::default(),
        /// A job is not preempted before it has run for this long, e.g. `10m`. Empty: no such
        /// protection.
        runtime_min: String = String::new(),
        /// With `fair_sharing`: a job is not preempted by jobs of other queues before it has run
        /// for this long, e.g. `1h`. Empty: as in the parent. If the queues of the running and the
        /// waiting job have the same parent, the value of the running job's queue applies.
        /// Otherwise the value of one ancestor applies: the highest one of the running job's queue,
        /// or this queue itself, that is not also an ancestor of the waiting job's queue. Example:
        /// the queue `vision` is below `lab`, and `night` below `ops`; a job of `vision` is
        /// protected from one of `night` by the value of `lab`.
        reclaim_runtime_min: String = String::new(),
        /// Allow jobs to share a GPU (`--gpus=0.5`). A job that uses more GPU memory than its share
        /// is ended (`hold_gpu_memory` in kantd.toml); until then, other jobs on that GPU may run
        /// out of memory.
        share_gpus: bool = false,
        /// Which system calls the jobs of the queue cannot make (docs/operating/nodes.md).
        /// `default`: those for kernel modules, clocks, reboots and the like; setuid programs
        /// cannot make them either. `strict`: also those for namespaces, mounts, kernel keys,
        /// io_uring and performance counters; and setuid programs run without the rights of their
        /// owner. `off`: no restriction. Queues below do not inherit it. A change applies to jobs
        /// that start later.
        sandbox: Sandbox = Sandbox::default(),
    }
}
