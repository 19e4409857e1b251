//! Options of srun that ask for what a step has anyway, or for a nearness that it does not need.
//! Never anything that changes what runs.

/// Taken; they change nothing.
#[derive(clap::Args, Debug, Default)]
#[command(next_help_heading = "Accepted: a step has what its job has on the node")]
pub struct Accepted {
    /// Memory is near the job's CPUs
    #[arg(long, value_name = "KIND")]
    pub mem_bind: Option<String>,
    /// In the order of their numbers
    #[arg(short = 'm', long, value_name = "KIND")]
    pub distribution: Option<String>,
    /// With others, whatever they have (the default)
    #[arg(long)]
    pub overlap: bool,
    /// CPUs and GPUs of its own, among steps that say the same: wait for them
    #[arg(long)]
    pub exact: bool,
    /// Together with others
    #[arg(short = 's', long)]
    pub oversubscribe: bool,
    /// Threads of a core go to one job in any case
    #[arg(long, value_name = "KIND")]
    pub hint: Option<String>,
    /// Threads of a core go to one job in any case
    #[arg(long, value_name = "COUNT")]
    pub threads_per_core: Option<String>,
    /// Tasks share the job's CPUs
    #[arg(long, value_name = "COUNT")]
    pub ntasks_per_core: Option<String>,
    /// Tasks share the job's CPUs
    #[arg(long, value_name = "COUNT")]
    pub ntasks_per_socket: Option<String>,
    /// The machine's governor decides
    #[arg(long, value_name = "KIND")]
    pub cpu_freq: Option<String>,
    /// GPUs keep the clocks they have
    #[arg(long, value_name = "KIND")]
    pub gpu_freq: Option<String>,
    /// What a job uses is measured as a whole
    #[arg(long, value_name = "KIND")]
    pub profile: Option<String>,
    /// What a job uses is measured as a whole
    #[arg(long, value_name = "SECONDS")]
    pub acctg_freq: Option<String>,
    /// The job's limits
    #[arg(long, value_name = "NAMES")]
    pub propagate: Option<String>,
    /// There are no switch plug-ins
    #[arg(long, value_name = "KIND")]
    pub network: Option<String>,
    /// The job's
    #[arg(long, value_name = "NAME")]
    pub wckey: Option<String>,
    /// A lost node ends the job in any case
    #[arg(short = 'k', long)]
    pub no_kill: bool,
    /// Status by Ctrl-C is never shown
    #[arg(short = 'X', long)]
    pub disable_status: bool,
}
