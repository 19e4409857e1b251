//! Values that stand right behind a letter and may be left out: `-I2` is `-I=2`, which is all that
//! clap reads of such. Never a word behind the program's name: those are the program's.

use clap::{Arg, Command};
use std::ffi::OsString;

/// The words, with a `=` where one is needed.
#[must_use]
pub fn apart(command: &Command, words: &[OsString]) -> Vec<OsString> {
    let mut done: Vec<OsString> = words.iter().take(1).cloned().collect();
    let mut rest = words.iter().skip(1);
    while let Some(word) = rest.next() {
        let text = word.to_string_lossy();
        if !text.starts_with('-') || text == "-" || text == "--" {
            done.push(word.clone());
            break;
        }
        let (changed, has_more) = match text.strip_prefix("--") {
            Some(long) => (None, long_has_more(command, long)),
            None => short(command, &text),
        };
        done.push(changed.map_or_else(|| word.clone(), OsString::from));
        if has_more {
            done.extend(rest.next().cloned());
        }
    }
    done.extend(rest.cloned());
    done
}

/// Is the next word its value?
fn takes_next(arg: &Arg) -> bool {
    arg.get_action().takes_values() && !arg.is_require_equals_set()
}

fn long_has_more(command: &Command, long: &str) -> bool {
    let is_it = |arg: &&Arg| {
        let aliases = arg.get_all_aliases().unwrap_or_default();
        arg.get_long() == Some(long) || aliases.contains(&long)
    };
    command.get_arguments().find(is_it).is_some_and(takes_next)
}

/// Letters behind one dash, with the `=` that is missing; is the next word the last one's value?
fn short(command: &Command, text: &str) -> (Option<String>, bool) {
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
    use crate::slurm::name::Name;

    fn told(line: &str) -> String {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let name = if line.starts_with("salloc") { Name::Salloc } else { Name::Srun };
        let words = apart(&name.command(), &words);
        let words: Vec<String> = words.iter().map(|w| w.to_string_lossy().into_owned()).collect();
        words.join(" ")
    }

    #[test]
    fn a_value_behind_a_letter_is_its_value_and_the_programs_words_are_its_own() {
        assert_eq!(told("srun -I2 -K0 -n 4 -lI5 prog -I2"), "srun -I=2 -K=0 -n 4 -lI=5 prog -I2");
        assert_eq!(told("srun --ntasks 4 -I prog -I2"), "srun --ntasks 4 -I prog -I2");
        assert_eq!(told("srun -I=3 -n4 -- -I2"), "srun -I=3 -n4 -- -I2");
        assert_eq!(told("salloc -I30 -N1 sh"), "salloc -I=30 -N1 sh");
    }
}
