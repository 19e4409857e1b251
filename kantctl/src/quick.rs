//! The verbs that scripts call most, read without defining all the others: to define every verb
//! takes longer than all else that kantctl does for a submit (docs/performance.md). Never says
//! what is wrong with a line: whatever does not read here is read again with all that there is.

use crate::cli::{Cli, Global, Verb};
use crate::verb::{
    alloc, batch, cancel, history, launch, logs, nodes, queue, run, show, status, wait,
};
use clap::{Args, Command, FromArgMatches};
use std::ffi::OsString;

/// The line, where its first word is one of these verbs and the others make sense.
#[must_use]
pub fn read(arguments: &[OsString]) -> Option<Cli> {
    match arguments.get(1)?.to_str()? {
        "submit" => one("submit", arguments, |args: batch::Args| Verb::Submit(Box::new(args))),
        "run" => one("run", arguments, |args: run::Args| Verb::Run(Box::new(args))),
        "alloc" => one("alloc", arguments, |args: alloc::Args| Verb::Alloc(Box::new(args))),
        "queue" => one("queue", arguments, |args: queue::Args| Verb::Queue(args)),
        "show" => one("show", arguments, |args: show::Args| Verb::Show(args)),
        "cancel" => one("cancel", arguments, |args: cancel::Args| Verb::Cancel(args)),
        "wait" => one("wait", arguments, |args: wait::Args| Verb::Wait(args)),
        "status" => one("status", arguments, |args: status::Args| Verb::Status(args)),
        "nodes" => one("nodes", arguments, |args: nodes::Args| Verb::Nodes(args)),
        "logs" => one("logs", arguments, |args: logs::Args| Verb::Logs(args)),
        "launch" => one("launch", arguments, |args: launch::Args| Verb::Launch(args)),
        "history" => one("history", arguments, |args: history::Args| Verb::History(Box::new(args))),
        _ => None,
    }
}

fn one<A: Args>(name: &'static str, arguments: &[OsString], verb: fn(A) -> Verb) -> Option<Cli> {
    // As `crate::command` has it.
    let own = A::augment_args(Command::new(name)).args_override_self(name == "submit");
    let all = Global::augment_args(Command::new("kantctl")).subcommand(own);
    let matches = all.try_get_matches_from(arguments).ok()?;
    let args = A::from_arg_matches(matches.subcommand()?.1).ok()?;
    Some(Cli { global: Global::from_arg_matches(&matches).ok()?, verb: verb(args) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    fn whole(line: &str) -> Option<String> {
        let matches = crate::command().try_get_matches_from(words(line)).ok()?;
        Some(format!("{:?}", Cli::from_arg_matches(&matches).ok()?))
    }

    fn quickly(line: &str) -> Option<String> {
        Some(format!("{:?}", read(&words(line))?))
    }

    #[test]
    fn a_line_means_the_same_as_with_all_verbs_defined() {
        for line in [
            "kantctl submit --wrap true --gpus 2 --json",
            "kantctl submit -N2 -N4 --time=1:00 train.sh --flag x",
            "kantctl submit train.sh --json",
            "kantctl run --gpus 1 --json nvidia-smi -L",
            "kantctl alloc -N2",
            "kantctl queue --json --socket /s",
            "kantctl show 42_[0-3] 50",
            "kantctl cancel 42 43",
            "kantctl wait 42 --retry 10m",
            "kantctl status",
            "kantctl nodes",
            "kantctl logs -f 42",
            "kantctl launch n1 true",
            "kantctl history",
        ] {
            let read = quickly(line);
            assert!(read.is_some(), "{line}");
            assert_eq!(read, whole(line), "{line}");
        }
    }

    #[test]
    fn what_does_not_read_or_asks_for_help_is_left_to_the_whole_definition() {
        for line in [
            "kantctl",
            "kantctl --json queue",
            "kantctl queue --help",
            "kantctl queue --nonsense",
            "kantctl launch",
            "kantctl share",
            "kantctl nonsense",
        ] {
            assert_eq!(quickly(line), None, "{line}");
        }
    }
}
