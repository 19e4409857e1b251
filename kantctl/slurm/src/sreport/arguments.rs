//! The options after a report's name: `Start=2026-11-01 Users=ada`.

use cli::failure::Failure;
use cli::output::Screen;
use cli::slurm_time;
use common::time::Time;

/// The options of a report.
pub struct ReportArguments {
    pub since: Time,
    pub until: Time,
    pub users: Vec<String>,
    pub accounts: Vec<String>,
    pub top: usize,
    /// Show each user once, with all accounts.
    pub group: bool,
}

impl ReportArguments {
    pub fn read(words: &[String], now: Time, screen: &Screen) -> Result<Self, Failure> {
        let at = |text: &str| {
            slurm_time::parse_time(text, now, &screen.zone)
                .map_err(|error| Failure::usage(anyhow::Error::msg(error)))
        };
        let until = at("today")?;
        let mut read = Self {
            since: at("yesterday")?,
            until,
            users: Vec::new(),
            accounts: Vec::new(),
            top: 10,
            group: false,
        };
        let list = |text: &str| text.split(',').map(str::to_owned).collect::<Vec<_>>();
        for word in words {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            match name.to_ascii_lowercase().as_str() {
                "start" => read.since = at(value)?,
                "end" => read.until = at(value)?,
                "user" | "users" => read.users = list(value),
                "account" | "accounts" => read.accounts = list(value),
                "topcount" => {
                    let wrong =
                        || Failure::usage(anyhow::anyhow!("TopCount={value}: write a number"));
                    read.top = value.parse().map_err(|_| wrong())?;
                }
                "group" => read.group = true,
                // There is one cluster, and accounts are not a tree.
                "tree" | "cluster" | "clusters" | "flatview" | "all_clusters" => {}
                other => {
                    let refused = anyhow::anyhow!("unknown option `{other}` of this report");
                    return Err(Failure::usage(refused).with_hint("see `sreport --help`"));
                }
            }
        }
        Ok(read)
    }
}
