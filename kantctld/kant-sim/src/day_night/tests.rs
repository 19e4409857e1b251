//! Tests of the command.

use super::*;
use clap::Parser;

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    arguments: Arguments,
}

fn day_night(arguments: &[&str]) -> Result<String, CommandError> {
    let words = [&["day-night"], arguments].concat();
    let command = Command::try_parse_from(words).unwrap_or_else(|error| panic!("{error}"));
    let mut out = Vec::new();
    run(&command.arguments, &mut out)?;
    Ok(String::from_utf8(out).unwrap())
}

#[test]
fn the_three_sizes_are_compared() {
    let small = ["--days", "1", "--nodes", "2", "--by-day", "2", "--by-night", "1"];
    let few = ["--rate", "0.8", "--training", "6"];
    let printed = day_night(&[&small[..], &few].concat()).unwrap();
    let names: Vec<&str> =
        printed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, ["policy", "fixed", "hours", "load"], "{printed}");
    let json = day_night(&[&small[..], &few, &["--json"]].concat()).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let hours = |at: usize| json["runs"][at]["service"]["gpu_hours"].as_f64().unwrap();
    // Two replicas of 4 GPUs all day, or from 7 to 21.
    assert!((hours(0) - 192.0).abs() < 0.1, "{}", hours(0));
    assert!((hours(1) - (192.0 - 10.0 * 4.0)).abs() < 3.0, "{}", hours(1));
    assert!(hours(2) < hours(0));
}

#[test]
fn senseless_options_are_refused_with_what_to_give() {
    for (arguments, message) in [
        (["--gpus", "9"], "failed to use --gpus 9: a replica has 1 to 8 GPUs"),
        (["--by-day", "16"], "failed to use --by-day 16: leave GPUs for training"),
        (["--by-night", "9"], "failed to use --by-night 9: give at most --by-day"),
        (["--day-ends", "7"], "failed to use --day-ends 7: give an hour after --day-begins"),
        (["--training", "0"], "failed to use --training 0: give a number above zero"),
    ] {
        let error = day_night(&arguments).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}");
    }
}
