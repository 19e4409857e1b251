//! The keys of /etc/kant/kantctld.toml.

use super::account::AccountTable;
use super::moves::MovesTable;
use super::priority::PriorityTable;
use super::qos::QosTable;
use super::queue::QueueTable;
use super::table::config_table;
use super::topology::{LeafTable, NvlinkDomainTable, ZoneTable};
use crate::policy::YieldsFirst;
use serde::{Deserialize, Serialize};

/// The users that a node may speak for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VouchedFor {
    /// Its ordinary users.
    #[default]
    Users,
    /// All its users, root and operators included.
    Operators,
}

config_table! {
    /// The controller, kantctld.
    pub struct ControllerConfig {
        /// The cluster's name, shown to users and set as SLURM_CLUSTER_NAME.
        cluster: String = "kant".to_owned(),
        /// Directory of the log and its snapshots. Its disk must honour fsync.
        state_dir: String = "/var/lib/kantctld".to_owned(),
        /// The local socket for kantctl. Every user of this host may connect; the kernel reports
        /// the user's identity.
        socket: String = "/run/kant/kantctld.sock".to_owned(),
        /// Address and port for node daemons, over mutual TLS with certificates from the cluster
        /// key. Empty: none.
        listen: String = "127.0.0.1:7600".to_owned(),
        /// Address, host:port, at which nodes and other controllers reach this controller. Empty:
        /// the value of `listen`; set it where that is 0.0.0.0.
        advertise: String = String::new(),
        /// The other controllers of this cluster, each host:port. With any peer named, a controller
        /// with an empty state_dir does not begin a new cluster by itself: `kantctld found` begins
        /// one, `kantctld join` adds this controller to one.
        peers: Vec<String> = Vec::new(),
        /// This controller's name in messages. Empty: the host name.
        name: String = String::new(),
        /// The cluster's secret key. It is made at the first start if it does not exist; copy it to
        /// every node. Only its owner may read it.
        cluster_key: String = "/etc/kant/cluster.key".to_owned(),
        /// Operators: users (names or uids) who may do everything, besides root and the user that
        /// kantctld runs as.
        admins: Vec<String> = Vec::new(),
        /// The users that a node may speak for when it forwards their requests: `users` (those who
        /// are not operators) or `operators` (operators and root as well). With `operators`, root
        /// of any node controls the cluster. With `users`, operators must work on a controller's
        /// host.
        nodes_may_vouch_for: VouchedFor = VouchedFor::Users,
        /// Accept jobs submitted by root, which run as root.
        allow_root_jobs: bool = false,
        /// Users with a smaller uid, except root, are system users: their jobs are refused.
        uid_min: u32 = 1000,
        /// Accept jobs of users that are not in this host's user database. Such a user has one
        /// group, which must not be in the database either.
        allow_unknown_users: bool = false,
        /// A node that has been silent for this long is lost. Its jobs end as NodeLost or are
        /// requeued.
        node_lost_after_seconds: u64 = 300,
        /// Time between SIGTERM and SIGKILL when a job is cancelled or reaches its time limit.
        kill_grace_seconds: u64 = 30,
        /// A scheduling round runs after each change, and at least this often.
        round_period_seconds: u64 = 10,
        /// How long `kantctl show` knows a finished job. `user_done_tasks` may end this earlier.
        done_jobs_kept_seconds: u64 = 86_400,
        /// At most this many finished jobs and array tasks are kept for each user, and always the
        /// last one. Older ones remain in accounting only. One thousand take about 1 MB of memory.
        user_done_tasks: u32 = 20_000,
        /// Most memory, in MiB, for the scripts, environments and arguments of one user's jobs; the
        /// same text counts once. Further jobs are refused until some have finished. A sixteenth of
        /// it is kept for finished jobs, for `kantctl requeue` and `kantctl show --script`.
        user_text_mib: u64 = 256,
        /// Days that finished jobs stay in each controller's accounting, for `kantctl history`,
        /// sacct and reports. 0: forever.
        accounting_kept_days: u64 = 0,
        /// File to which this controller writes a line for each change and each refused change: the
        /// user, the way it came, the request and its result. A plain name is a file in state_dir.
        /// Empty: no audit.
        audit_log: String = "audit.log".to_owned(),
        /// At this size, in MiB, the audit is renamed with the suffix `.1`, which replaces the one
        /// before. 0: never; another program may rename or truncate it at any time.
        audit_log_mib: u64 = 256,
        /// A snapshot of the state is taken, and the log truncated, after this many log entries, or
        /// when the entries hold more bytes than the last snapshot and more than 32 MiB.
        snapshot_every_entries: u64 = 50_000,
        /// With less free space than this on the disk of state_dir, in MiB, new jobs are refused,
        /// so that the end of running jobs can still be recorded. 0: jobs are accepted as long as
        /// anything fits.
        disk_reserve_mib: u64 = 64,
        /// The program that sends the mail that users request with --mail-type. It is run as
        /// `PROGRAM -s SUBJECT ADDRESS...` with the text on its standard input, like /usr/bin/mail.
        /// Empty: no mail is sent, and --mail-type is answered with a warning. Set it to the same
        /// value on each controller, because the leader sends.
        mailer: String = String::new(),
        /// The user that runs `mailer` where kantctld runs as root. Otherwise it runs as kantctld's
        /// own user.
        mailer_user: String = "nobody".to_owned(),
        /// The part after the @ for addresses that are only a user's name. Empty: the name alone is
        /// passed to `mailer`.
        mail_domain: String = String::new(),
        /// All nodes of this cluster are simulated by `kantd emulate`, and no job really runs; real
        /// nodes are refused. If false, emulated nodes are refused.
        emulated: bool = false,
        /// What to log, as in RUST_LOG: `info`, `debug`, `kantctld::raft=debug`.
        log: String = "info".to_owned(),
        /// A CSV file of the nodes' places in the network, with the columns name, leaf, spine, core
        /// and, optionally, nvlink_domain and zone. Empty: the tables [[leaf]], [[nvlink_domain]]
        /// and [[zone]], which may also add to the file.
        topology_file: String = String::new(),
        /// Queues share GPUs fairly down their tree: each gets its quota first, and the rest is
        /// divided by priority and weight. A queue that holds more than its fair share gives it
        /// back when another needs it (docs/fairness.md). If false, each queue has its quota and
        /// lends what it does not use.
        fair_sharing: bool = false,
        /// With `fair_sharing`: the tie-break between equally ranked victims: `submitted-last` (the
        /// newest submission) or `loses-least` (the job that loses the least work since its start
        /// or its last `kantctl checkpoint`).
        yields_first: YieldsFirst = YieldsFirst::default(),
        /// The queues, each a [[queue]] table. None: one queue named `default`.
        queue: Vec<QueueTable> = Vec::new(),
        /// The qualities of service, each a [[qos]] table.
        qos: Vec<QosTable> = Vec::new(),
        /// The accounts, each an [[account]] table. None: a job may name any account, and no
        /// account has limits.
        account: Vec<AccountTable> = Vec::new(),
        /// The leaf switches, each a [[leaf]] table.
        leaf: Vec<LeafTable> = Vec::new(),
        /// The NVLink domains that span nodes, each an [[nvlink_domain]] table.
        nvlink_domain: Vec<NvlinkDomainTable> = Vec::new(),
        /// The zones, each a [[zone]] table.
        zone: Vec<ZoneTable> = Vec::new(),
        /// The weights of multifactor priority, the [priority] table.
        priority: PriorityTable = PriorityTable::default(),
        /// How often running jobs may be moved to make room for others, the [moves] table.
        moves: MovesTable = MovesTable::default(),
    }
}
