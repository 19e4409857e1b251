//! Tests of the command, with files.

use super::*;
use clap::Parser;

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    arguments: Arguments,
}

fn services(arguments: &[&str]) -> Result<String, ServicesError> {
    let words = [&["services"], arguments].concat();
    let command = Command::try_parse_from(words).unwrap_or_else(|error| panic!("{error}"));
    let mut out = Vec::new();
    run(&command.arguments, &mut out)?;
    Ok(String::from_utf8(out).unwrap())
}

/// A file in a folder of its own, which is removed at the end of a test.
struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    fn write(&self, name: &str, text: &str) -> String {
        std::fs::write(self.path(name), text).unwrap();
        self.path(name)
    }

    /// A request every second for an hour, each of 12 s.
    fn trace(&self) -> String {
        let lines: String = (0..3600).map(|second| format!("{second},12\n")).collect();
        self.write("steady.csv", &format!("arrival_s,service_s\n{lines}"))
    }
}

#[test]
fn a_policy_is_compared_with_the_named_ones() {
    let files = Files::new();
    let policy = files.write("mine.toml", "min = 2\nmax = 9\n[concurrency]\ntarget = 4\n");
    let printed = services(&[&files.trace(), "--policy", &policy, "queue"]).unwrap();
    let names: Vec<&str> =
        printed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, ["policy", "mine", "queue", "kpa", "hpa", "fixed"], "{printed}");
}

#[test]
fn json_has_the_setup_and_every_figure() {
    let files = Files::new();
    let decisions = files.path("decisions.jsonl");
    let printed = services(&[&files.trace(), "--json", "--decisions", &decisions]).unwrap();
    let value: serde_json::Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(value["studies"][0]["setup"]["concurrency"], 8);
    let kpa = &value["studies"][0]["outcomes"][0];
    assert_eq!((&kpa["policy"], &kpa["requests"]), (&"kpa".into(), &3600.into()));
    let lines = std::fs::read_to_string(decisions).unwrap();
    let first: serde_json::Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(first["policy"], "kpa");
    assert!(first["reason"].as_str().unwrap().contains("requests in flight over"), "{first}");
}

#[test]
fn tuning_looks_at_the_first_half_and_is_measured_on_the_second() {
    let files = Files::new();
    let printed = services(&[&files.trace(), "--tune", "--json"]).unwrap();
    let value: serde_json::Value = serde_json::from_str(&printed).unwrap();
    let study = &value["studies"][0];
    assert_eq!(study["tuned"]["policy"], "kpa");
    assert_eq!(study["tuned"]["chosen_on"]["requests"], 1800);
    for outcome in study["outcomes"].as_array().unwrap() {
        assert_eq!(outcome["requests"], 1800, "{outcome}");
    }
    assert_eq!(study["outcomes"][2]["policy"], "kpa tuned");
}

#[test]
fn generated_requests_can_be_written_and_replayed_with_the_same_result() {
    let files = Files::new();
    let trace = files.path("day.csv");
    let generated = ["--generate", "day", "--days", "1", "--rate", "0.2", "--seed", "7"];
    let first = services(&[&generated[..], &["--write-trace", &trace]].concat()).unwrap();
    assert_eq!(services(&[&trace]).unwrap(), first);
    let several = services(&[&generated[..], &["--seeds", "2"]].concat()).unwrap();
    assert!(several.contains(" ± "), "{several}");
}

#[test]
fn what_cannot_be_used_is_named() {
    let files = Files::new();
    let trace = files.trace();
    let wrong = files.write("wrong.toml", "max = 9\n[concurrency]\ntarget = 0\n");
    let typo = files.write("typo.json", r#"{"max":9,"concurency":{}}"#);
    for (arguments, expected) in [
        (vec!["--policy", "kpaa"], "neither a file nor one of kpa, hpa"),
        (vec!["--policy", &wrong], "concurrency.target is 0, it must be above 0"),
        (vec!["--policy", &typo], "unknown field `concurency`"),
        (vec!["--policy", "./none.toml"], "failed to read ./none.toml"),
        (vec!["--misses-max", "2"], "failed to use --misses-max 2"),
        (vec!["--concurrency", "0"], "failed to use --concurrency 0"),
        (vec!["--tune", "--policy", "queue"], "it has no target utilisation"),
    ] {
        let error = services(&[&[trace.as_str()], &arguments[..]].concat()).unwrap_err();
        assert!(error.to_string().contains(expected), "{arguments:?}: {error}");
    }
    let error = services(&["--generate", "day", "--rate", "0"]).unwrap_err().to_string();
    assert!(error.contains("failed to use --rate 0"), "{error}");
}
