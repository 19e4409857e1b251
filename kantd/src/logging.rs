//! kantd's log: to stderr, with the operator's filter. systemd stores it.

use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;

/// An invalid log filter.
#[derive(Debug, thiserror::Error)]
#[error(
    "failed to use log filter `{filter}`: write a level like info, or directives like kantd=debug"
)]
pub struct LogError {
    filter: String,
    #[source]
    source: ParseError,
}

/// Sets up logging. `RUST_LOG`, if set, overrides `filter`.
///
/// # Errors
/// When the filter is invalid.
pub fn init(filter: &str) -> Result<(), LogError> {
    let filter = std::env::var("RUST_LOG").unwrap_or_else(|_| filter.to_owned());
    let parsed = EnvFilter::try_new(&filter);
    let filter = parsed.map_err(|source| LogError { filter, source })?;
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false);
    // The systemd journal adds the time itself.
    match std::env::var_os("JOURNAL_STREAM") {
        Some(_) => log.without_time().init(),
        None => log.init(),
    }
    Ok(())
}
