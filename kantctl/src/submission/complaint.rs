//! One line about words that are no options of a submission: what is wrong, what comes nearest,
//! and, for options that sbatch has and kant has not, a plain no. Nothing is ignored in silence.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Options of sbatch that this release refuses, and what to do instead.
/// Source: man sbatch.
pub const NOT_YET: &[(&str, &str)] = &[
    ("--batch", "the script runs on the first of the job's nodes, whichever that is"),
    ("--bb", "there are no burst buffers: copy files in the script"),
    ("--bbf", "there are no burst buffers: copy files in the script"),
    ("--cluster-constraint", "there is one cluster"),
    ("--container-image", "unpack it to a directory, and give that with --container"),
    ("--container-mounts", "the bundle's config.json and kantd.toml name what is mounted"),
    ("--container-name", "give the directory with --container"),
    ("--container-workdir", "use --chdir"),
    ("--contiguous", "--near=leaf puts nodes under one switch"),
    (
        "--core-spec",
        "no cores are kept for the system: ask for fewer than all with --cpus-per-task",
    ),
    ("-S", "no cores are kept for the system: ask for fewer than all with --cpus-per-task"),
    ("--export-file", "use --export=NAME=VALUE,..."),
    ("--gid", "a job has the group that it is submitted with: use sg or newgrp before"),
    ("--het-group", "it is for srun in a job that has components"),
    ("hetjob", "it stands alone on a #SBATCH line; on the command line `:` is between components"),
    ("packjob", "it stands alone on a #SBATCH line; on the command line `:` is between components"),
    ("--licenses", "licences are not counted: bound who uses one with a QoS, or %N of an array"),
    ("-L", "licences are not counted: bound who uses one with a QoS, or %N of an array"),
    ("--mincpus", "use --cpus-per-task"),
    ("--no-kill", "a lost node ends the attempt, and the job starts again (--requeue)"),
    ("-k", "a lost node ends the attempt, and the job starts again (--requeue)"),
    ("--nodefile", "use --nodelist"),
    ("-F", "use --nodelist"),
    (
        "--overcommit",
        "ask for the CPUs it needs; in the job, `srun --overcommit` starts more tasks",
    ),
    ("-O", "ask for the CPUs it needs; in the job, `srun --overcommit` starts more tasks"),
    ("--prefer", "use --constraint for what it must have; nearness is preferred with --near"),
    ("--priority", "use --nice"),
    ("--reboot", "nodes are not booted for jobs"),
    ("--spread-job", "use --nodes with --ntasks-per-node"),
    ("--thread-spec", "no threads are kept for the system: ask for fewer CPUs"),
    ("--tres-per-task", "use --gpus-per-task"),
    ("--uid", "a job is of the user who submits it: use sudo -u before"),
    ("--use-min-nodes", "a job gets as few nodes as hold it, or as many as --nodes says"),
    ("--x11", "displays are not forwarded: use `ssh -X`, or a remote desktop in the job"),
];

/// Options that only make sense where a script is named.
const COMMAND_LINE_ONLY: &[&str] = &["--wrap", "--json", "--socket", "--retry", "--help"];

/// The refusal of an option that sbatch has and kant has not; `None` for any other word.
#[must_use]
pub fn not_yet(option: &str) -> Option<String> {
    let (_, instead) = NOT_YET.iter().find(|(name, _)| *name == option)?;
    Some(format!("{option} is not supported in this release: {instead}"))
}

/// Options of which one is enough, and why.
const ONE_OF: &[(&[&str], &str)] = &[
    (
        &["--gpus", "--gpus-per-node", "--gpus-per-task", "--gres"],
        "--gpus counts those of the whole job, --gpus-per-node (or --gres) of each node, \
         --gpus-per-task of each task: give one of them",
    ),
    (
        &["--mem", "--mem-per-cpu", "--mem-per-gpu"],
        "--mem is for each node, --mem-per-cpu for each CPU, --mem-per-gpu for each GPU: give one \
         of them",
    ),
];

