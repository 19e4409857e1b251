//! The keys of /etc/kant/kantd.toml.

use super::table::config_table;
use serde::{Deserialize, Serialize};

/// How jobs are confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CgroupMode {
    /// By cgroups v2 or v1, as the host has them. Without the rights for either, as `off`, with a
    /// warning in the log.
    #[default]
    Auto,
    /// As `auto`, but kantd refuses to start where cgroups cannot be used.
    Required,
    /// Jobs are not held to their share. A job's processes are found by their ancestry and by a
    /// mark in their environment, so that its end leaves none.
    Off,
}

config_table! {
    /// The node daemon, kantd.
    pub struct NodeConfig {
        /// This node's name, unique in the cluster. Empty: the host name up to its first dot.
        name: String = String::new(),
        /// Name or address at which other nodes reach it. Empty: the node's name.
        address: String = String::new(),
        /// The controllers, as host:port. The first that answers is used.
        controllers: Vec<String> = vec!["127.0.0.1:7600".to_owned()],
        /// The cluster's secret key, copied from the controller.
        cluster_key: String = "/etc/kant/cluster.key".to_owned(),
        /// Directory of running steps and their journals. It must survive a restart of kantd.
        spool_dir: String = "/var/lib/kantd".to_owned(),
        /// A local socket for kantctl on this node, forwarded to the controller. Empty: none.
        socket: String = "/run/kantd/kantd.sock".to_owned(),
        /// The CPUs offered to jobs, like `2-63`. Empty: all.
        cpus: String = String::new(),
        /// Memory reserved for the system, like `4G`.
        memory_kept_back: String = "512M".to_owned(),
        /// Names that jobs may ask for with `--constraint`, like ["ib", "rack7"]. The kinds of the
        /// node's GPUs are features without being listed.
        features: Vec<String> = Vec::new(),
        /// How jobs are confined: `auto`, `required` or `off`.
        cgroup: CgroupMode = CgroupMode::Auto,
        /// The cgroup under which the cgroups of jobs are made.
        cgroup_root: String = "kant".to_owned(),
        /// Directories that are private to each job: empty at its start and removed at its end.
        /// Where the host has a tmpfs, the job gets a tmpfs too, which counts against its memory;
        /// other directories are kept in the spool.
        private_dirs: Vec<String> = vec!["/tmp".to_owned(), "/dev/shm".to_owned()],
        /// The program that runs jobs with `--container`: crun, or another OCI runtime that takes
        /// runc's arguments. Empty: crun or runc in /usr/local or /usr; if there is none, such jobs
        /// are refused on this node.
        container_runtime: String = String::new(),
        /// Paths of the host that a container sees, besides /dev, /proc, /sys, `private_dirs` and
        /// its working directory: /home; read-only, /etc/hosts:ro; at another path, /data/v2:/data.
        /// The last part of a path may contain `*`. Paths that do not exist are left out.
        container_mounts: Vec<String> =
            vec!["/etc/hosts:ro".to_owned(), "/etc/resolv.conf:ro".to_owned()],
        /// The same for jobs with GPUs: the programs and libraries of the driver.
        container_gpu_mounts: Vec<String> = vec![
            "/usr/bin/nvidia-smi:ro".to_owned(),
            "/usr/lib/x86_64-linux-gnu/libcuda.so*:ro".to_owned(),
            "/usr/lib/x86_64-linux-gnu/libnvidia-*.so*:ro".to_owned(),
            "/usr/lib64/libcuda.so*:ro".to_owned(),
            "/usr/lib64/libnvidia-*.so*:ro".to_owned(),
        ],
        /// Most processes and threads of a job on this node. 0: half of what the host can hold.
        processes_max: u32 = 0,
        /// A program that root runs before each step on this node. If it fails, the step starts
        /// elsewhere and the node is drained. Empty: none.
        prolog: String = String::new(),
        /// A program that root runs after each step on this node. If it fails, the node is drained.
        /// Empty: none.
        epilog: String = String::new(),
        /// A program that runs before each task, as the job's user, for scripts as for `srun` and
        /// `kantctl run`. Lines of its output change the task: `export NAME=VALUE` and `unset NAME`
        /// its environment, `print TEXT` its output. If it fails, the task fails. Empty: none.
        task_prolog: String = String::new(),
        /// Time after which a prolog or epilog is killed and counts as failed.
        hook_limit_seconds: u32 = 60,
        /// Path of kantctl, with which launchers of MPI programs in jobs reach other nodes. Empty:
        /// the one beside kantd, in /usr/local/bin or /usr/bin, or in the job's PATH.
        kantctl: String = String::new(),
        /// The NVML library. Empty: libnvidia-ml.so.1, found by the loader.
        nvml_library: String = String::new(),
        /// How often the GPUs of running jobs are sampled, in seconds, for the use that `kantctl
        /// show` reports. 0: never.
        accounting_seconds: u32 = 10,
        /// End a job that shares a GPU (`--gpus=0.5`) when a sample finds that it uses more of the
        /// GPU's memory than its share.
        hold_gpu_memory: bool = true,
        /// How often the node checks its health, in seconds. 0: never.
        health_seconds: u32 = 30,
        /// The site's own health check: a program that exits with 0 if the node is healthy, and
        /// otherwise prints the problem in its first line. Empty: none.
        health_script: String = String::new(),
        /// Time after which the site's check is killed and counts as failed.
        health_script_limit_seconds: u32 = 30,
        /// The spool's disk counts as full when less than this is free.
        disk_free_min: String = "512M".to_owned(),
        /// Checks that are only reported when they fail, like gpu_link.
        health_warn: Vec<String> = Vec::new(),
        /// Checks that drain the node when they fail. By default all checks that no other key names
        /// do, except gpu_throttled, which is only reported, and read_only, which drains at once.
        health_drain: Vec<String> = Vec::new(),
        /// Checks that, when they fail, drain the node and also end its jobs, which start again
        /// elsewhere.
        health_drain_now: Vec<String> = Vec::new(),
        /// Run jobs of root, where the controller allows them.
        allow_root_jobs: bool = false,
        /// Users with a smaller uid, except root, are system users: their jobs do not run on this
        /// node.
        uid_min: u32 = 1000,
        /// Run jobs of users that are not in this node's user database.
        allow_unknown_users: bool = false,
        /// What to log, as in RUST_LOG.
        log: String = "info".to_owned(),
    }
}
