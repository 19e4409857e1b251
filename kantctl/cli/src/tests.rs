//! The command line as a whole: it is valid, and all examples parse.

use super::*;
use common::unit::Tasks;
use submission::shell_words::split;

#[test]
fn the_command_line_is_valid() {
    command().debug_assert();
}

/// The examples in a verb's help, without indentation.
fn examples(command: &clap::Command) -> Vec<String> {
    let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let block = text.split("\n\n").find(|block| block.starts_with("Examples:"));
    block.unwrap_or_default().lines().skip(1).map(|line| line.trim().to_owned()).collect()
}

fn verbs(command: &clap::Command) -> Vec<clap::Command> {
    let below = command.get_subcommands().flat_map(verbs);
    std::iter::once(command.clone()).chain(below).collect()
}

/// The kantctl commands in a line of shell, command substitutions first.
fn commands(line: &str) -> Vec<Vec<String>> {
    let (line, inner) = match (line.find("$("), line.rfind(')')) {
        (Some(open), Some(close)) => {
            (format!("{}42{}", &line[..open], &line[close + 1..]), commands(&line[open + 2..close]))
        }
        _ => (line.to_owned(), vec![]),
    };
    let words = split(&line).unwrap();
    let own = words
        .split(|word| word == "|")
        .map(|part| part.iter().take_while(|w| *w != ">").cloned().collect::<Vec<_>>())
        .filter(|part| part.first().is_some_and(|word| word == "kantctl"));
    inner.into_iter().chain(own).collect()
}

#[test]
fn every_verb_has_examples_and_they_parse() {
    for verb in verbs(&command()).into_iter().filter(|verb| !verb.is_hide_set()) {
        let examples = examples(&verb);
        assert!(examples.len() >= 2, "{} has no examples", verb.get_name());
        for example in examples {
            let sourced = example.strip_prefix(". <(").and_then(|rest| rest.strip_suffix(')'));
            let found = commands(sourced.unwrap_or(&example));
            assert!(!found.is_empty(), "{example}");
            for words in found {
                let parsed = command().try_get_matches_from(&words);
                assert!(parsed.is_ok(), "{words:?}: {}", parsed.unwrap_err());
            }
        }
    }
}

#[test]
fn arguments_after_the_script_belong_to_the_script() {
    let words = ["kantctl", "submit", "-n", "2", "a.sh", "-n", "5", "--time", "--", "x"];
    let matches = command().try_get_matches_from(words).unwrap();
    let Verb::Submit(args) = Cli::from_arg_matches(&matches).unwrap().verb else { panic!() };
    assert_eq!(args.one.options.tasks().unwrap().most, Tasks(2));
    assert_eq!(args.one.script, ["a.sh", "-n", "5", "--time", "--", "x"]);
}

#[test]
fn the_last_value_of_a_repeated_option_wins_as_in_directives() {
    let words = ["kantctl", "submit", "-n", "2", "-n", "3", "a.sh"];
    let matches = command().try_get_matches_from(words).unwrap();
    let Verb::Submit(args) = Cli::from_arg_matches(&matches).unwrap().verb else { panic!() };
    assert_eq!(args.one.options.tasks().unwrap().most, Tasks(3));
}

#[test]
fn manual_pages_are_generated_from_the_same_definition() {
    let dir = tempfile::tempdir().unwrap();
    clap_mangen::generate_to(command(), dir.path()).unwrap();
    let page = std::fs::read_to_string(dir.path().join("kantctl-submit.1")).unwrap();
    assert!(page.contains("gpus\\-per\\-node") && page.contains("KANTCTL_QUEUE"));
}