/// Two options that exclude each other, with the reason where there is one.
#[must_use]
pub fn conflict(error: &clap::Error) -> Option<anyhow::Error> {
    let line = first_line(error);
    let named = |option: &&str| {
        line.contains(&format!("'{option} ")) || line.contains(&format!("'{option}'"))
    };
    let (_, why) = ONE_OF.iter().find(|(options, _)| options.iter().any(&named))?;
    Some(anyhow::anyhow!("{line}: {why}"))
}

/// What clap found wrong with a directive or a variable, in one line.
#[must_use]
pub fn explain(error: &clap::Error) -> String {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(texts)) => texts.first().cloned(),
        _ => None,
    };
    if let Some(told) = conflict(error).filter(|_| error.kind() == ErrorKind::ArgumentConflict) {
        return told.to_string();
    }
    if error.kind() != ErrorKind::UnknownArgument {
        return first_line(error);
    }
    let option = context(ContextKind::InvalidArg).unwrap_or_default();
    if let Some(refusal) = not_yet(&option) {
        return refusal;
    }
    if COMMAND_LINE_ONLY.contains(&option.as_str()) {
        return format!("{option} belongs on the command line");
    }
    match context(ContextKind::SuggestedArg) {
        Some(nearest) => format!("there is no option {option}: did you mean {nearest}?"),
        None if option.starts_with('-') => {
            format!("there is no option {option}: see `kantctl submit --help`")
        }
        None => format!("`{option}` is no option: values follow theirs, as in --time=10"),
    }
}

/// clap's message without its prefix and its usage.
fn first_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let line = text.lines().next().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::submission::options::{definition, read_words};

    fn explained(words: &[&str]) -> String {
        explain(&read_words(words).unwrap_err())
    }

    #[test]
    fn an_unknown_option_is_answered_with_the_nearest() {
        let message = explained(&["--tiem=10"]);
        assert_eq!(message, "there is no option --tiem: did you mean --time?");
        assert!(explained(&["--zzzzqqq"]).contains("--help"));
        assert!(explained(&["10"]).contains("`10` is no option"));
    }

    #[test]
    fn what_sbatch_has_and_kant_has_not_is_refused_clearly() {
        for words in
            [&["--licenses=matlab:1"][..], &["-L", "matlab:1"], &["-Lmatlab:1"], &["hetjob"]]
        {
            let message = explained(words);
            assert!(message.contains("not supported in this release"), "{message}");
        }
    }

    #[test]
    fn every_refusal_says_what_to_do_instead_or_why_there_is_no_such_thing() {
        let silent: Vec<_> = NOT_YET.iter().filter(|(_, instead)| instead.is_empty()).collect();
        assert!(silent.is_empty(), "{silent:?}");
        let message = explained(&["--uid=ada"]);
        assert!(
            message.ends_with(
                "in this release: a job is of the user who submits it: use sudo \
                                   -u before"
            ),
            "{message}"
        );
    }

    #[test]
    fn options_that_exclude_each_other_say_why() {
        let message = explained(&["--gpus=4", "--gpus-per-node=2"]);
        assert!(message.contains("cannot be used with"), "{message}");
        assert!(message.contains("--gpus counts those of the whole job"), "{message}");
        let message = explained(&["--mem=4G", "--mem-per-cpu=2G"]);
        assert!(message.contains("--mem is for each node"), "{message}");
    }

    #[test]
    fn nothing_is_both_supported_and_refused() {
        for arg in definition().get_arguments() {
            let long = arg.get_long().map(|l| format!("--{l}"));
            let short = arg.get_short().map(|s| format!("-{s}"));
            for name in [long, short].into_iter().flatten() {
                assert_eq!(not_yet(&name), None);
            }
        }
    }

    #[test]
    fn a_bad_value_is_explained_in_one_line() {
        let message = explained(&["--time=soon"]);
        assert!(message.contains("--time") && message.contains("length of time"), "{message}");
        assert!(!message.contains('\n'));
    }
}
