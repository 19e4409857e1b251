//! The behaviour of an emulated job, read from its script: only `sleep` and `exit` are understood;
//! a script without them behaves as the command line says.

use common::wire::node::LaunchOrder;
use std::time::Duration;

/// Behaviour of jobs whose script does not define it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DefaultBehaviour {
    /// How long jobs run; zero if they end at once.
    pub duration: Duration,
    /// The share of jobs, always the same ones, that exit with 1.
    pub failing_percent: u8,
}

/// The behaviour of one job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Behaviour {
    pub run: Duration,
    /// Its exit code.
    pub code: u8,
}

impl Behaviour {
    /// The behaviour of the job with this launch order.
    pub fn from_order(order: &LaunchOrder, default_behaviour: DefaultBehaviour) -> Self {
        let (run, code) = parse_script(&order.script);
        let key = order.id.key;
        let number = u64::from(key.job.0) << 32 | u64::from(key.index.map_or(0, |index| index.0));
        let fails = hash_number(number) % 100 < u64::from(default_behaviour.failing_percent);
        Self {
            run: run.unwrap_or(default_behaviour.duration),
            code: code.unwrap_or(u8::from(fails)),
        }
    }
}

/// The total sleep time of a script and its exit code, where it defines them.
fn parse_script(script: &str) -> (Option<Duration>, Option<u8>) {
    let mut run = None;
    for command in script.split(['\n', ';', '&']) {
        let mut words = command.split_whitespace();
        match (words.next(), words.next(), words.next()) {
            (Some("sleep"), Some(length), None) => {
                let more = parse_duration(length);
                run = more.map_or(run, |more| Some(run.unwrap_or_default() + more));
            }
            (Some("exit"), Some(code), None) => match code.parse() {
                Ok(code) => return (run, Some(code)),
                Err(_) => continue,
            },
            (Some("exec"), Some("sleep"), Some(length)) => {
                return (parse_duration(length).map(|more| run.unwrap_or_default() + more), None);
            }
            _ => {}
        }
    }
    (run, None)
}

/// Parses a duration like coreutils' sleep: seconds, or a number with s, m, h or d.
fn parse_duration(text: &str) -> Option<Duration> {
    let (number, factor) = match text.char_indices().next_back()? {
        (at, 's') => (&text[..at], 1.0),
        (at, 'm') => (&text[..at], 60.0),
        (at, 'h') => (&text[..at], 3600.0),
        (at, 'd') => (&text[..at], 86_400.0),
        _ => (text, 1.0),
    };
    let seconds: f64 = number.parse().ok()?;
    Duration::try_from_secs_f64(seconds * factor).ok()
}

/// Hashes a number, so that consecutive numbers are spread evenly.
/// Source: Steele, Lea, Flood: "Fast splittable pseudorandom number generators" (SplitMix64).
const fn hash_number(number: u64) -> u64 {
    let z = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_determines_its_run_time_and_exit_code() {
        let seconds = |seconds| Some(Duration::from_millis(seconds));
        for (script, expected) in [
            ("#!/bin/sh\ntrue\n", (None, None)),
            ("#!/bin/sh\nsleep 5", (seconds(5000), None)),
            (
                "#!/bin/sh\nhostname; sleep 0.5 && sleep 1m\nexit 3\nsleep 9",
                (seconds(60500), Some(3)),
            ),
            ("exec sleep 2h", (seconds(7_200_000), None)),
            ("sleep $1; exit $2", (None, None)),
            ("sleep -1", (None, None)),
            ("sleep 1 2", (None, None)),
            ("exit 0", (None, Some(0))),
        ] {
            assert_eq!(parse_script(script), expected, "{script}");
        }
    }

    #[test]
    fn about_the_requested_share_fails() {
        let fails = |job: u64| hash_number(job << 32) % 100 < 10;
        let failed = (1..=10_000).filter(|job| fails(*job)).count();
        assert!((900..1100).contains(&failed), "{failed}");
    }
}
