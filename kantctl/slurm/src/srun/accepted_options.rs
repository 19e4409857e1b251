//! Options of srun about the use of the job's allocation. Only --exact and --overlap have an
//! effect: they set whether steps share CPUs and GPUs.

#[derive(clap::Args, Debug, Default)]
#[command(next_help_heading = "Accepted: a step uses its job's allocation")]
pub struct AcceptedOptions {
    /// Memory binding: memory is always near the job's CPUs
    #[arg(long, value_name = "KIND")]
    pub mem_bind: Option<String>,
    /// Task distribution: tasks are placed in the order of their numbers
    #[arg(short = 'm', long, value_name = "KIND")]
    pub distribution: Option<String>,
    /// Share resources with other steps (the default)
    #[arg(long)]
    pub overlap: bool,
    /// Use CPUs and GPUs that no other exclusive step uses: wait for them
    #[arg(long)]
    pub exact: bool,
    /// Share resources with other steps
    #[arg(short = 's', long)]
    pub oversubscribe: bool,
    /// Use of hardware threads: all threads of a core belong to one job
    #[arg(long, value_name = "KIND")]
    pub hint: Option<String>,
    /// Threads per core: all threads of a core belong to one job
    #[arg(long, value_name = "COUNT")]
    pub threads_per_core: Option<String>,
    /// Tasks per core: tasks share the job's CPUs
    #[arg(long, value_name = "COUNT")]
    pub ntasks_per_core: Option<String>,
    /// Tasks per socket: tasks share the job's CPUs
    #[arg(long, value_name = "COUNT")]
    pub ntasks_per_socket: Option<String>,
    /// CPU frequency: the node's governor sets it
    #[arg(long, value_name = "KIND")]
    pub cpu_freq: Option<String>,
    /// GPU frequency: GPU clocks are not changed
    #[arg(long, value_name = "KIND")]
    pub gpu_freq: Option<String>,
    /// Profiling: usage is measured per job
    #[arg(long, value_name = "KIND")]
    pub profile: Option<String>,
    /// Sampling interval: usage is measured per job
    #[arg(long, value_name = "SECONDS")]
    pub acctg_freq: Option<String>,
    /// Resource limits to propagate: tasks have the job's limits
    #[arg(long, value_name = "NAMES")]
    pub propagate: Option<String>,
    /// Network parameters: there are no switch plug-ins
    #[arg(long, value_name = "KIND")]
    pub network: Option<String>,
    /// Workload key: there are no workload keys
    #[arg(long, value_name = "NAME")]
    pub wckey: Option<String>,
    /// Continue after a node failure: a lost node always ends the job
    #[arg(short = 'k', long)]
    pub no_kill: bool,
    /// Do not show the status on Ctrl-C (it is never shown)
    #[arg(short = 'X', long)]
    pub disable_status: bool,
}
