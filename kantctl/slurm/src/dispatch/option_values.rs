//! Optional values directly after a short option: `-I2` becomes `-I=2`, the only form that clap
//! accepts for an optional value. Arguments after the program to run are left alone.

use clap::{Arg, Command};
use std::ffi::OsString;

/// The arguments, with `=` inserted where one is needed.
#[must_use]
pub fn insert_value_separators(command: &Command, words: &[OsString]) -> Vec<OsString> {
    let mut done: Vec<OsString> = words.iter().take(1).cloned().collect();
    let mut rest = words.iter().skip(1);
    while let Some(word) = rest.next() {
        let text = word.to_string_lossy();
        if !text.starts_with('-') || text == "-" || text == "--" {
            done.push(word.clone());
            break;
        }
        let (changed, takes_value) = match text.strip_prefix("--") {
            Some(long) => (None, long_takes_next(command, long)),
            None => separate_short(command, &text),
        };
        done.push(changed.map_or_else(|| word.clone(), OsString::from));
        if takes_value {
            done.extend(rest.next().cloned());
        }
    }
    done.extend(rest.cloned());
    done
}

/// Whether the option's value is the next argument.
fn takes_next(arg: &Arg) -> bool {
    arg.get_action().takes_values() && !arg.is_require_equals_set()
}

fn long_takes_next(command: &Command, long: &str) -> bool {
    let is_it = |arg: &&Arg| {
        let aliases = arg.get_all_aliases().unwrap_or_default();
        arg.get_long() == Some(long) || aliases.contains(&long)
    };
    command.get_arguments().find(is_it).is_some_and(takes_next)
}

/// A group of short options with the missing `=` inserted, and whether the next argument is the
/// value of the last one.
fn separate_short(command: &Command, text: &str) -> (Option<String>, bool) {
    for (at, letter) in text.char_indices().skip(1) {
        let value = &text[at + letter.len_utf8()..];
        let arg = command.get_arguments().find(|arg| arg.get_short() == Some(letter));
        let Some(arg) = arg else { return (None, false) };
        if !arg.get_action().takes_values() {
            continue;
        }
        let is_missing = arg.is_require_equals_set() && !value.is_empty();
        if is_missing && !value.starts_with('=') {
            let head = &text[..at + letter.len_utf8()];
            return (Some(format!("{head}={value}")), false);
        }
        return (None, value.is_empty() && takes_next(arg));
    }
    (None, false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::SlurmCommand;
    use crate::dispatch::clap_command;

    fn separated(line: &str) -> String {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let slurm_command =
            if line.starts_with("salloc") { SlurmCommand::Salloc } else { SlurmCommand::Srun };
        let words = insert_value_separators(&clap_command(slurm_command), &words);
        let words: Vec<String> = words.iter().map(|w| w.to_string_lossy().into_owned()).collect();
        words.join(" ")
    }

    #[test]
    fn a_value_directly_after_a_short_option_gets_an_equals_sign_and_program_arguments_stay() {
        assert_eq!(
            separated("srun -I2 -K0 -n 4 -lI5 prog -I2"),
            "srun -I=2 -K=0 -n 4 -lI=5 prog -I2"
        );
        assert_eq!(separated("srun --ntasks 4 -I prog -I2"), "srun --ntasks 4 -I prog -I2");
        assert_eq!(separated("srun -I=3 -n4 -- -I2"), "srun -I=3 -n4 -- -I2");
        assert_eq!(separated("salloc -I30 -N1 sh"), "salloc -I=30 -N1 sh");
    }
}
