//! `#KANT` and `#SBATCH` directives: options in a script's comments, read up to its first command.
//! They are parsed with the same definition as the command line.

use crate::failure::Failure;
use crate::submission::options::{Options, read_words};
use crate::submission::parse_error::explain;
use crate::submission::shell_words::split;

/// What a directive begins with; later markers override earlier ones, so that a script can keep
/// Slurm's directives and override some of them for kant.
const MARKERS: [&str; 2] = ["#SBATCH", "#KANT"];

/// The directive that separates components of a het job: Slurm's current name, and its older one.
const SEPARATORS: [&str; 2] = ["hetjob", "packjob"];

/// Markers of directives for Slurm's burst buffer plug-ins (man sbatch, `burst_buffer.conf`).
const BURST_BUFFERS: [&str; 3] = ["#BB", "#BB_LUA", "#DW"];

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Directives {
    /// Options of each component (usually there is one); `#KANT` overrides `#SBATCH`, and later
    /// lines override earlier ones.
    pub components: Vec<Options>,
    /// Line numbers (from 1) of directives after the first command, which are ignored.
    pub too_late: Vec<usize>,
    /// Line numbers of burst buffer directives, with their markers.
    pub burst_buffers: Vec<(usize, &'static str)>,
}

/// Reads a script's directives. `origin` is the script's name in messages.
///
/// # Errors
/// [`Failure`] naming script, line and option.
pub fn read(origin: &str, script: &str) -> Result<Directives, Failure> {
    let head = script.lines().take_while(|line| !is_command(line)).count();
    let lines: Vec<(usize, &str)> = numbered(script).take(head).collect();
    let mut directives = Directives::default();
    for lines in lines.split(|(_, line)| is_separator(line)) {
        directives.components.push(component_options(origin, lines)?);
    }
    directives.too_late = numbered(script)
        .skip(head)
        .filter(|(_, line)| MARKERS.iter().any(|marker| after_marker(line, marker).is_some()))
        .map(|(number, _)| number)
        .collect();
    directives.burst_buffers = lines
        .iter()
        .filter_map(|(number, line)| {
            let marker = BURST_BUFFERS.iter().find(|word| after_marker(line, word).is_some());
            Some((*number, *marker?))
        })
        .collect();
    Ok(directives)
}

/// Options of the lines of one component.
fn component_options(origin: &str, lines: &[(usize, &str)]) -> Result<Options, Failure> {
    let mut options = Options::default();
    for marker in MARKERS {
        let mut words = Vec::new();
        for (number, line) in lines {
            let Some(text) = after_marker(line, marker) else { continue };
            let refused =
                |what| Failure::usage(anyhow::anyhow!("{origin}, line {number}: {marker}: {what}"));
            let line_words = split(text).map_err(|error| refused(error.to_string()))?;
            read_words(&line_words).map_err(|error| refused(explain(&error)))?;
            words.extend(line_words);
        }
        // Each line is valid, but together they may still conflict.
        let layer = read_words(&words).map_err(|error| {
            Failure::usage(anyhow::anyhow!("{origin}: {marker} lines: {}", explain(&error)))
        })?;
        options = layer.merged_over(options);
    }
    Ok(options)
}

/// Whether the line separates two components.
fn is_separator(line: &str) -> bool {
    let mut texts = MARKERS.iter().filter_map(|marker| after_marker(line, marker));
    texts.any(|text| {
        split(text).is_ok_and(
            |words| matches!(words.as_slice(), [word] if SEPARATORS.contains(&word.as_str())),
        )
    })
}

fn numbered(script: &str) -> impl Iterator<Item = (usize, &str)> {
    script.lines().enumerate().map(|(index, line)| (index + 1, line))
}

/// Whether the line is neither blank nor a comment.
fn is_command(line: &str) -> bool {
    let line = line.trim_start();
    !line.is_empty() && !line.starts_with('#')
}

/// The text after the marker, which starts the line and is followed by whitespace.
fn after_marker<'a>(line: &'a str, marker: &str) -> Option<&'a str> {
    let rest = line.strip_prefix(marker)?;
    (rest.is_empty() || rest.starts_with(char::is_whitespace)).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn options(script: &str) -> Options {
        let [options] = read("a.sh", script).unwrap().components.try_into().unwrap();
        options
    }

    fn refused(script: &str) -> String {
        read("a.sh", script).unwrap_err().to_string()
    }

    fn words(text: &str) -> Options {
        read_words(&text.split(' ').collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn directives_are_read_until_the_first_command() {
        let script = "#!/bin/sh\n#SBATCH -n 2\n\n# a comment\n#SBATCH --time=10 # ten minutes\n\
                      true\n#SBATCH -n 9\n";
        let read = read("a.sh", script).unwrap();
        assert_eq!(read.components, [words("-n 2 --time=10")]);
        assert_eq!(read.too_late, [7]);
    }

    #[test]
    fn a_line_that_only_looks_like_a_directive_is_a_comment() {
        let script = "#!/bin/sh\n##SBATCH -n 2\n# SBATCH -n 2\n #SBATCH -n 2\n#SBATCHES -n 2\n";
        assert_eq!(options(script), Options::default());
    }

    #[test]
    fn kant_lines_override_slurm_lines_in_any_order() {
        let script = "#!/bin/sh\n#KANT -p gpu --mem=1G\n#SBATCH -p cpu -n 2 --mem-per-cpu=2G\n";
        assert_eq!(options(script), words("-p gpu --mem=1G -n 2"));
    }

    #[test]
    fn a_separator_line_starts_a_new_component() {
        let script = "#!/bin/sh\n#SBATCH -n 2\n#KANT --time=10\n#SBATCH hetjob # more\n\
                      #SBATCH -n 3\n#KANT -n 4\n#KANT hetjob\n#SBATCH packjob\n#SBATCH -N 5\n";
        let components = read("a.sh", script).unwrap().components;
        let expected = ["-n 2 --time=10", "-n 4"].map(words);
        assert_eq!(components[..2], expected);
        assert_eq!(components[2..], [Options::default(), words("-N 5")]);
        assert!(refused("#!/bin/sh\n#SBATCH hetjob -n 3\n").contains("line 2"));
    }

    #[test]
    fn an_unknown_option_is_reported_with_file_line_and_nearest_name() {
        let message = refused("#!/bin/sh\n\n#SBATCH --tiem=10\n");
        let expected = "a.sh, line 3: #SBATCH: there is no option --tiem: did you mean --time?";
        assert_eq!(message, expected);
    }

    #[test]
    fn unsupported_options_are_refused_not_ignored() {
        let message = refused("#!/bin/sh\n#SBATCH --licenses=matlab:1\n");
        assert!(message.contains("line 2") && message.contains("not supported"), "{message}");
    }

    #[test]
    fn bad_values_open_quotes_and_contradictions_are_refused() {
        for (line, word) in [
            ("#KANT -n -3", "'-3'"),
            ("#KANT --time", "--time"),
            ("#KANT -J 'x", "not closed"),
            ("#KANT --wrap true", "command line"),
            ("#KANT script.sh", "not an option"),
            ("#KANT --mem=1G\n#KANT --mem-per-cpu=1G", "cannot be used with"),
        ] {
            let message = refused(&format!("#!/bin/sh\n{line}\n"));
            assert!(message.contains("a.sh") && message.contains(word), "{line}: {message}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,200}") {
            let _ = read("a.sh", &text);
        }

        #[test]
        fn any_directive_is_read_or_refused(
            lines in vec("#(SBATCH|KANT)[ \t]-{0,2}[a-zA-Z=:'\"\\\\0-9 -]{0,30}", 1..6)
        ) {
            let _ = read("a.sh", &lines.join("\n"));
        }
    }
}
