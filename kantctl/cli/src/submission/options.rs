//! The options of a submission, as the table of job attributes defines them. Command line, `#KANT`
//! and `#SBATCH` directives and the environment are all parsed with this one definition, so that
//! they cannot differ.

use super::export::Export;
use super::ignored_options::IgnoredOptions;
use super::value::read_value;
use clap::builder::PossibleValuesParser;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use common::job::attributes::{Attribute, Given, Kind, ROWS, Row, Value};
use std::collections::BTreeMap;

/// Options that were given on the command line, in directives or in the environment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Options {
    given: Given,
    pub ignored_options: IgnoredOptions,
}

impl std::ops::Deref for Options {
    type Target = Given;

    fn deref(&self) -> &Given {
        &self.given
    }
}

impl Options {
    /// The value of `--export`.
    #[must_use]
    pub fn export(&self) -> Option<Export> {
        // Its text was checked when it was read.
        self.text(Attribute::Export).and_then(|text| text.parse().ok())
    }

    /// Sets an option.
    pub fn set(&mut self, attribute: Attribute, value: impl Into<Value>) {
        self.given.set(attribute, value);
    }

    /// Overrides the options `below`. Alternatives are overridden together.
    #[must_use]
    pub fn merged_over(self, below: Self) -> Self {
        let ignored_options = self.ignored_options.merged_over(below.ignored_options);
        Self { given: self.given.override_on(below.given), ignored_options }
    }

    /// The options of a component that also apply to the following ones.
    #[must_use]
    pub fn inherited(&self) -> Self {
        let given = self.given.filtered(|attribute| !attribute.row().is_of_component);
        // Ignored options are warned about once, for the first component.
        Self { given, ignored_options: IgnoredOptions::default() }
    }

    /// As [`Given::with_all_named_nodes`].
    #[must_use]
    pub fn with_all_named_nodes(self) -> Self {
        Self { given: self.given.with_all_named_nodes(), ..self }
    }
}

fn submitted_rows() -> impl Iterator<Item = &'static Row> {
    ROWS.iter().filter(|row| row.is_submitted)
}

/// The option of a row, without its help and value.
fn named_arg(row: &'static Row) -> Arg {
    let mut arg = Arg::new(row.option).long(row.option);
    if let Some(short) = row.short {
        arg = arg.short(short);
    }
    match row.alias {
        Some(alias) if alias.is_shown => arg.visible_alias(alias.name),
        Some(alias) => arg.alias(alias.name),
        None => arg,
    }
}

fn arg(row: &'static Row) -> Arg {
    let arg = named_arg(row).help(row.help).help_heading(row.heading.text());
    let others = row.attribute.alternatives().filter(|other| *other != row.attribute);
    let others = others.map(|other| other.row().option);
    let arg = match row.choice {
        Some(choice) if choice.last_wins() => arg.overrides_with_all(others),
        _ => arg.conflicts_with_all(others),
    };
    let arg = match row.kind {
        Kind::Flag => return arg.action(ArgAction::SetTrue),
        Kind::Nice => arg.num_args(0..=1).require_equals(true).default_missing_value("100"),
        _ => arg,
    };
    let arg =
        arg.value_name(row.value_name).allow_negative_numbers(accepts_negative_number(row.kind));
    let kind = row.kind;
    match kind {
        Kind::OpenMode => arg.value_parser(words_parser(kind, ["append", "truncate"])),
        Kind::YesNo => arg.value_parser(words_parser(kind, ["yes", "no"])),
        _ => arg.value_parser(move |text: &str| read_value(kind, text)),
    }
}

/// One of a few words, which help and completions list.
fn words_parser(
    kind: Kind,
    words: [&'static str; 2],
) -> impl clap::builder::TypedValueParser<Value = Value> {
    use clap::builder::TypedValueParser;
    PossibleValuesParser::new(words).try_map(move |word| read_value(kind, &word))
}

/// Whether a value that begins like a negative number is read, so that it is refused by name.
const fn accepts_negative_number(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Array
            | Kind::Bytes
            | Kind::Count
            | Kind::GpuCount
            | Kind::Gpus
            | Kind::Nice
            | Kind::NodeCount
            | Kind::TaskCount
            | Kind::TimeLimit
    )
}

impl Args for Options {
    fn augment_args(command: Command) -> Command {
        let command = submitted_rows().fold(command, |command, row| command.arg(arg(row)));
        IgnoredOptions::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Options {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut options = Self::default();
        options.update_from_arg_matches(matches)?;
        Ok(options)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for row in submitted_rows() {
            let value = match row.kind {
                Kind::Flag => matches.get_flag(row.option).then_some(Value::Flag(true)),
                _ => matches.get_one::<Value>(row.option).cloned(),
            };
            if let Some(value) = value {
                self.given.set(row.attribute, value);
            }
        }
        self.ignored_options.update_from_arg_matches(matches)?;
        Ok(())
    }
}

/// Attributes that a verb takes as words, which it reads later: those that `SELECTED` selects.
#[derive(Debug, Clone, Default)]
pub struct AttributeWords<S> {
    words: BTreeMap<Attribute, String>,
    selected: std::marker::PhantomData<S>,
}

/// A selection of attributes for [`AttributeWords`].
pub trait Selection: Default {
    /// Whether the verb takes this attribute.
    fn selects(row: &Row) -> bool;
    /// The verb's help and value name, and other details.
    fn with_details(row: &'static Row, arg: Arg) -> Arg;
}

impl<S: Selection> AttributeWords<S> {
    /// The attributes that were given, with their words.
    pub fn given(&self) -> impl Iterator<Item = (Attribute, &str)> {
        self.words.iter().map(|(attribute, word)| (*attribute, word.as_str()))
    }

