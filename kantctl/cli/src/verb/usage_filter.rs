//! Filter options for accounting: users, accounts and queues.

/// Users, accounts and queues; all if none is named.
#[derive(clap::Args, Debug, Clone, Default)]
pub struct UsageFilter {
    /// Only runs of these users (names or numbers)
    #[arg(short, long, value_name = "USER", value_delimiter = ',')]
    pub user: Vec<String>,
    /// Only runs of these accounts
    #[arg(short = 'A', long, value_name = "ACCOUNT", value_delimiter = ',')]
    pub account: Vec<String>,
    /// Only runs in these queues
    #[arg(
        short = 'p',
        long,
        visible_alias = "partition",
        value_name = "QUEUE",
        value_delimiter = ','
    )]
    pub queue: Vec<String>,
}

impl UsageFilter {
    /// The filters by their names in a request to the controller.
    #[must_use]
    pub fn query_lists(&self) -> [(&'static str, &[String]); 3] {
        [("users", &self.user), ("accounts", &self.account), ("queues", &self.queue)]
    }
}
