//! Options that the environment sets (`SQUEUE_FORMAT`). Never against what is typed.

use super::Name;
use clap::parser::ValueSource;
use std::ffi::OsString;

/// What the environment sets, where the command line is silent, comes first.
pub fn with_variables(name: Name, arguments: &[OsString]) -> Vec<OsString> {
    let Some((own, typed)) = arguments.split_first() else { return Vec::new() };
    // A line that does not read is refused as it was typed.
    let Ok(line) = name.command().args_override_self(true).try_get_matches_from(arguments) else {
        return arguments.to_vec();
    };
    let is_typed = |id: &str| line.value_source(id) == Some(ValueSource::CommandLine);
    let mut words = vec![own.clone()];
    for (variable, option) in name.variables() {
        let Some(value) = crate::from_env(variable) else { continue };
        let command = name.command();
        let long = option.trim_start_matches("--");
        let argument = command.get_arguments().find(|one| one.get_long() == Some(long));
        let Some(id) = argument.map(|argument| argument.get_id().as_str()) else { continue };
        let is_said = match id {
            "format" | "long_format" => FORMATS.iter().any(|id| is_known(&command, id, &is_typed)),
            id => is_typed(id),
        };
        if !is_said {
            let mut word = OsString::from(format!("{option}="));
            word.push(value);
            words.push(word);
        }
    }
    words.extend(typed.iter().cloned());
    words
}

/// Options that say what is shown, of which one is enough.
const FORMATS: [&str; 3] = ["format", "long_format", "long"];

/// Has this command the option, and was it given?
fn is_known(command: &clap::Command, id: &str, is_typed: &impl Fn(&str) -> bool) -> bool {
    command.get_arguments().any(|argument| argument.get_id() == id) && is_typed(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_wins_over_what_the_environment_sets() {
        // Set for this test's process alone would be for all: what is typed is looked at here.
        let typed = |words: &str| {
            let words: Vec<&str> = words.split(' ').collect();
            let line = Name::Squeue.command().try_get_matches_from(words).unwrap();
            FORMATS.iter().any(|id| {
                is_known(&Name::Squeue.command(), id, &|id| {
                    line.value_source(id) == Some(ValueSource::CommandLine)
                })
            })
        };
        assert!(typed("squeue -ho%i") && typed("squeue --Format=JobID") && typed("squeue -hl"));
        assert!(!typed("squeue -h --me"));
    }
}
