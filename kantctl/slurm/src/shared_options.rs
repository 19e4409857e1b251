//! The options that all commands share, and the release that they follow.

/// What `--version` prints: the release of Slurm that options and output follow.
pub const VERSION: &str = concat!("slurm 22.05.8-kant-", env!("CARGO_PKG_VERSION"));

/// Options of every command.
#[derive(clap::Args, Debug, Clone, Default)]
pub struct Common {
    /// Clusters to ask (ignored: there is one cluster)
    #[arg(short = 'M', long = "clusters", visible_alias = "cluster", value_name = "CLUSTER")]
    pub clusters: Option<String>,
    /// Print more details, where a command has any
    #[arg(short = 'v', long, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// Print the version
    #[arg(short = 'V', long)]
    pub version: bool,
    /// Print this help
    #[arg(long, action = clap::ArgAction::HelpLong)]
    pub help: Option<bool>,
    /// Print the usage
    #[arg(long, action = clap::ArgAction::HelpShort)]
    pub usage: Option<bool>,
    /// Show this cluster only (ignored: there are no federations)
    #[arg(long, hide = true)]
    pub local: bool,
    /// Show the whole federation (ignored: there are no federations)
    #[arg(long, hide = true)]
    pub federation: bool,
}
