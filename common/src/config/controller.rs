//! /etc/kant/kantctld.toml. Never checks that paths exist; kantctld does when it uses them.

use super::table::config_table;
use crate::id::QueueName;

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
        /// The cluster's secret key. Made at first start if it does not exist; copy it to every
        /// node. Readable by its owner only.
        cluster_key: String = "/etc/kant/cluster.key".to_owned(),
        /// Users (names or uids) who may do everything, besides root and the user kantctld runs as.
        admins: Vec<String> = Vec::new(),
        /// Accept jobs submitted by root, to run as root.
        allow_root_jobs: bool = false,
        /// A node silent for so long is lost, and its jobs end as NodeLost or are requeued.
        node_lost_after_seconds: u64 = 300,
        /// Between SIGTERM and SIGKILL when a job is cancelled or reaches its time limit.
        kill_grace_seconds: u64 = 30,
        /// A scheduling round runs when something happened, and at least this often.
        round_period_seconds: u64 = 10,
        /// Finished jobs are kept for `kantctl show` at least this long.
        done_jobs_kept_seconds: u64 = 86_400,
        /// A snapshot of the state is taken, and the log cut, after so many log entries.
        snapshot_every_entries: u64 = 50_000,
        /// What to log, as in RUST_LOG: `info`, `debug`, `kantctld::raft=debug`.
        log: String = "info".to_owned(),
        /// The queues, each a [[queue]] table. None: one queue named `default`.
        queue: Vec<QueueTable> = Vec::new(),
    }
}

config_table! {
    /// One queue ("partition" in Slurm).
    pub struct QueueTable {
        /// Its name.
        name: Option<QueueName> = None,
        /// Taken when a job names none; the first queue if no queue says so.
        default: bool = false,
        /// Jobs of a queue with a higher priority go first.
        priority: i32 = 0,
        /// Its nodes, like `g[001-064]`. Empty: all nodes.
        nodes: String = String::new(),
        /// For jobs that name no time limit, like `1-00:00:00`. Empty: the longest allowed.
        time_limit_default: String = String::new(),
        /// The longest time limit a job may ask for. Empty: no bound.
        time_limit_max: String = String::new(),
        /// Memory for each CPU of a job that names none.
        memory_per_cpu: String = "1G".to_owned(),
    }
}
