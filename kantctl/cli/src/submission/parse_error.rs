//! One-line messages about invalid options of a submission: what is wrong, the nearest option, and
//! for options that kant does not support, an alternative. No option is silently ignored.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Options of sbatch that are refused, with the reason or an alternative.
/// Source: man sbatch.
pub const UNSUPPORTED: &[(&str, &str)] = &[
    ("--batch", "the script always runs on the first of the job's nodes"),
    ("--bb", "there are no burst buffers: copy files in the script"),
    ("--bbf", "there are no burst buffers: copy files in the script"),
    ("--cluster-constraint", "there is one cluster"),
    ("--container-image", "unpack it to a directory, and give that with --container"),
    ("--container-mounts", "mounts are configured in the bundle's config.json and kantd.toml"),
    ("--container-name", "give the directory with --container"),
    ("--container-workdir", "use --chdir"),
    ("--contiguous", "--near=leaf puts nodes under one switch"),
    (
        "--core-spec",
        "no cores are reserved for the system: request fewer CPUs with --cpus-per-task",
    ),
    ("-S", "no cores are reserved for the system: request fewer CPUs with --cpus-per-task"),
    ("--export-file", "use --export=NAME=VALUE,..."),
    ("--gid", "a job has the group of the submitting process: use sg or newgrp before"),
    ("--het-group", "it is an option of srun in a het job"),
    ("hetjob", "it must be alone on a #SBATCH line; on the command line `:` separates components"),
    ("packjob", "it must be alone on a #SBATCH line; on the command line `:` separates components"),
    ("--licenses", "licences are not counted: limit jobs with a QoS, or with %N in an array"),
    ("-L", "licences are not counted: limit jobs with a QoS, or with %N in an array"),
    ("--mincpus", "use --cpus-per-task"),
    ("--no-kill", "a lost node ends the attempt, and the job starts again (--requeue)"),
    ("-k", "a lost node ends the attempt, and the job starts again (--requeue)"),
    ("--nodefile", "use --nodelist"),
    ("-F", "use --nodelist"),
    (
        "--overcommit",
        "request the CPUs that are needed; in the job, `srun --overcommit` starts more tasks",
    ),
    ("-O", "request the CPUs that are needed; in the job, `srun --overcommit` starts more tasks"),
    ("--prefer", "use --constraint for required features, and --near to prefer near nodes"),
    ("--priority", "use --nice"),
    ("--reboot", "nodes are not rebooted for jobs"),
    ("--spread-job", "use --nodes with --ntasks-per-node"),
    ("--thread-spec", "no threads are reserved for the system: request fewer CPUs"),
    ("--tres-per-task", "use --gpus-per-task"),
    ("--uid", "a job belongs to the user who submits it: use sudo -u"),
    ("--use-min-nodes", "a job gets the fewest nodes that suffice, or as many as --nodes requests"),
    ("--x11", "displays are not forwarded: use `ssh -X`, or a remote desktop in the job"),
];

/// Options that can only be used on the command line.
const COMMAND_LINE_ONLY: &[&str] = &["--wrap", "--json", "--socket", "--retry", "--help"];

/// The refusal of an option of sbatch that kant does not support; `None` for any other word.
#[must_use]
pub fn unsupported(option: &str) -> Option<String> {
    let (_, instead) = UNSUPPORTED.iter().find(|(name, _)| *name == option)?;
    Some(format!("{option} is not supported in this release: {instead}"))
}

/// Options that exclude each other, and the reason.
const ONE_OF: &[(&[&str], &str)] = &[
    (
        &["--gpus", "--gpus-per-node", "--gpus-per-task", "--gres"],
        "--gpus is the number in the whole job, --gpus-per-node (or --gres) on each node, \
         --gpus-per-task for each task: give only one of them",
    ),
    (
        &["--mem", "--mem-per-cpu", "--mem-per-gpu"],
        "--mem is per node, --mem-per-cpu per CPU, --mem-per-gpu per GPU: give only one of them",
    ),
];

/// The message about two options that exclude each other, if there is a reason.
#[must_use]
pub fn conflict(error: &clap::Error) -> Option<anyhow::Error> {
    let line = first_line(error);
    let named = |option: &&str| {
        line.contains(&format!("'{option} ")) || line.contains(&format!("'{option}'"))
    };
    let (_, why) = ONE_OF.iter().find(|(options, _)| options.iter().any(&named))?;
    Some(anyhow::anyhow!("{line}: {why}"))
}

/// clap's error about a directive or a variable, in one line.
#[must_use]
pub fn explain(error: &clap::Error) -> String {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(texts)) => texts.first().cloned(),
        _ => None,
    };
    if let Some(message) = conflict(error).filter(|_| error.kind() == ErrorKind::ArgumentConflict) {
        return message.to_string();
    }
    if error.kind() != ErrorKind::UnknownArgument {
        return first_line(error);
    }
    let option = context(ContextKind::InvalidArg).unwrap_or_default();
    if let Some(refusal) = unsupported(&option) {
        return refusal;
    }
    if COMMAND_LINE_ONLY.contains(&option.as_str()) {
        return format!("{option} can only be used on the command line");
    }
    match context(ContextKind::SuggestedArg) {
        Some(nearest) => format!("there is no option {option}: did you mean {nearest}?"),
        None if option.starts_with('-') => {
            format!("there is no option {option}: see `kantctl submit --help`")
        }
        None => {
            format!("`{option}` is not an option: a value must follow its option, as in --time=10")
        }
    }
}

/// clap's message without its prefix and usage.
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
    fn the_nearest_option_is_suggested_for_an_unknown_one() {
        let message = explained(&["--tiem=10"]);
        assert_eq!(message, "there is no option --tiem: did you mean --time?");
        assert!(explained(&["--zzzzqqq"]).contains("--help"));
        assert!(explained(&["10"]).contains("`10` is not an option"));
    }

    #[test]
    fn unsupported_options_of_sbatch_are_refused_clearly() {
        for words in
            [&["--licenses=matlab:1"][..], &["-L", "matlab:1"], &["-Lmatlab:1"], &["hetjob"]]
        {
            let message = explained(words);
            assert!(message.contains("not supported in this release"), "{message}");
        }
    }

    #[test]
    fn every_refusal_has_a_reason_or_an_alternative() {
        let silent: Vec<_> = UNSUPPORTED.iter().filter(|(_, instead)| instead.is_empty()).collect();
        assert!(silent.is_empty(), "{silent:?}");
        let message = explained(&["--uid=ada"]);
        let expected = "in this release: a job belongs to the user who submits it: use sudo -u";
        assert!(message.ends_with(expected), "{message}");
    }

    #[test]
    fn a_conflict_of_options_is_explained() {
        let message = explained(&["--gpus=4", "--gpus-per-node=2"]);
        assert!(message.contains("cannot be used with"), "{message}");
        assert!(message.contains("--gpus is the number in the whole job"), "{message}");
        let message = explained(&["--mem=4G", "--mem-per-cpu=2G"]);
        assert!(message.contains("--mem is per node"), "{message}");
    }

    #[test]
    fn no_option_is_both_supported_and_refused() {
        for arg in definition().get_arguments() {
            let long = arg.get_long().map(|l| format!("--{l}"));
            let short = arg.get_short().map(|s| format!("-{s}"));
            for name in [long, short].into_iter().flatten() {
                assert_eq!(unsupported(&name), None);
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