    /// The word of an attribute, if it was given.
    #[must_use]
    pub fn get(&self, attribute: Attribute) -> Option<&str> {
        self.words.get(&attribute).map(String::as_str)
    }
}

impl<S: Selection> Args for AttributeWords<S> {
    fn augment_args(command: Command) -> Command {
        let selected = ROWS.iter().filter(|row| S::selects(row));
        selected.fold(command, |command, row| command.arg(S::with_details(row, named_arg(row))))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<S: Selection> FromArgMatches for AttributeWords<S> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut words = Self::default();
        words.update_from_arg_matches(matches)?;
        Ok(words)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for row in ROWS.iter().filter(|row| S::selects(row)) {
            let word = matches.try_get_one::<String>(row.option);
            let word = word.map_err(|error| clap::Error::raw(ErrorKind::InvalidValue, error))?;
            if let Some(word) = word {
                self.words.insert(row.attribute, word.clone());
            }
        }
        Ok(())
    }
}

/// The definition without a script, for directives and the environment.
#[must_use]
pub fn definition() -> Command {
    Options::augment_args(Command::new("submit"))
        .no_binary_name(true)
        .disable_help_flag(true)
        .disable_version_flag(true)
        .args_override_self(true)
}

/// Parses words such as `--time=10 -n 4`.
///
/// # Errors
/// clap's error for an unknown option, an invalid value, or two options that exclude each other.
pub fn read_words<W: AsRef<str>>(words: &[W]) -> Result<Options, clap::Error> {
    let matches = definition().try_get_matches_from(words.iter().map(AsRef::as_ref))?;
    Options::from_arg_matches(&matches)
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::job::{Dependency, Warning};

    fn read(words: &str) -> Options {
        read_words(&words.split(' ').collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn the_definition_is_valid() {
        definition().debug_assert();
    }

    #[test]
    fn alternative_options_exclude_each_other_within_a_layer() {
        for words in
            ["--mem 1G --mem-per-cpu 2G", "--gpus 4 --gres gpu:2", "--near leaf --switches 1"]
        {
            let error = read_words(&words.split(' ').collect::<Vec<_>>()).unwrap_err();
            assert_eq!(error.kind(), clap::error::ErrorKind::ArgumentConflict, "{words}");
        }
    }

    #[test]
    fn the_upper_layer_overrides_the_lower() {
        let merged = read("-n 4 --time 10").merged_over(read("-n 2 --queue gpu --hold"));
        assert_eq!(merged, read("-n 4 --time 10 --queue gpu --hold"));
    }

    #[test]
    fn alternative_options_replace_each_other_across_layers() {
        for (above, below) in [
            ("--mem 1G", "--mem-per-cpu 2G"),
            ("--gpus 4", "--gres gpu:2"),
            ("--gpus-per-task 1", "--gpus-per-node h100:2"),
            ("--no-requeue", "--requeue"),
            ("--preemptible", "--no-preemptible"),
            ("--near spine:required", "--switches 1"),
            ("--switches 1", "--near spine:required"),
        ] {
            assert_eq!(read(above).merged_over(read(below)), read(above), "{above} over {below}");
        }
    }

    #[test]
    fn a_signal_is_read_in_the_syntax_of_sbatch() {
        let shown =
            |words: &str| read(words).get(Attribute::Signal).map(|w: Warning| w.to_string());
        assert_eq!(shown("--signal=B:USR1@120").as_deref(), Some("B:USR1@120"));
        assert_eq!(shown("--signal TERM").as_deref(), Some("TERM@60"));
        let error = read_words(&["--signal=R:USR1"]).unwrap_err().to_string();
        assert!(error.contains("not supported"), "{error}");
    }

    #[test]
    fn a_dependency_is_read_as_sbatch_reads_it() {
        let options = read("-d afterok:20:21 --kill-on-invalid-dep=yes");
        let dependency: Dependency = options.get(Attribute::Dependency).unwrap();
        assert_eq!(dependency.to_string(), "afterok:20,afterok:21");
        let kills = |words: &str| read(words).get::<bool>(Attribute::KillOnInvalidDep);
        assert_eq!(kills("--dependency=singleton"), None);
        assert_eq!(kills("--kill-on-invalid-dep yes"), Some(true), "Slurm also accepts this form");
        assert_eq!(kills("--kill-on-invalid-dep no"), Some(false));
        let error = read_words(&["--dependency=afterok"]).unwrap_err().to_string();
        assert!(error.contains("--dependency") && error.contains("RULE:JOB"), "{error}");
    }

    #[test]
    fn the_last_value_of_a_repeated_option_wins() {
        assert_eq!(read("-n 1 -n 2"), read("-n 2"));
        assert_eq!(read("--requeue --no-requeue"), read("--no-requeue"));
        assert_eq!(read("--no-preemptible --preemptible"), read("--preemptible"));
    }

    #[test]
    fn invalid_counts_are_refused_with_the_option_named() {
        for words in [
            ["-n", "-3"],
            ["-N", "0"],
            ["--gpus", "-1"],
            ["--mem", "-5"],
            ["-t", "-5"],
            ["--segment", "0"],
            ["--max-per-node", "-1"],
        ] {
            let error = read_words(&words).unwrap_err().to_string();
            assert!(error.contains("invalid value") && error.contains(words[1]), "{error}");
        }
    }
}
