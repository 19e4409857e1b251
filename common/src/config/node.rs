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
        /// Name or address at which other nodes of a job reach this node. Empty: the node's name.
        address: String = String::new(),
        /// The controllers, each as host:port. The first that answers is used.
        controllers: Vec<String> = vec!["127.0.0.1:7600".to_owned()],
        /// Directory for the records of running jobs, for the private `/tmp` of jobs and for this
        /// node's certificate. It must survive a restart of kantd.
        spool_dir: String = "/var/lib/kantd".to_owned(),
        /// A local socket for kantctl on this node. kantd forwards the requests to the controller.
        /// Empty: none.
        socket: String = "/run/kantd/kantd.sock".to_owned(),
        /// The CPUs offered to jobs, like `2-63`. Empty: all.
        cpus: String = String::new(),
        /// Memory reserved for the system, which jobs do not get, e.g. `4G`.
        memory_kept_back: String = "512M".to_owned(),
        /// Names that jobs can request with `--constraint`, e.g. ["ib", "rack7"]. The kinds of the
        /// node's GPUs are features too, and need not be listed.
        features: Vec<String> = Vec::new(),
        /// How jobs are confined. `auto`: by cgroups, or not at all if they cannot be used on this
        /// host. `required`: by cgroups; if they cannot be used, kantd does not start. `off`: not
        /// at all.
        cgroup: CgroupMode = CgroupMode::Auto,
        /// The cgroup under which the cgroups of jobs are made.
        cgroup_root: String = "kant".to_owned(),
        /// The IP address on which `kantd router` on this node listens for requests to services:
        /// 127.0.0.1, 0.0.0.0 or an address of the node. Empty: no router runs here.
        router: String = String::new(),
        /// PEM file with the certificate of the router, followed by its intermediate certificates.
        /// The file is read again when it changes. With a certificate, clients must use TLS 1.3.
        /// Empty: no TLS.
        router_certificate: String = String::new(),
        /// PEM file with the private key of `router_certificate`. Only root should be able to read
        /// it.
        router_key: String = String::new(),
        /// IP address and port, such as 127.0.0.1:5300, on which the router answers DNS queries for
        /// the services with a `port`, by UDP and TCP; the port is 1024 or above. Everyone who can
        /// reach this port gets the addresses and ports of the ready replicas of these services.
        /// Empty: none.
        router_dns: String = String::new(),
        /// The domain in which the services have their names: `NAME.DOMAIN`.
        router_dns_domain: String = "kant.internal".to_owned(),
        /// The ports that replicas of services get on this node.
        service_ports: String = "20000-29999".to_owned(),
        /// Directories that are private to each job: empty at its start and removed at its end. A
        /// directory that is a tmpfs on the host is a tmpfs in the job too, whose files count as
        /// memory of the job. The others are directories in the spool.
        private_dirs: Vec<String> = vec!["/tmp".to_owned(), "/dev/shm".to_owned()],
        /// The program that runs jobs with `--container`: crun, or another OCI runtime with the
        /// arguments of runc. Empty: crun or runc in /usr/local or /usr. Without any, such jobs
        /// fail on this node.
        container_runtime: String = String::new(),
        /// Paths of the host that are visible in a container, in addition to /dev, /proc, /sys,
        /// `private_dirs` and the working directory of the job. Examples: `/home`; `/etc/hosts:ro`
        /// (read-only); `/data/v2:/data` (at another path). The last part of a path may contain
        /// `*`. Paths that do not exist are left out.
        container_mounts: Vec<String> =
            vec!["/etc/hosts:ro".to_owned(), "/etc/resolv.conf:ro".to_owned()],
        /// Further paths, written as in `container_mounts`, for jobs with GPUs: the programs and
        /// libraries of the driver.
        container_gpu_mounts: Vec<String> = vec![
            "/usr/bin/nvidia-smi:ro".to_owned(),
            "/usr/lib/x86_64-linux-gnu/libcuda.so*:ro".to_owned(),
            "/usr/lib/x86_64-linux-gnu/libnvidia-*.so*:ro".to_owned(),
            "/usr/lib64/libcuda.so*:ro".to_owned(),
            "/usr/lib64/libnvidia-*.so*:ro".to_owned(),
        ],
        /// The most processes and threads of one job on this node. 0: half of the most that the
        /// host supports.
        processes_max: u32 = 0,
        /// A program that root runs on this node before each job starts there, once for each
        /// attempt (not for each `srun`). If it fails, the job is started on another node, and this
        /// node is drained. Empty: none.
        prolog: String = String::new(),
        /// A program that root runs on this node after each attempt of a job there. If it fails,
        /// the node is drained. Empty: none.
        epilog: String = String::new(),
        /// A program that runs as the job's user before each task: before the script, and before
        /// each task of `srun` and `kantctl run`. Its output can change the task: the lines `export
        /// NAME=VALUE` and `unset NAME` change the environment, `print TEXT` writes to the task's
        /// output. If it fails, the task fails. Empty: none.
        task_prolog: String = String::new(),
        /// Time after which a prolog or epilog is killed and counts as failed.
        hook_limit_seconds: u32 = 60,
        /// Path of the kantctl with which MPI launchers in jobs start programs on other nodes.
        /// Empty: the first that is found in kantd's directory, /usr/local/bin, /usr/bin and the
        /// job's PATH.
        kantctl: String = String::new(),
        /// The NVML library. Empty: libnvidia-ml.so.1, found by the dynamic loader.
        nvml_library: String = String::new(),
        /// The interval, in seconds, at which the GPUs of running jobs are sampled, for the use
        /// that `kantctl show` reports and for `gpu_idle_percent`. 0: never.
        accounting_seconds: u32 = 10,
        /// A GPU of a job is idle if it was busy for less than this part of the time, in percent,
        /// in each of the last six samples (`accounting_seconds`). `kantctl queue --idle` lists
        /// jobs with idle GPUs. 0: none is ever idle. Shares of GPUs and MIG devices are left out.
        gpu_idle_percent: u32 = 5,
        /// Directories with data sets, models or images, e.g. ["/scratch/models"]. Each file or
        /// directory in one of them is a data set, model or image, and its name is the NAME of
        /// `--data=NAME`. Names that begin with a dot are left out: copy new data under such a
        /// name, and rename it when it is complete. A job with `--data=NAME` prefers the nodes that
        /// have NAME. The directories are read every 30 seconds. At most 256 names count.
        data_dirs: Vec<String> = Vec::new(),
        /// A directory for files that name the jobs on each GPU, for `DCGM_HPC_JOB_MAPPING_DIR` of
        /// NVIDIA's dcgm-exporter, e.g. `/run/kant-gpu-jobs`. The file of a GPU is named by its
        /// number in `nvidia-smi`. Empty: no such files.
        gpu_jobs_dir: String = String::new(),
        /// Whether a job that shares a GPU (`--gpus=0.5`) is ended when a sample shows that it uses
        /// more GPU memory than its share.
        hold_gpu_memory: bool = true,
        /// The interval, in seconds, at which the node checks its health. 0: never.
        health_seconds: u32 = 30,
        /// The site's own health check: a program that exits with 0 if the node is healthy, and
        /// otherwise prints the problem in its first line. Empty: none.
        health_script: String = String::new(),
        /// Time after which the site's check is killed and counts as failed.
        health_script_limit_seconds: u32 = 30,
        /// The check disk_full fails when less than this is free on the spool's disk.
        disk_free_min: String = "512M".to_owned(),
        /// Checks whose failure is only reported; the node stays in service. Example: gpu_link.
        health_warn: Vec<String> = Vec::new(),
        /// Checks (their names: docs/operating/health.md) whose failure drains the node. Checks
        /// that are listed in none of `health_warn`, `health_drain` and `health_drain_now` also
        /// drain it, with two exceptions: gpu_throttled is only reported, and read_only also ends
        /// the node's jobs.
        health_drain: Vec<String> = Vec::new(),
        /// Checks that drain the node when they fail and also end its jobs, which start again on
        /// other nodes.
        health_drain_now: Vec<String> = Vec::new(),
        /// Run jobs of root, if the controller accepts them.
        allow_root_jobs: bool = false,
        /// Users with a smaller uid, except root, are system users, whose jobs do not run on this
        /// node.
        uid_min: u32 = 1000,
        /// Run jobs of users that are not in this node's user database.
        allow_unknown_users: bool = false,
        /// What to log, in the syntax of RUST_LOG.
        log: String = "info".to_owned(),
    }
}
