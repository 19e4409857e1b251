//! Tests of reading and checking policies.

use super::*;
use crate::autoscale::hours::LocalTime;
use crate::autoscale::policy::{Bounds, RatioBand};
use crate::autoscale::unit::{Level, Requests};
use crate::time::Time;

fn read(text: &str) -> Policy {
    toml::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// What is wrong with this text, be it the form or the meaning.
fn problem(text: &str) -> String {
    match toml::from_str::<Policy>(text) {
        Err(error) => error.to_string(),
        Ok(policy) => policy.validate().unwrap_err().to_string(),
    }
}

const EXAMPLES: [&str; 6] = [
    "max = 3\nmin = 1",
    "max = 9\n[concurrency]\ntarget = 2",
    "max = 9\nzero_grace_seconds = 300\n[rps]\ntarget = 0.5\nutilisation = 0.8",
    "max = 9\n[utilisation]\nmetric = \"gpu_usage\"\ntarget = 0.8",
    "max = 9\n[queue]\n[[schedule]]\nfrom = \"08:00\"\nto = \"20:00\"\ndays = \"mon-fri\"\nmin = 4",
    "max = 9
    [latency.ttft]
    target_ms = 800
    profile = [{ tokens_in = 1000, ttft_ms = 120, tokens_per_second = 9000 }]
    [[latency.itl.profile]]
    context = 2000
    points = [{ concurrency = 8, itl_ms = 12.5, tokens_per_second = 640 }]",
];

#[test]
fn policies_are_read_from_text_and_written_back() {
    for text in EXAMPLES {
        let policy = read(text);
        assert_eq!(policy.validate(), Ok(()), "{text}");
        let json = serde_json::to_string(&policy).unwrap();
        assert_eq!(serde_json::from_str::<Policy>(&json).unwrap(), policy, "{json}");
        assert_eq!(read(&toml::to_string(&policy).unwrap()), policy);
        let packed = rmp_serde::to_vec_named(&policy).unwrap();
        assert_eq!(rmp_serde::from_slice::<Policy>(&packed).unwrap(), policy);
    }
}

#[test]
fn defaults_are_those_of_the_sources() {
    let Rule::Concurrency(rule) = read(EXAMPLES[1]).rule else { panic!("a rule") };
    assert_eq!(rule, PerReplica::new(Requests::whole(2)));
    assert_eq!(rule.utilisation, Fraction(700));
    let seconds = [rule.stable_seconds, rule.panic_seconds, Policy::ZERO_GRACE].map(Span::seconds);
    assert_eq!(seconds, [60, 6, 30]);
    let Rule::Utilisation(rule) = read(EXAMPLES[3]).rule else { panic!("a rule") };
    assert_eq!(rule, Utilisation::new(rule.metric, Level(800)));
    assert_eq!(rule.down_stabilisation_seconds, Span::from_seconds(300));
}

#[test]
fn texts_of_another_form_are_refused() {
    for (text, expected) in [
        ("min = 1", "missing field `max`"),
        ("max = 1\nmost = 2", "unknown field `most`"),
        ("max = 1\n[concurrency]", "missing field `target`"),
        ("max = 1\n[concurrency]\ntarget = 1\nstable = 3", "unknown field `stable`"),
        ("max = 1\n[concurrency]\ntarget = -1", "a number from 0 to"),
        ("max = 1\n[utilisation]\nmetric = \"cpu\"\ntarget = 1", "unknown variant `cpu`, expected"),
        ("max = 1\n[rps]\ntarget = 1\n[concurrency]\ntarget = 1", "`concurrency` and `rps`"),
        ("max = 1\n[[schedule]]\nfrom = \"8\"\nto = \"20:00\"", "not a time of the day"),
        (
            "max = 1\n[[schedule]]\nfrom = \"08:00\"\nto = \"20:00\"\ndays = \"week\"",
            "list of days",
        ),
    ] {
        let problem = problem(text);
        assert!(problem.contains(expected), "{text}: {problem}");
    }
}

#[test]
fn senseless_values_are_refused_with_the_valid_ones() {
    let profile = "profile = [{ tokens_in = 2, ttft_ms = 1, tokens_per_second = 1 }, \
                   { tokens_in = 1, ttft_ms = 1, tokens_per_second = 1 }]";
    let falling = "profile = [{ context = 1, points = [\
                   { concurrency = 1, itl_ms = 2, tokens_per_second = 1 }, \
                   { concurrency = 2, itl_ms = 1, tokens_per_second = 2 }] }]";
    let hours = "[[schedule]]\nfrom = \"08:00\"\nto = \"20:00\"";
    for (text, expected) in [
        ("max = 0".to_owned(), "max is 0, it must be from 1 to 10000"),
        ("max = 10001".to_owned(), "max is 10001"),
        ("min = 3\nmax = 2".to_owned(), "min 3 is more than max 2"),
        (
            "max = 1\n[concurrency]\ntarget = 0".to_owned(),
            "concurrency.target is 0, it must be above 0",
        ),
        (
            "max = 1\n[rps]\ntarget = 1\nutilisation = 1.2".to_owned(),
            "rps.utilisation is 1.2, it must be above 0 and at most 1",
        ),
        ("max = 1\n[rps]\ntarget = 1\nutilisation = 0".to_owned(), "rps.utilisation is 0"),
        (
            "max = 1\n[rps]\ntarget = 1\npanic_seconds = 61".to_owned(),
            "rps.panic_seconds must be at most rps.stable_seconds",
        ),
        ("max = 1\n[rps]\ntarget = 1\nstable_seconds = 3601".to_owned(), "from 1 to 3600"),
        ("max = 1\n[rps]\ntarget = 1\npanic_threshold = 1".to_owned(), "above 1"),
        (
            "max = 1\n[utilisation]\nmetric = \"kv_usage\"\ntarget = 80".to_owned(),
            "utilisation.target is 80, it must be above 0 and at most 1",
        ),
        ("max = 1\n[utilisation]\nmetric = \"rps\"\ntarget = 0".to_owned(), "it must be above 0"),
        (
            "max = 1\n[queue]\nfreeness_min = 60000".to_owned(),
            "queue.freeness_min must be less than queue.freeness_max",
        ),
        ("max = 1\n[queue]\nkv_min = 0.95".to_owned(), "queue.kv_min must be less than"),
        ("max = 1\n[queue]\nstep = 0".to_owned(), "queue.step is 0"),
        ("max = 1\n[latency]".to_owned(), "latency needs a bound"),
        ("max = 1\n[latency.ttft]\nprofile = []".to_owned(), "must have 1 to 64 points"),
        (format!("max = 1\n[latency.ttft]\n{profile}"), "by rising tokens_in"),
        (format!("max = 1\n[latency.itl]\n{falling}"), "itl_ms or tokens_per_second falls"),
        (format!("max = 9\n{hours}"), "it changes nothing"),
        (format!("max = 9\n{hours}\nmin = 10"), "its min is above the policy's max"),
        (format!("min = 2\nmax = 9\n{hours}\nmax = 1"), "schedule 08:00-20:00 mon-sun: its max"),
        (format!("max = 9\n{hours}\nmin = 3\nmax = 2"), "its min is more than its max"),
    ] {
        let problem = problem(&text);
        assert!(problem.contains(expected), "{text}: {problem}");
    }
    let band = RatioBand { min: Fraction(500), max: Fraction(250) };
    assert!(band.validate().unwrap_err().to_string().contains("from 0.5 to 0.25"));
}

#[test]
fn hours_narrow_the_bounds_while_they_last() {
    let policy = read(
        "min = 1\nmax = 8
        [[schedule]]\nfrom = \"08:00\"\nto = \"20:00\"\nmin = 4
        [[schedule]]\nfrom = \"12:00\"\nto = \"14:00\"\nmin = 2\nmax = 6
        [[schedule]]\nfrom = \"19:00\"\nto = \"22:00\"\nmax = 3",
    );
    let at = |hours: u64| policy.bounds(LocalTime::utc(Time(hours * 3_600_000)));
    let bounds = |min, max| Bounds { min: Replicas(min), max: Replicas(max) };
    assert_eq!(at(7), bounds(1, 8));
    assert_eq!(at(9), bounds(4, 8));
    assert_eq!(at(13), bounds(4, 6), "the highest minimum and the lowest maximum");
    assert_eq!(at(19), bounds(4, 4), "the minimum, where they contradict each other");
    assert_eq!(at(21), bounds(1, 3));
}
