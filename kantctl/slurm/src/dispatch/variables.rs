//! Options that environment variables set (`SQUEUE_FORMAT`). The command line takes precedence.

use super::{clap_command, variables};
use crate::command::SlurmCommand;
use clap::parser::ValueSource;
use cli::startup::from_env;
use std::ffi::OsString;

/// The arguments, preceded by options from the environment that the command line does not set.
pub fn with_variables(command: SlurmCommand, arguments: &[OsString]) -> Vec<OsString> {
    let Some((own, typed)) = arguments.split_first() else { return Vec::new() };
    // An invalid command line is reported as it was typed.
    let Ok(line) = clap_command(command).args_override_self(true).try_get_matches_from(arguments)
    else {
        return arguments.to_vec();
    };
    let is_typed = |id: &str| line.value_source(id) == Some(ValueSource::CommandLine);
    let mut words = vec![own.clone()];
    for (variable, option) in variables(command) {
        let Some(value) = from_env(variable) else { continue };
        let definition = clap_command(command);
        let long = option.trim_start_matches("--");
        let argument = definition.get_arguments().find(|one| one.get_long() == Some(long));
        let Some(id) = argument.map(|argument| argument.get_id().as_str()) else { continue };
        let is_set = match id {
            "format" | "long_format" => {
                FORMATS.iter().any(|id| is_typed_option(&definition, id, &is_typed))
            }
            id => is_typed(id),
        };
        if !is_set {
            let mut word = OsString::from(format!("{option}="));
            word.push(value);
            words.push(word);
        }
    }
    words.extend(typed.iter().cloned());
    words
}

/// Options that choose the columns: if one is given, no variable sets another.
const FORMATS: [&str; 3] = ["format", "long_format", "long"];

/// Whether this command has the option and it was typed.
fn is_typed_option(command: &clap::Command, id: &str, is_typed: &impl Fn(&str) -> bool) -> bool {
    command.get_arguments().any(|argument| argument.get_id() == id) && is_typed(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_wins_over_the_environment() {
        // The environment is shared by all tests of the process, so only the command line is
        // tested.
        let typed = |words: &str| {
            let words: Vec<&str> = words.split(' ').collect();
            let line = clap_command(SlurmCommand::Squeue).try_get_matches_from(words).unwrap();
            FORMATS.iter().any(|id| {
                is_typed_option(&clap_command(SlurmCommand::Squeue), id, &|id| {
                    line.value_source(id) == Some(ValueSource::CommandLine)
                })
            })
        };
        assert!(typed("squeue -ho%i") && typed("squeue --Format=JobID") && typed("squeue -hl"));
        assert!(!typed("squeue -h --me"));
    }
}
