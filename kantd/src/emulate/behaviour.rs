//! What the processes of an emulated job would do: read from its script, not run. Never more than
//! `sleep` and `exit`; a script that says neither behaves as the command line says.

use common::wire::node::LaunchOrder;
use std::time::Duration;

/// How jobs behave whose script does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Manner {
    /// They run so long; none: they are over at once.
    pub duration: Duration,
    /// So many in a hundred exit with 1: the same ones whenever it is asked.
    pub failing_percent: u8,
}

/// What one job does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Behaviour {
    /// It runs so long.
    pub run: Duration,
    /// And exits with this.
    pub code: u8,
}

impl Behaviour {
    /// Of the job with this order.
    pub fn of(order: &LaunchOrder, manner: Manner) -> Self {
        let (run, code) = read(&order.script);
        let key = order.id.key;
        let number = u64::from(key.job.0) << 32 | u64::from(key.index.map_or(0, |index| index.0));
        let fails = scatter(number) % 100 < u64::from(manner.failing_percent);
        Self { run: run.unwrap_or(manner.duration), code: code.unwrap_or(u8::from(fails)) }
    }
}

/// How long a script sleeps in all, and what it exits with, where it says so.
fn read(script: &str) -> (Option<Duration>, Option<u8>) {
    let mut run = None;
    for command in script.split(['\n', ';', '&']) {
        let mut words = command.split_whitespace();
        match (words.next(), words.next(), words.next()) {
            (Some("sleep"), Some(length), None) => {
                let more = duration(length);
                run = more.map_or(run, |more| Some(run.unwrap_or_default() + more));
            }
            (Some("exit"), Some(code), None) => match code.parse() {
                Ok(code) => return (run, Some(code)),
                Err(_) => continue,
            },
            (Some("exec"), Some("sleep"), Some(length)) => {
                return (duration(length).map(|more| run.unwrap_or_default() + more), None);
            }
            _ => {}
        }
    }
    (run, None)
}

/// As coreutils' sleep takes it: seconds, or a number with s, m, h or d.
fn duration(text: &str) -> Option<Duration> {
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

/// Spreads numbers that follow each other over all numbers.
/// Source: Steele, Lea, Flood: "Fast splittable pseudorandom number generators" (SplitMix64).
const fn scatter(number: u64) -> u64 {
    let z = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_that_sleeps_and_exits_is_taken_at_its_word() {
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
            assert_eq!(read(script), expected, "{script}");
        }
    }

    #[test]
    fn about_the_share_that_was_asked_for_fails() {
        let fails = |job: u64| scatter(job << 32) % 100 < 10;
        let failed = (1..=10_000).filter(|job| fails(*job)).count();
        assert!((900..1100).contains(&failed), "{failed}");
    }
}
