//! Whose runs accounting is asked for. Never says when they ran.

/// Users, accounts and queues; of all where none is named.
#[derive(clap::Args, Debug, Clone, Default)]
pub struct Whose {
    /// Only of these users (names or numbers)
    #[arg(short, long, value_name = "USER", value_delimiter = ',')]
    pub user: Vec<String>,
    /// Only of these accounts
    #[arg(short = 'A', long, value_name = "ACCOUNT", value_delimiter = ',')]
    pub account: Vec<String>,
    /// Only of these queues
    #[arg(
        short = 'p',
        long,
        visible_alias = "partition",
        value_name = "QUEUE",
        value_delimiter = ','
    )]
    pub queue: Vec<String>,
}

impl Whose {
    /// By their names in a question to the controller.
    #[must_use]
    pub fn lists(&self) -> [(&'static str, &[String]); 3] {
        [("users", &self.user), ("accounts", &self.account), ("queues", &self.queue)]
    }
}
