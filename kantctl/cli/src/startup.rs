//! The start of a command: the options that every command accepts, the server that they select, and
//! the async runtime.

use crate::config;
use crate::failure::Failure;
use crate::server::Server;
use anyhow::Context;
use clap::Args;
use common::time::{Span, SpanError};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use tokio::runtime::Runtime;

/// Options that every verb accepts. [`Global::server`] reads their environment variables: if clap
/// read them, the usage line of every error would list them as required.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Print the controller's answer as JSON; errors are printed as {"error": ...} as well as in
    /// plain text on stderr
    #[arg(long, global = true)]
    pub json: bool,
    /// Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]
    #[arg(long, global = true, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// Configuration file, instead of the default ones [env: KANT_CONFIG]
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s
    /// for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]
    #[arg(long, global = true, value_name = "TIME")]
    pub retry: Option<Span>,
}

impl Global {
    /// The server that the options, the environment or the configuration name.
    ///
    /// # Errors
    /// [`Failure`] when the configuration or an environment variable is invalid.
    pub fn server(&self) -> Result<Server, Failure> {
        let given = self.socket.clone().or_else(|| from_env("KANT_SOCKET").map(PathBuf::from));
        let file = self.config.clone().or_else(|| from_env("KANT_CONFIG").map(PathBuf::from));
        let sockets = match given {
            Some(socket) => vec![socket],
            None => config::load(file.as_deref())?.sockets.iter().map(PathBuf::from).collect(),
        };
        let retry = self.retry.map_or_else(retry_from_env, |span| Ok(Some(span)))?;
        Ok(Server::new(&sockets, retry.map(|span| Duration::from_millis(span.0))))
    }
}

fn retry_from_env() -> Result<Option<Span>, Failure> {
    let Some(value) = from_env("KANT_RETRY") else { return Ok(None) };
    let span = value.to_string_lossy().parse();
    span.map(Some).map_err(|error: SpanError| {
        Failure::usage(anyhow::anyhow!("environment variable KANT_RETRY: {error}"))
    })
}

/// An environment variable; an empty one counts as unset.
#[must_use]
pub fn from_env(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// An async runtime on this thread.
///
/// # Errors
/// [`Failure`] when the system refuses its resources.
pub fn runtime() -> Result<Runtime, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    Ok(runtime.context("failed to start")?)
}
