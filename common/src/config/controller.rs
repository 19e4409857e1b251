//! /etc/kant/kantctld.toml. Never checks that paths exist; kantctld does when it uses them.

use super::account::AccountTable;
use super::moves::MovesTable;
use super::priority::PriorityTable;
use super::qos::QosTable;
use super::queue::QueueTable;
use super::table::config_table;
use super::topology::{LeafTable, NvlinkDomainTable, ZoneTable};
use crate::policy::YieldsFirst;
use serde::{Deserialize, Serialize};

/// Which users a node may speak for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VouchedFor {
    /// For its users.
    #[default]
    Users,
    /// For its users, operators and root among them.
    Operators,
}

config_table! {
    /// The controller, kantctld.
    pub struct ControllerConfig {
        /// The cluster's name, shown to users and in SLURM_CLUSTER_NAME.
        cluster: String = "kant".to_owned(),
        /// Where the log and snapshots live. On a disk that honours fsync.
        state_dir: String = "/var/lib/kantctld".to_owned(),
        /// The local socket for kantctl; anybody on this host may connect, and the kernel says who.
        socket: String = "/run/kant/kantctld.sock".to_owned(),
        /// Address and port for node daemons, by mutual TLS with certificates from the cluster key.
        /// Empty: none.
        listen: String = "127.0.0.1:7600".to_owned(),
        /// Where the other controllers, and nodes, reach this one, host:port. Empty: as `listen`
        /// says; write it where that is 0.0.0.0.
        advertise: String = String::new(),
        /// The other controllers of this cluster, each host:port. With any named, an empty
        /// state_dir is not taken for the beginning of a new cluster: `kantctld found` begins one,
        /// `kantctld join` makes this controller one of them.
        peers: Vec<String> = Vec::new(),
        /// This controller's name, for people. Empty: the host's.
        name: String = String::new(),
        /// The cluster's secret key. Made at first start if it does not exist; copy it to every
        /// node. Readable by its owner only.
        cluster_key: String = "/etc/kant/cluster.key".to_owned(),
        /// Users (names or uids) who may do everything, besides root and the user kantctld runs as.
        admins: Vec<String> = Vec::new(),
        /// Which users a node may speak for, when it passes on what they ask: `users` (those who
        /// operate nothing) or `operators` (these and root as well). With the latter root on any
        /// node operates the cluster; without, operators ask on a controller's host.
        nodes_may_vouch_for: VouchedFor = VouchedFor::Users,
        /// Accept jobs submitted by root, to run as root.
        allow_root_jobs: bool = false,
        /// Users below this uid, root aside, are the system's: their jobs are refused.
        uid_min: u32 = 1000,
        /// Accept jobs of users that are not in this host's user database. They have one group,
        /// which must not be in it either.
        allow_unknown_users: bool = false,
        /// A node silent for so long is lost, and its jobs end as NodeLost or are requeued.
        node_lost_after_seconds: u64 = 300,
        /// Between SIGTERM and SIGKILL when a job is cancelled or reaches its time limit.
        kill_grace_seconds: u64 = 30,
        /// A scheduling round runs when something happened, and at least this often.
        round_period_seconds: u64 = 10,
        /// Finished jobs are kept for `kantctl show` this long, or until `user_done_tasks` are.
        done_jobs_kept_seconds: u64 = 86_400,
        /// So many finished jobs and array tasks of one user are kept at most, and always the last
        /// one that ended; those that ended before are in accounting alone. A thousand take about a
        /// megabyte.
        user_done_tasks: u32 = 20_000,
        /// What scripts, environments and arguments of one user's jobs may take, in MiB, the same
        /// text once. More are refused until some jobs are done. A sixteenth of it is kept of jobs
        /// that are done, for `kantctl requeue` and `kantctl show --script`.
        user_text_mib: u64 = 256,
        /// What is over stays in each controller's accounting for so many days: `kantctl history`,
        /// sacct, reports. 0: for ever.
        accounting_kept_days: u64 = 0,
        /// Where this controller writes a line for whatever changes something, and for each refusal
        /// of that: who asked, by which way, what, with what result. A plain name is one in
        /// state_dir. Empty: nowhere.
        audit_log: String = "audit.log".to_owned(),
        /// At this size, in MiB, it is moved aside, to the same name with `.1`, in place of the one
        /// before. 0: never; it may be moved or cut by another program at any time.
        audit_log_mib: u64 = 256,
        /// A snapshot of the state is taken, and the log cut, after so many log entries; or once
        /// they hold more bytes than the last snapshot, and than 32 MiB.
        snapshot_every_entries: u64 = 50_000,
        /// With less room than this on the disk of state_dir, in MiB, jobs are no longer accepted,
        /// so that those which run can still be told of. 0: accepted as long as anything fits.
        disk_reserve_mib: u64 = 64,
        /// The program that sends users the letters they ask for with --mail-type, called as
        /// `PROGRAM -s SUBJECT ADDRESS...` with the letter on its standard input, like
        /// /usr/bin/mail. Empty: none are sent, and whoever asks is told so. The same on each
        /// controller: the one that leads sends.
        mailer: String = String::new(),
        /// Whom it runs as where kantctld runs as root; as kantctld's own user otherwise.
        mailer_user: String = "nobody".to_owned(),
        /// What follows the @ of addresses that are the name of a user. Empty: nothing, and the
        /// program knows where its users' letters go.
        mail_domain: String = String::new(),
        /// Every node of this cluster is made up by `kantd emulate`, and no job really runs; real
        /// nodes are refused. Without it, emulated ones are.
        emulated: bool = false,
        /// What to log, as in RUST_LOG: `info`, `debug`, `kantctld::raft=debug`.
        log: String = "info".to_owned(),
        /// Where nodes stand, as a CSV file with the columns name, leaf, spine, core and, if
        /// wanted, nvlink_domain and zone. Empty: as the tables [[leaf]], [[nvlink_domain]] and
        /// [[zone]] say; they may also add what the file leaves out.
        topology_file: String = String::new(),
        /// Queues share GPUs fairly down their tree: what each is owed first, the rest by priority
        /// and weight; who holds more than that gives it back (docs/fairness.md). Without it each
        /// queue has its quota, and lends what it does not use.
        fair_sharing: bool = false,
        /// With `fair_sharing`: who of those alike is stopped first, `submitted-last` or
        /// `loses-least` (who started last). Who told that its work is saved (`kantctl checkpoint`)
        /// loses only what it did since.
        yields_first: YieldsFirst = YieldsFirst::default(),
        /// The queues, each a [[queue]] table. None: one queue named `default`.
        queue: Vec<QueueTable> = Vec::new(),
        /// The qualities of service, each a [[qos]] table.
        qos: Vec<QosTable> = Vec::new(),
        /// The accounts, each an [[account]] table. None: a job may name any, and none has bounds.
        account: Vec<AccountTable> = Vec::new(),
        /// The leaf switches, each a [[leaf]] table.
        leaf: Vec<LeafTable> = Vec::new(),
        /// The NVLink domains that span nodes, each an [[nvlink_domain]] table.
        nvlink_domain: Vec<NvlinkDomainTable> = Vec::new(),
        /// The zones, each a [[zone]] table.
        zone: Vec<ZoneTable> = Vec::new(),
        /// The weights of multifactor priority, the [priority] table.
        priority: PriorityTable = PriorityTable::default(),
        /// How often running jobs are moved so that others have room, the [moves] table.
        moves: MovesTable = MovesTable::default(),
    }
}
