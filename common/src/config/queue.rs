//! The `[[queue]]` tables. Never resolves a name; `config::policy` does.

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
        /// Its name, none twice.
        name: Option<QueueName> = None,
        /// The queue above it: its quota, limits, users and nodes bound this one too.
        parent: Option<QueueName> = None,
        /// Taken when a job names none; if no queue says so, the first that has none below it.
        default: bool = false,
        /// Jobs of a queue with a higher priority go first.
        priority: i32 = 0,
        /// Its nodes, like `g[001-064]`. Empty: its parent's, or all nodes.
        nodes: String = String::new(),
        /// For jobs that name no time limit, like `1-00:00:00`. Empty: the longest allowed.
        time_limit_default: String = String::new(),
        /// The longest time limit a job may ask for. Empty: no bound.
        time_limit_max: String = String::new(),
        /// Memory for each CPU of a job that names none.
        memory_per_cpu: String = "1G".to_owned(),
        /// Users (names or uids) who may use it. With no user, group or account: everybody.
        users: Vec<String> = Vec::new(),
        /// Groups (names or gids) whose members may use it.
        groups: Vec<String> = Vec::new(),
        /// Accounts whose jobs may use it: a lock where each has `users` or `groups` in its
        /// [[account]] table.
        accounts: Vec<AccountName> = Vec::new(),
        /// Who goes first: `fifo` (by queue and QoS priority, then by waiting time) or
        /// `multifactor` (by the weights of [priority]).
        order: Order = Order::default(),
        /// Behind a job without room: `wait` (nobody passes), `pass` (whoever fits passes) or
        /// `backfill` (whoever fits passes unless a promised start would suffer).
        behind: Behind = Behind::default(),
        /// So many jobs without room are promised a start each round; 1 is EASY, 0 promises all of
        /// them (conservative).
        backfill_depth: u32 = 1,
        /// A promise keeps `floating` nodes, whichever they turn out to be, or `pinned` ones. With
        /// a depth other than 1 they are always pinned.
        backfill_reservation: ReservationKind = ReservationKind::default(),
        /// Who is tried first behind a promise: `in-order` or `shortest-first`.
        backfill_candidates: Candidates = Candidates::default(),
        /// When its first job has waited for so long, like `2h`, preemptible jobs that passed it
        /// yield. Empty: never.
        head_timeout: String = String::new(),
        /// Which nodes a job gets: `ebinpack`, `binpack`, `spread`, `espread`, `fgd` or `first`.
        placement: Placement = Placement::default(),
        /// The zone its services are spread in (`espread`); other queues' jobs keep out of it.
        zone: Option<ZoneName> = None,
        /// When the zone is full, services are packed elsewhere (`pack`) or `wait`.
        zone_overflow: ZoneOverflow = ZoneOverflow::default(),
        /// With `fair_sharing`: its part, against its siblings', of what nobody is owed; 0: none.
        weight: u32 = 1,
        /// `shared` lends idle quota and borrows it, `isolated` does neither.
        quota_mode: QuotaMode = QuotaMode::default(),
        /// What it and the queues below it are owed, like
        /// `{ h100 = 64, gpus = 128, cpus = 1000, memory = "4T" }`; `gpus` counts all kinds
        /// together. What is not named is not bounded.
        quota: AmountsTable = AmountsTable::default(),
        /// How far it may go by borrowing, written like `quota`. What is not named is not bounded.
        borrow_at_most: AmountsTable = AmountsTable::default(),
        /// Bounds on running jobs of it and of the queues below it, like
        /// `{ jobs = 10, gpus = 64, cpus = 512, gpu_minutes = 100000 }`.
        limits: LimitsTable = LimitsTable::default(),
        /// The same for the jobs of one user in it.
        limits_per_user: LimitsTable = LimitsTable::default(),
        /// The same for the jobs of one account in it.
        limits_per_account: LimitsTable = LimitsTable::default(),
        /// Its jobs may make preemptible jobs of lower priority in it yield.
        preempt_by_priority: bool = false,
        /// Its jobs, within its quota, may make jobs of queues that borrow yield.
        reclaim: bool = true,
        /// Its jobs are preemptible unless they say otherwise.
        preemptible: bool = false,
        /// A job that yields waits again (`requeue`) or is over (`cancel`).
        victims: VictimMode = VictimMode::default(),
        /// A job that runs for less than this, like `10m`, is not made to yield. Empty: any may be.
        runtime_min: String = String::new(),
        /// With `fair_sharing`: its jobs are safe from other queues for so long, like `1h`. Asked
        /// is the queue right below what both have in common, then those above it. Empty: as above.
        reclaim_runtime_min: String = String::new(),
        /// Jobs may share a GPU (`--gpus=0.5`). Who has more than its share of the GPU's memory is
        /// ended (`hold_gpu_memory` of the node); until that is seen its neighbours may want.
        share_gpus: bool = false,
    }
}
