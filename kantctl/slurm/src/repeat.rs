//! Repetition of a listing (`-i`).

use cli::failure::Failure;
use cli::output::Screen;
use cli::slurm_time;
use std::time::Duration;

/// The option that repeats a listing.
#[derive(clap::Args, Debug, Clone, Default)]
pub struct Repeat {
    /// Repeat every SECONDS seconds until interrupted
    #[arg(short = 'i', long = "iterate", value_name = "SECONDS",
          value_parser = clap::value_parser!(u64).range(1..))]
    pub seconds: Option<u64>,
}

impl Repeat {
    /// Runs `list` once, or repeatedly with the current time above each listing.
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
            screen.print_line(&slurm_time::current_time(&screen.zone))?;
            list().await?;
            screen.print_line("")?;
            tokio::time::sleep(Duration::from_secs(seconds)).await;
        }
    }
}
