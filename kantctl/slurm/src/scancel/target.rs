//! The arguments of scancel: jobs, or steps of running jobs.

use cli::failure::Failure;
use cli::keys::{self, Keys, KeysError};
use common::id::JobKey;
use common::job::SignalNumber;
use nix::sys::signal::Signal;
use std::str::FromStr;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    Jobs(Keys),
    /// `42.0`.
    Step(JobKey, u32),
}

impl FromStr for Target {
    type Err = KeysError;
    fn from_str(text: &str) -> Result<Self, KeysError> {
        let step = text
            .split_once('.')
            .and_then(|(job, number)| Some(Self::Step(job.parse().ok()?, number.parse().ok()?)));
        step.map_or_else(|| text.parse().map(Self::Jobs), Ok)
    }
}

/// The jobs among the arguments, each once.
pub fn jobs(words: &[Target]) -> Vec<JobKey> {
    let jobs = words.iter().filter_map(|word| match word {
        Target::Jobs(keys) => Some(keys.clone()),
        Target::Step(..) => None,
    });
    keys::flatten(&jobs.collect::<Vec<_>>())
}

/// The steps among the arguments.
pub fn steps(words: &[Target]) -> impl Iterator<Item = (JobKey, u32)> + '_ {
    words.iter().filter_map(|word| match word {
        Target::Jobs(_) => None,
        Target::Step(key, number) => Some((*key, *number)),
    })
}

/// The signal for a step, by name or number; by default SIGTERM, which SIGKILL follows.
///
/// # Errors
/// [`Failure`] when there is no such signal.
pub fn signal(text: Option<&str>) -> Result<SignalNumber, Failure> {
    let name = text.unwrap_or("TERM").to_ascii_uppercase();
    let name = name.strip_prefix("SIG").unwrap_or(&name);
    let known = format!("SIG{name}").parse::<Signal>().ok();
    let known = known.or_else(|| Signal::try_from(name.parse::<i32>().ok()?).ok());
    let number = known.and_then(|signal| u8::try_from(signal as i32).ok());
    let unknown = || Failure::usage(anyhow::anyhow!("Unknown job signal: {name}"));
    number.map(SignalNumber).ok_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_with_a_dot_is_a_step() {
        let words: Vec<Target> =
            ["42.1", "43", "44_[0-1]", "42_7.0"].map(|word| word.parse().unwrap()).into();
        let names: Vec<String> = jobs(&words).iter().map(ToString::to_string).collect();
        assert_eq!(names, ["43", "44_0", "44_1"]);
        let names: Vec<String> = steps(&words).map(|(key, n)| format!("{key} {n}")).collect();
        assert_eq!(names, ["42 1", "42_7 0"]);
        assert!("42.x".parse::<Target>().is_err());
        assert_eq!(signal(None).unwrap(), SignalNumber(15));
        assert_eq!(signal(Some("sigusr1")).unwrap(), SignalNumber(10));
        assert!(signal(Some("NONE")).is_err());
    }
}
