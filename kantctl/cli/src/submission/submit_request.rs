//! The request that submits a script: the job request, the script's text, its environment, and a
//! key by which the controller recognises a repetition.

use super::options::Options;
use super::script::Script;
use super::shell::Shell;
use super::{environment, job_request};
use crate::failure::Failure;
use crate::output::screen::warn;
use anyhow::Context;
use common::id::RequestKey;
use common::job::check::{AskError, ENVIRONMENT_BYTES_MAX, check_ask};
use common::wire::api::{SetRequest, SubmitRequest};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;

/// The request to submit a script with these options.
///
/// # Errors
/// [`Failure`] when a part of it is invalid.
pub fn build(
    options: &Options,
    script: &Script,
    args: &[String],
    shell: &Shell,
) -> Result<SubmitRequest, Failure> {
    let ask = job_request::build(options, script, args, shell)?;
    let failed = || format!("failed to submit {}", script.origin);
    check_ask(&ask).with_context(failed)?;
    let export = options.export().unwrap_or_default();
    let directory = job_request::path_text(&shell.directory)?;
    let environment = environment::for_job(&export, &shell.environment, &directory);
    check_environment(&environment).with_context(failed)?;
    if !shell.unreadable.is_empty() {
        warn(&format!(
            "environment variables that are not UTF-8 are not passed on: {}",
            shell.unreadable.join(", ")
        ));
    }
    Ok(SubmitRequest { request_key: request_key()?, ask, script: script.text.clone(), environment })
}

/// The request for a het job, from that of its first component and the others' options.
///
/// # Errors
/// [`Failure`] when a part of it is invalid.
pub fn build_set(
    first: SubmitRequest,
    others: &[Options],
    script: &Script,
    args: &[String],
    shell: &Shell,
) -> Result<SetRequest, Failure> {
    let SubmitRequest { request_key, ask, script: text, environment } = first;
    let mut asks = vec![ask];
    for (place, options) in (1..).zip(others) {
        let failed = || format!("failed to submit {}, component {place}", script.origin);
        let ask = job_request::build(options, script, args, shell)?;
        check_ask(&ask).with_context(failed)?;
        asks.push(ask);
    }
    Ok(SetRequest { request_key, asks, script: text, environment })
}

/// Checks the size as stored by the controller: `NAME=value` and a NUL byte for each variable.
fn check_environment(environment: &BTreeMap<String, String>) -> Result<(), AskError> {
    let bytes: usize = environment.iter().map(|(name, value)| name.len() + value.len() + 2).sum();
    if bytes > ENVIRONMENT_BYTES_MAX { Err(AskError::EnvironmentTooLarge(bytes)) } else { Ok(()) }
}

/// A random key that no other submission has.
///
/// # Errors
/// [`Failure`] when /dev/urandom cannot be read.
pub fn request_key() -> Result<RequestKey, Failure> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")
        .and_then(|mut random| random.read_exact(&mut bytes))
        .context("failed to read /dev/urandom for the submission's key")?;
    Ok(RequestKey(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
}
