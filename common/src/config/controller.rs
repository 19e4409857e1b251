//! The keys of /etc/kant/kantctld.toml.

use super::account::AccountTable;
use super::automatic::AutoSeconds;
use super::moves::MovesTable;
use super::priority::PriorityTable;
use super::qos::QosTable;
use super::queue::QueueTable;
use super::roles::{Private, RolesTable};
use super::table::config_table;
use super::topology::{LeafTable, NvlinkDomainTable, ZoneTable};
use crate::policy::YieldsFirst;
use serde::{Deserialize, Serialize};

/// The users that a node may speak for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VouchedFor {
    /// The owners of the jobs that it runs.
    #[default]
    JobOwners,
    /// Its ordinary users.
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
        /// Address and port for nodes and other controllers, over TLS with certificates of the
        /// cluster. Empty: none.
        listen: String = "127.0.0.1:7600".to_owned(),
        /// Address (host:port) at which nodes and other controllers reach this controller. Empty:
        /// the value of `listen`. Set it if `listen` is 0.0.0.0.
        advertise: String = String::new(),
        /// Address and port (for example 127.0.0.1:7080) on which the API (with tokens) and the web
        /// page are served over HTTP. Empty: none. An address that other hosts can reach
        /// needs `http_certificate` and `http_key`.
        http_listen: String = String::new(),
        /// PEM file with the certificate for `http_listen`, followed by its intermediate
        /// certificates. It is read when kantctld starts. Empty: HTTP without TLS.
        http_certificate: String = String::new(),
        /// PEM file with the private key of `http_certificate`.
        http_key: String = String::new(),
        /// The controllers of this cluster, each as host:port; this controller may be among them. A
        /// controller without files in `state_dir` is new. If this list is empty, a new controller
        /// starts a cluster of its own. Otherwise a new controller starts only after the command
        /// `kantctld found` on this host, which starts the cluster, or `kantctld join`, which adds
        /// this host to it.
        peers: Vec<String> = Vec::new(),
        /// This controller's name in messages. Empty: the host name.
        name: String = String::new(),
        /// The cluster's secret key, with which controllers issue the certificates of nodes and
        /// controllers. It is made at the first start of a cluster, and other controllers get it
        /// when they join. Only its owner may read it, and no host other than the controllers has
        /// it.
        cluster_key: String = "/var/lib/kantctld/cluster.key".to_owned(),
        /// For upgrades. The controllers apply log entries by a numbered set of rules; the number
        /// is the rules level, and a new release may have a higher one. The leader raises the level
        /// of the cluster up to the value of this key and no further. As long as the key has the
        /// level of the previous release, you can go back to that release. See `kantctl admin
        /// upgrade status` and docs/operating/upgrade.md. 0: no maximum; the leader raises the
        /// level as soon as all controllers know a higher one, and you cannot go back after that.
        rules_level_max: u8 = 0,
        /// What ordinary users do not see of others (Slurm's PrivateData). `jobs`: jobs and
        /// services of other users, in lists, explanations, accounting, reports and events. A
        /// request that names a job of another user is answered as if the job did not exist. A
        /// dependency on such a job is refused. So is a dependency on any job that the controller
        /// has forgotten (`done_jobs_kept_seconds`), because a different answer would show which
        /// jobs existed. `usage`: the use of other users in reports; their jobs are still shown.
        /// `nodes`: nodes on which the user has no job; names of nodes in reasons, forecasts and
        /// reservations are still shown. Operators, viewers and support see everything.
        /// Coordinators see their own jobs and use, and also those of the accounts and queues that
        /// they coordinate. Always visible are the number of jobs, the resources that each queue
        /// holds, and which names and ports services already have. Each controller reads this key
        /// from its own file: write it into the files of all controllers.
        private: Vec<Private> = Vec::new(),
        /// kantd on a node forwards the requests of local users and of jobs, and names the user.
        /// `job_owners`: the controller accepts such requests only from ordinary users with a job
        /// on that node, and from all ordinary users if the node is in `submit_hosts`. `users`:
        /// from all ordinary users; root on any node can then act as any of them. In both cases
        /// root and operators are refused, and viewers, support and coordinators have only the
        /// rights of an ordinary user. `operators`: the controller accepts the requests of all
        /// users, also of root and operators, each with the rights of their roles; root on any node
        /// then controls the cluster.
        nodes_may_vouch_for: VouchedFor = VouchedFor::JobOwners,
        /// Nodes on which all ordinary users may use kantctl, such as login hosts: names and lists
        /// such as login[1-2]. They run jobs like other nodes. To prevent that, drain them, or set
        /// `nodes` of each queue to a list without them.
        submit_hosts: Vec<String> = Vec::new(),
        /// File with a secret of at least 32 bytes. On `http_listen`, JSON Web Tokens signed with
        /// it (HS256, as Slurm's `auth/jwt`) are accepted. Empty: no such tokens.
        jwt_secret_file: String = String::new(),
        /// File with the public keys of an identity provider (a JWK set, RFC 7517). JSON Web Tokens
        /// signed with them (RS256, PS256, ES256, EdDSA) are accepted. The file is read again when
        /// it changes. Empty: no such tokens.
        jwt_keys_file: String = String::new(),
        /// The claim with the user's name: `sun` in Slurm's tokens.
        jwt_user_claim: String = "sun".to_owned(),
        /// The issuer (`iss`) that a JSON Web Token must have. Empty: any.
        jwt_issuer: String = String::new(),
        /// The audience (`aud`) that a JSON Web Token must have. Empty: any.
        jwt_audience: String = String::new(),
        /// A JSON Web Token is refused if it expires more than this many seconds in the future.
        jwt_lifespan_max_seconds: u64 = 86_400,
        /// What JSON Web Tokens allow: scopes as in `kantctl token create`. Empty: all but `admin`.
        jwt_scopes: Vec<String> = Vec::new(),
        /// Accept jobs submitted by root. They run as root.
        allow_root_jobs: bool = false,
        /// Users with a smaller uid, except root, are system users, whose jobs are refused.
        uid_min: u32 = 1000,
        /// Accept jobs of users that are not in this host's user database. Such a user counts as a
        /// member of no group in the database. A job that such a user submits with a group that is
        /// in the database is therefore refused.
        allow_unknown_users: bool = false,
        /// A node that has been silent for this long is lost. Its jobs are requeued, or end as
        /// NODE_FAIL if they were submitted with --no-requeue.
        node_lost_after_seconds: u64 = 300,
        /// If a node has had no contact with the leading controller for this long, kantd ends the
        /// jobs there, because the controller is going to start them on other nodes. This includes
        /// an outage of all controllers. Jobs that were submitted with --no-requeue go on. The
        /// value may be at most `node_lost_after_seconds` minus `kill_grace_seconds` minus 10
        /// seconds for the clean-up. With 0, nodes never end jobs for this reason, and jobs survive
        /// any outage of the controllers; but a job may run twice if its node is only cut off.
        /// `"auto"`: the largest permitted value, if `peers` lists other controllers and that value
        /// is at least 10 seconds; otherwise 0. Use the same value on all controllers.
        fence_after_seconds: AutoSeconds = AutoSeconds(None),
        /// Time between SIGTERM and SIGKILL when a job is cancelled or reaches its time limit.
        kill_grace_seconds: u64 = 30,
        /// The longest time between two scheduling rounds. A round also runs after each change.
        round_period_seconds: u64 = 10,
        /// How long the controller keeps a finished job, for `kantctl show` and dependencies,
        /// before it forgets the job. Accounting keeps the job longer.
        done_jobs_kept_seconds: u64 = 86_400,
        /// The controller keeps at most this many finished jobs and array tasks of each user.
        /// Beyond that, the controller forgets the oldest before `done_jobs_kept_seconds`. 1000
        /// jobs or tasks need about 1 MB of memory.
        user_done_tasks: u32 = 20_000,
        /// Maximum memory, in MiB, for the scripts, environments and arguments of one user's jobs;
        /// a text that several jobs share counts once. Beyond this maximum, new jobs of the user
        /// are refused until some of the user's jobs have finished. In addition, a sixteenth of
        /// this size is kept for finished jobs, for `kantctl requeue` and the API's `GET
        /// /v1/jobs/JOB/script`.
        user_text_mib: u64 = 256,
        /// How many days each controller keeps finished jobs in its accounting, for `kantctl
        /// history`, sacct and reports. 0: forever.
        accounting_kept_days: u64 = 0,
        /// File to which this controller writes a line for each request that changes something or
        /// is refused: the user, the socket or host that it came from, the request and the result.
        /// A plain name is a file in `state_dir`. Empty: no audit log.
        audit_log: String = "audit.log".to_owned(),
        /// Size in MiB at which the audit log is renamed to `audit.log.1`, which replaces the
        /// previous `audit.log.1`. 0: never, for example because logrotate does this.
        audit_log_mib: u64 = 256,
        /// How often each controller writes a backup of the state, in hours, for `kantctld
        /// restore`. 0: never.
        backup_every_hours: u64 = 24,
        /// Directory of the backups that the controller writes by itself. A plain name is a
        /// directory in `state_dir`; a directory on another disk survives the loss of the disk of
        /// `state_dir`.
        backup_dir: String = "backups".to_owned(),
        /// How many of these backups are kept; at least one.
        backups_kept: u64 = 7,
        /// Number of log entries after which the controller saves a snapshot of the state and
        /// truncates the log; earlier if the log is larger than 32 MiB and larger than the last
        /// snapshot.
        snapshot_every_entries: u64 = 50_000,
        /// If less space than this is free on the disk of `state_dir`, in MiB, new jobs are
        /// refused, so that the end of running jobs can still be recorded. 0: jobs are accepted
        /// while there is any space.
        disk_reserve_mib: u64 = 64,
        /// The program that sends the e-mails that users request with --mail-type, as Slurm's
        /// MailProg. It is run as `PROGRAM -s SUBJECT ADDRESS,...`, like /usr/bin/mail, with the
        /// job's details in environment variables and an empty standard input. Empty: no mail is
        /// sent, and users of --mail-type get a warning. Use the same value on all controllers,
        /// because the leader sends the mail.
        mailer: String = String::new(),
        /// The user that runs `mailer` if kantctld runs as root. Otherwise `mailer` runs as the
        /// user of kantctld.
        mailer_user: String = "nobody".to_owned(),
        /// Domain that is added to an address without @. Empty: none, and `mailer` gets the plain
        /// user name.
        mail_domain: String = String::new(),
        /// Accept only nodes that are simulated by `kantd emulate`, so that no job really runs. If
        /// false, such nodes are refused.
        emulated: bool = false,
        /// What to log, in the syntax of RUST_LOG: `info`, `debug`, `kantctld::raft=debug`.
        log: String = "info".to_owned(),
        /// A CSV file with the position of each node in the network. Its columns are name, leaf,
        /// spine, core and, optionally, nvlink_domain and zone. The tables [[leaf]],
        /// [[nvlink_domain]] and [[zone]] add to it. Empty: only these tables are used.
        topology_file: String = String::new(),
        /// true: fair shares of the queues count. A queue's fair share is as much of its quota as
        /// its jobs ask for, plus a portion of the surplus. The surplus is the capacity that is in
        /// no quota, and the unused part of the quotas; queues with a higher `priority` get it
        /// first, and queues of equal priority share it by `weight`. When a queue with less than
        /// its fair share needs room, preemptible jobs of queues with more than their fair share
        /// are preempted (docs/fairness.md). false: the jobs of all queues are put in one order (by
        /// `priority` of the queue, then as `order` of the queue says), the first of them get the
        /// surplus, and `weight` has no effect.
        fair_sharing: bool = false,
        /// With `fair_sharing`: which of several preemptible jobs of one queue with equal priority
        /// is preempted first. `submitted-last`: the newest submission. `loses-least`: the job that
        /// would lose the least work since its start or its last `kantctl checkpoint`.
        yields_first: YieldsFirst = YieldsFirst::default(),
        /// The queues, one [[queue]] table for each. Without any, there is one queue named
        /// `default`.
        queue: Vec<QueueTable> = Vec::new(),
        /// The qualities of service (QoS), one [[qos]] table for each.
        qos: Vec<QosTable> = Vec::new(),
        /// The accounts, one [[account]] table for each. Without any, a job may name any account,
        /// and no account has limits.
        account: Vec<AccountTable> = Vec::new(),
        /// The leaf switches, one [[leaf]] table for each.
        leaf: Vec<LeafTable> = Vec::new(),
        /// The NVLink domains that span nodes, one [[nvlink_domain]] table for each.
        nvlink_domain: Vec<NvlinkDomainTable> = Vec::new(),
        /// The zones, one [[zone]] table for each.
        zone: Vec<ZoneTable> = Vec::new(),
        /// The weights of multifactor priority, for queues with `order = "multifactor"`; and how
        /// past use counts, for multifactor priority and for `fair_sharing`.
        priority: PriorityTable = PriorityTable::default(),
        /// With `fair_sharing`: limits for moving running jobs to make room for others.
        moves: MovesTable = MovesTable::default(),
        /// Who has which rights.
        roles: RolesTable = RolesTable::default(),
    }
}
