//! /etc/kant/kantd.toml. Never checks that paths exist; kantd does when it uses them.

use super::table::config_table;
use serde::{Deserialize, Serialize};

/// How jobs are confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CgroupMode {
    /// By cgroups v2 or v1, whichever the host uses; without the rights for it as off, said once
    /// in the log.
    #[default]
    Auto,
    /// As auto, but kantd refuses to start where cgroups cannot be used.
    Required,
    /// Not held to its share: a job's processes are found by their descent and by a mark in their
    /// environment, so that its end leaves none.
    Off,
}

config_table! {
    /// The node daemon, kantd.
    pub struct NodeConfig {
        /// This node's name, unique in the cluster. Empty: the host name up to its first dot.
        name: String = String::new(),
        /// A name or address other nodes reach it by. Empty: the node's name.
        address: String = String::new(),
        /// The controllers, as host:port; the first that answers is used.
        controllers: Vec<String> = vec!["127.0.0.1:7600".to_owned()],
        /// The cluster's secret key, copied from the controller.
        cluster_key: String = "/etc/kant/cluster.key".to_owned(),
        /// Where running steps and their journals are kept. Must survive a restart of kantd.
        spool_dir: String = "/var/lib/kantd".to_owned(),
        /// A local socket for kantctl on this node, forwarded to the controller. Empty: none.
        socket: String = "/run/kantd/kantd.sock".to_owned(),
        /// The CPUs offered to jobs, like `2-63`. Empty: all.
        cpus: String = String::new(),
        /// Memory kept back for the system, like `4G`.
        memory_kept_back: String = "512M".to_owned(),
        /// What jobs may ask for by name (`--constraint`), like ["ib", "rack7"]. The kinds of the
        /// node's GPUs are features without being named.
        features: Vec<String> = Vec::new(),
        /// How jobs are confined: auto, required or off.
        cgroup: CgroupMode = CgroupMode::Auto,
        /// The group under which jobs' cgroups are made.
        cgroup_root: String = "kant".to_owned(),
        /// Directories that each job has for itself, empty, and gone with it. Where the machine has
        /// a tmpfs the job's is one too, held to its memory; else it is kept in the spool.
        private_dirs: Vec<String> = vec!["/tmp".to_owned(), "/dev/shm".to_owned()],
        /// What runs jobs of `--container`: crun, or another OCI runtime that takes runc's words.
        /// Empty: crun or runc, where it is found in /usr/local or /usr; without one such jobs are
        /// refused here.
        container_runtime: String = String::new(),
        /// What of the machine a container sees, beside /dev, /proc, /sys, `private_dirs` and its
        /// working directory: /home, only to read: /etc/hosts:ro, at another place: /data/v2:/data.
        /// The last part may hold a *. What is not there is left out.
        container_mounts: Vec<String> =
            vec!["/etc/hosts:ro".to_owned(), "/etc/resolv.conf:ro".to_owned()],
        /// The same for jobs with GPUs: programs and libraries of the driver.
        container_gpu_mounts: Vec<String> = vec![
            "/usr/bin/nvidia-smi:ro".to_owned(),
            "/usr/lib/x86_64-linux-gnu/libcuda.so*:ro".to_owned(),
            "/usr/lib/x86_64-linux-gnu/libnvidia-*.so*:ro".to_owned(),
            "/usr/lib64/libcuda.so*:ro".to_owned(),
            "/usr/lib64/libnvidia-*.so*:ro".to_owned(),
        ],
        /// Processes and threads that a job may have here. 0: half of what the machine can hold.
        processes_max: u32 = 0,
        /// A program that root runs before each step on this node. If it fails, the step starts
        /// elsewhere and the node is drained. Empty: none.
        prolog: String = String::new(),
        /// A program that root runs after each step on this node. If it fails, the node is drained.
        /// Empty: none.
        epilog: String = String::new(),
        /// A program that each task runs first, of a script as of `srun` and `kantctl run`, as the
        /// job's user: of what it prints, lines `export NAME=VALUE` and `unset NAME` change the
        /// task's environment, `print TEXT` goes to its output. If it fails, so does the task.
        /// Empty: none.
        task_prolog: String = String::new(),
        /// After so long prolog and epilog are killed, and count as failed.
        hook_limit_seconds: u32 = 60,
        /// kantctl, which starters of MPI programs in jobs reach other nodes with. Empty: the one
        /// beside kantd, in /usr/local/bin or /usr/bin, or else what the job's PATH finds.
        kantctl: String = String::new(),
        /// The NVML library. Empty: libnvidia-ml.so.1 from where the loader finds it.
        nvml_library: String = String::new(),
        /// How often the GPUs of running jobs are looked at, in seconds, for what `kantctl show`
        /// says that a job used. 0: never.
        accounting_seconds: u32 = 10,
        /// End jobs that share a GPU (`--gpus=0.5`) and have more of its memory than their share,
        /// as soon as a look at the GPUs finds them so.
        hold_gpu_memory: bool = true,
        /// How often the node looks whether it is well, in seconds. 0: never.
        health_seconds: u32 = 30,
        /// The site's own check: a program that exits with 0 when all is well, and otherwise says
        /// in its first line what is not. Empty: none.
        health_script: String = String::new(),
        /// After so long the site's check is killed, and counts as failed.
        health_script_limit_seconds: u32 = 30,
        /// The spool's disk counts as full when less than this is free.
        disk_free_min: String = "512M".to_owned(),
        /// Checks that are only shown when they fail, like gpu_link.
        health_warn: Vec<String> = Vec::new(),
        /// Checks that keep new jobs away when they fail: all that no other key names, but for
        /// gpu_throttled, which is shown, and read_only, which drains at once.
        health_drain: Vec<String> = Vec::new(),
        /// Checks that, when they fail, also end the node's jobs, which start again elsewhere.
        health_drain_now: Vec<String> = Vec::new(),
        /// Run jobs of root where the controller allows them.
        allow_root_jobs: bool = false,
        /// Users below this uid, root aside, are the system's: their jobs do not run here.
        uid_min: u32 = 1000,
        /// Run jobs of users that are not in this node's user database.
        allow_unknown_users: bool = false,
        /// What to log, as in RUST_LOG.
        log: String = "info".to_owned(),
    }
}
