//! A listing again and again (`-i`). Never remembers what it showed.

use crate::failure::Failure;
use crate::output::Screen;
use crate::slurm::calendar;
use std::time::Duration;

/// Retry and again.
#[derive(clap::Args, Debug, Clone, Default)]
pub struct Repeat {
    /// Retry after so many seconds, until interrupted
    #[arg(short = 'i', long = "iterate", value_name = "SECONDS",
          value_parser = clap::value_parser!(u64).range(1..))]
    pub seconds: Option<u64>,
}

impl Repeat {
    /// Runs it once, or again and again with the time above.
    ///
    /// # Errors
    /// The first [`Failure`] of `list`.
    pub async fn run(
        &self,
        screen: &Screen,
        list: impl AsyncFn() -> Result<u8, Failure>,
    ) -> Result<u8, Failure> {
        let Some(seconds) = self.seconds else { return list().await };
        loop {
            screen.line(&calendar::heading(&screen.zone))?;
            list().await?;
            screen.line("")?;
            tokio::time::sleep(Duration::from_secs(seconds)).await;
        }
    }
}
