//! The components of a het job: their options, separated by `:` on the command line and by a line
//! `#SBATCH hetjob` in a script. Nodes and queue are requested for each component; other options
//! apply to the following components, too.
//! Source: man sbatch, and Slurm's guide to heterogeneous jobs.

use super::options::Options;
use super::parse_error;
use crate::failure::Failure;
use clap::{Args, Command, FromArgMatches};

/// The separator between components.
pub const SEPARATOR: &str = ":";

/// Options of a component, and the words after them.
#[derive(Args, Debug)]
struct Component {
    #[command(flatten)]
    options: Options,
    #[arg(long)]
    wrap: Option<String>,
    #[arg(num_args = 0.., trailing_var_arg = true)]
    script: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CommandLine {
    /// Options of each component; usually there is one.
    pub components: Vec<Options>,
    pub wrap: Option<String>,
    /// The script and its arguments.
    pub script: Vec<String>,
}

impl CommandLine {
    /// Continues after the options of the first component: with a script, or with `:` and the next.
    ///
    /// # Errors
    /// [`Failure`] for an invalid option, or for both a script and --wrap.
    pub fn read(
        first: &Options,
        wrap: Option<&String>,
        behind: &[String],
    ) -> Result<Self, Failure> {
        let (mut wrap, mut script) = (wrap.cloned(), behind.to_vec());
        let mut components = vec![first.clone()];
        while script.first().is_some_and(|word| word == SEPARATOR) {
            let part = parse_component(&script[1..])?;
            components.push(part.options);
            wrap = part.wrap.or(wrap);
            script = part.script;
        }
        if wrap.is_some() && !script.is_empty() {
            let text = "--wrap cannot be used with a script: give only one of them";
            return Err(Failure::usage(anyhow::anyhow!(text)));
        }
        Ok(Self { components, wrap, script })
    }
}

fn parse_component(words: &[String]) -> Result<Component, Failure> {
    let command = Component::augment_args(Command::new("submit"))
        .no_binary_name(true)
        .disable_help_flag(true)
        .disable_version_flag(true)
        .args_override_self(true);
    let read = command.try_get_matches_from(words);
    let read = read.and_then(|matches| Component::from_arg_matches(&matches));
    read.map_err(|error| Failure::usage(anyhow::Error::msg(parse_error::explain(&error))))
}

/// Merges the components of the command line, each over the environment, with those of the script
/// at the same position.
#[must_use]
pub fn merge(line: Vec<Options>, environment: &Options, script: Vec<Options>) -> Vec<Options> {
    let count = line.len().max(script.len()).max(1);
    let (mut line, mut script) = (line.into_iter(), script.into_iter());
    let mut merged: Vec<Options> = Vec::with_capacity(count);
    for _ in 0..count {
        let own = line.next().unwrap_or_default().merged_over(environment.clone());
        let own = own.merged_over(script.next().unwrap_or_default());
        merged.push(match merged.last() {
            Some(before) => own.merged_over(before.inherited()),
            None => own,
        });
    }
    merged
}

/// Refuses components in verbs that do not support them.
///
/// # Errors
/// [`Failure`] if the words begin with `:`.
pub fn refuse_components(words: &[String], verb: &str) -> Result<(), Failure> {
    if words.first().is_none_or(|word| word != SEPARATOR) {
        return Ok(());
    }
    let text = format!(
        "{verb} does not support components (`:`): submit a script with components, and \
         start programs in them with `srun --het-group=N`"
    );
    Err(Failure::usage(anyhow::Error::msg(text)))
}

#[cfg(test)]
mod tests {
    use super::super::options::read_words;
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect()
    }

    fn options(text: &str) -> Options {
        read_words(&words(text)).unwrap()
    }

    #[test]
    fn a_colon_separates_components_only_before_the_script() {
        let line =
            |behind: &str| CommandLine::read(&options("-n 1"), None, &words(behind)).unwrap();
        let read = line(": -n 2 : -N 3 a.sh : x");
        assert_eq!(read.components, ["-n 1", "-n 2", "-N 3"].map(options));
        assert_eq!(read.script, ["a.sh", ":", "x"]);
        assert_eq!(line("a.sh : -n 2").components.len(), 1);
        assert_eq!(line(": -n 2 --wrap true").wrap.as_deref(), Some("true"));
        let wrap = "true".to_owned();
        let both = CommandLine::read(&options("-n 1"), Some(&wrap), &words(": -n 2 a.sh"));
        assert!(both.unwrap_err().to_string().contains("--wrap"));
        let bad = CommandLine::read(&options("-n 1"), None, &words(": --tiem=3 a.sh"));
        assert!(bad.unwrap_err().to_string().contains("did you mean --time"));
    }

    #[test]
    fn options_except_nodes_and_queue_are_inherited() {
        let line = ["-n 1 -p gpu --time=10 -A vision", "-N 2 --time=20", ""].map(options).to_vec();
        let merged = merge(line, &Options::default(), Vec::new());
        let expected =
            ["-n 1 -p gpu --time=10 -A vision", "-N 2 --time=20 -A vision", "--time=20 -A vision"];
        assert_eq!(merged, expected.map(options));
    }

    #[test]
    fn the_command_line_overrides_the_script_component_by_component() {
        let script = ["-n 1 --mem=1G", "-n 2 --mem=2G"].map(options).to_vec();
        let merged = merge(vec![options("--mem=9G")], &options("-p gpu"), script);
        assert_eq!(merged, ["-n 1 --mem=9G -p gpu", "-n 2 --mem=2G -p gpu"].map(options));
    }
}
