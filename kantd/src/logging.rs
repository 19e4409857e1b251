//! kantd's log: to stderr, with the operator's filter. systemd stores it.

use std::error::Error;
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

/// An error and its causes in one line.
#[must_use]
pub fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_shown_with_all_its_causes() {
        let source = EnvFilter::try_new("kantd=loudly").unwrap_err();
        let shown = with_causes(&LogError { filter: "kantd=loudly".to_owned(), source });
        assert!(shown.starts_with("failed to use log filter `kantd=loudly`"), "{shown}");
        assert!(shown.contains("kantd=debug: "), "the cause follows: {shown}");
    }
}
