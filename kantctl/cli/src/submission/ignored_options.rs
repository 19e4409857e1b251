//! Options of sbatch that are accepted with a warning and have no effect. They concern performance
//! or accounting only, never what runs, where, or with which resources.
//! Source: man sbatch.

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use std::collections::BTreeSet;

/// An option without effect.
#[derive(Debug, Clone, Copy)]
pub struct IgnoredOption {
    pub name: &'static str,
    short: Option<char>,
    /// Whether it can be given without a value.
    is_value_optional: bool,
    /// Why it has no effect.
    pub why: &'static str,
}

const fn new_ignored_option(name: &'static str, why: &'static str) -> IgnoredOption {
    IgnoredOption { name, short: None, is_value_optional: false, why }
}

impl IgnoredOption {
    const fn with_short(self, letter: char) -> Self {
        Self { short: Some(letter), ..self }
    }

    const fn with_optional_value(self) -> Self {
        Self { is_value_optional: true, ..self }
    }
}

const MEASURED: &str = "the resource use of a job is measured at its end";
const ANY_SOCKET: &str = "cores are chosen near the allocated GPUs, on any socket";
const WHOLE_CORES: &str = "all threads of a core always belong to one job";
const SHARED_CPUS: &str = "tasks of a job share its CPUs";
const LOGIN_SHELL: &str =
    "the environment is that of the submission; `#!/bin/bash -l` starts a login shell";
const TMP: &str = "disk space of nodes is not counted; /tmp is private to the job";

/// All ignored options.
pub const IGNORED_OPTIONS: &[IgnoredOption] = &[
    new_ignored_option("acctg-freq", MEASURED),
    new_ignored_option("clusters", "there is one cluster").with_short('M'),
    new_ignored_option("cores-per-socket", ANY_SOCKET),
    new_ignored_option(
        "cpu-bind",
        "a job is bound to its CPUs, near its GPUs; bind single tasks with taskset",
    ),
    new_ignored_option("cpu-freq", "the machine's governor decides"),
    new_ignored_option("delay-boot", "nodes are not booted for jobs"),
    new_ignored_option("distribution", "tasks are assigned node by node, in order").with_short('m'),
    new_ignored_option("extra-node-info", ANY_SOCKET).with_short('B'),
    new_ignored_option("get-user-env", LOGIN_SHELL).with_optional_value(),
    new_ignored_option(
        "gpu-bind",
        "each task sees all GPUs of its job on the node: choose by SLURM_LOCALID",
    ),
    new_ignored_option("gpu-freq", "GPU clocks are not changed"),
    new_ignored_option("hint", WHOLE_CORES),
    new_ignored_option("mem-bind", "bind memory in the script with numactl"),
    new_ignored_option("network", "there are no switch plug-ins"),
    new_ignored_option("ntasks-per-core", SHARED_CPUS),
    new_ignored_option("ntasks-per-socket", SHARED_CPUS),
    new_ignored_option("oversubscribe", "CPUs and GPUs are never shared between jobs")
        .with_short('s')
        .with_optional_value(),
    new_ignored_option("power", "power is not managed per job"),
    new_ignored_option("profile", MEASURED),
    new_ignored_option("propagate", "the shell's soft limits are always passed on"),
    new_ignored_option("sockets-per-node", ANY_SOCKET),
    new_ignored_option("threads-per-core", WHOLE_CORES),
    new_ignored_option("time-min", "a job gets the whole --time"),
    new_ignored_option("tmp", TMP),
    new_ignored_option("wckey", "use --account or --comment"),
];

/// The ignored options that were given, by their names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IgnoredOptions(BTreeSet<&'static str>);

impl IgnoredOptions {
    /// Whether an option was given.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    /// The options that were given.
    pub fn given(&self) -> impl Iterator<Item = &'static IgnoredOption> {
        IGNORED_OPTIONS.iter().filter(|option| self.has(option.name))
    }

    /// These, and the options `below`.
    #[must_use]
    pub fn merged_over(mut self, below: Self) -> Self {
        self.0.extend(below.0);
        self
    }
}

fn arg(option: &'static IgnoredOption) -> Arg {
    let arg = Arg::new(option.name).long(option.name).help(option.why).hide(true);
    let arg = arg.value_name("VALUE").allow_hyphen_values(true);
    let arg = option.short.map_or(arg.clone(), |letter| arg.short(letter));
    match option.is_value_optional {
        true => arg.num_args(0..=1).require_equals(true).default_missing_value(""),
        false => arg,
    }
}

impl Args for IgnoredOptions {
    fn augment_args(command: Command) -> Command {
        IGNORED_OPTIONS.iter().fold(command, |command, option| command.arg(arg(option)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for IgnoredOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |option: &&IgnoredOption| matches.contains_id(option.name);
        Ok(Self(IGNORED_OPTIONS.iter().filter(given).map(|option| option.name).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.extend(Self::from_arg_matches(matches)?.0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        passed: IgnoredOptions,
    }

    #[test]
    fn given_options_are_listed_with_their_reasons() {
        let read = |words: &str| Line::parse_from(words.split(' ')).passed;
        let given = read("x --hint=nomultithread -m block:block --tmp 1G");
        let names: Vec<&str> = given.given().map(|option| option.name).collect();
        assert_eq!(names, ["distribution", "hint", "tmp"]);
        let both = read("x --hint=a").merged_over(read("x --tmp=1"));
        assert!(both.has("hint") && both.has("tmp") && !both.has("wckey"));
    }
}
