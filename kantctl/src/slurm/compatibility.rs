//! What of Slurm's commands works here, as a page: made from the options themselves, so that it
//! cannot say otherwise than they do. Never a promise.

use super::job_fields::{ACCOUNT_EMPTY, FIELDS};
use super::name::Name;
use super::node_field;
use super::refused;
use crate::submission::ignored_options::IGNORED_OPTIONS;
use crate::submission::parse_error::UNSUPPORTED;
use clap::Arg;
use std::fmt::Write;

/// Commands of Slurm that have no name here, and what does their work.
const OTHERS: &[(&str, &str)] = &[
    ("sstat", "not yet: `kantctl show job` tells what a job used at its end"),
    ("sbcast, scrontab, strigger", "not yet"),
    ("slurmrestd", "kantctld's API: JSON over HTTP on its socket"),
];

/// Options that change nothing here, by their ids; without a command, of all that have them.
const IDLE: &[(&str, &str)] = &[
    ("", "clusters"),
    ("", "verbose"),
    ("sacct", "all_clusters"),
    ("sacctmgr", "immediate"),
    ("scontrol", "all"),
    ("sdiag", "all"),
    ("sdiag", "by_id"),
    ("sdiag", "by_time"),
    ("sinfo", "all"),
    ("sinfo", "exact"),
    ("sinfo", "no_convert"),
    ("sinfo", "sort"),
    ("squeue", "all"),
    ("squeue", "priority"),
    ("salloc", "kill_command"),
    ("srun", "unbuffered"),
];

const HEAD: &str = "\
# What of Slurm works

This page is made by `cargo xtask gen` from the options themselves (`kantctl man --slurm`).

    kantctl install-slurm-names ~/slurm-names     # links: sacct salloc sbatch scancel ...
    PATH=~/slurm-names:$PATH squeue

By these names kantctl answers with Slurm's options, output and exit codes (1 for every failure),
for scripts and tools made for Slurm 22.05. `cargo test -p e2e --test slurm_clients` runs submitit,
dask-jobqueue, simple-slurm and parsl against real daemons, unchanged.

Each option *works*, is *taken* (it changes nothing here, and why; sbatch says so), or is *refused*
with a word what to do instead. What is not listed is no option of Slurm's that was found in use:
it is refused by name.

Good to know:

- a partition is a queue, and a job waits in one: `-p a,b` is refused; an array of N tasks takes N + 1 numbers: its own and one for each task, in
  the order of its list. SLURM_JOB_ID of a task is that number, and every command takes it for `42_7`;
- `sacct` knows jobs for as long as accounting keeps them (`accounting_kept_days`), with a `.batch`
  line for the script and one for each step (`42.0`; of a job that is over, the last 256). What a
  step used is not measured by itself: those fields are empty;
- `srun` starts the tasks of a step in the job it runs in, in another that runs (`--jobid`), or in one
  of its own; `salloc` holds nodes for a shell here. Steps are numbered from 0. Tasks see all CPUs and
  GPUs of the job on their node unless `--exclusive`, `--exact`, `--gpus` or a bind says otherwise. What
  tasks on other nodes read and write passes through kantd and the controller, which keep little
  of it: a task whose output nobody reads waits, as at a full pipe. Files are the faster way for
  what is large;
- `sbatch` names output files as Slurm does (`slurm-42.out`);
- `-N 1-4` has one task on each node, and starts with as many nodes as have room. A job that runs
  is made smaller with `scontrol update JobId=42 NumNodes=2`, not larger; no script is written for
  it, for `. $KANT_ENV_FILE` in the job tells what it has then, and srun there knows;
- `sinfo` with a format that shows no partition lists each node once; `scancel` of a job that is
  over, ends or is not known succeeds, and `-v` says so. `#DW` and `#BB` lines are named by sbatch,
  for they do nothing; srun says so of a program that is linked with MPI (`--mpi=none`: it is meant);
- `scontrol create reservation`, `update ReservationName=` and `delete` do what `kantctl
  reservations` does; flags and fields without a meaning here are refused by name;
- names hold no character that is not seen or turns others around (U+202E); in other texts such
  characters are shown escaped.
";

/// The page.
#[must_use]
pub fn page() -> String {
    let mut page = HEAD.to_owned();
    for name in Name::ALL {
        let _ = write!(page, "\n## {}\n\n| option | | |\n|---|---|---|\n", name.word());
        for (options, state, why) in rows(name) {
            let _ = writeln!(page, "| {options} | {state} | {why} |");
        }
    }
    let _ = write!(page, "\n## Fields\n\n");
    let letters: String = FIELDS.iter().map(|field| field.letter).filter(|l| *l != ' ').collect();
    let _ = writeln!(page, "`squeue -o`: `{}`\n", sorted(&letters));
    let names = FIELDS.iter().map(|field| field.queue).filter(|name| !name.is_empty());
    let _ = writeln!(page, "`squeue -O`: {}\n", list(names));
    let letters = node_field::FIELDS.iter().map(|field| field.letter);
    let letters: String = letters.filter(|letter| *letter != ' ').collect();
    let _ = writeln!(page, "`sinfo -o`: `{}`\n", sorted(&letters));
    let _ = writeln!(page, "`sinfo -O`: {}\n", list(node_field::FIELDS.iter().map(|f| f.name)));
    let names = FIELDS.iter().map(|field| field.account).filter(|name| !name.is_empty());
    let _ = writeln!(page, "`sacct -o`: {}\n", list(names));
    let _ = writeln!(page, "Always empty in `sacct`: {}", list(ACCOUNT_EMPTY.iter().copied()));
    let _ = write!(page, "\n## Other commands\n\n| command | |\n|---|---|\n");
    for (command, instead) in OTHERS {
        let _ = writeln!(page, "| {command} | {instead} |");
    }
    page
}

fn sorted(letters: &str) -> String {
    let mut letters: Vec<char> = letters.chars().collect();
    letters.sort_unstable();
    letters.into_iter().map(String::from).collect::<Vec<_>>().join(" ")
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// An option, whether it works, and a word about it.
type Row = (String, &'static str, String);

/// Every option of this command: what it takes, what it does not.
#[must_use]
pub fn rows(name: Name) -> Vec<Row> {
    let command = name.command();
    let options = command.get_arguments().filter(|arg| !arg.is_positional());
    let mut rows: Vec<Row> = options.map(|arg| row(name, arg)).collect();
    if matches!(name, Name::Sbatch | Name::Salloc) {
        rows.extend(of_list(UNSUPPORTED));
    }
    rows.extend(of_list(refused::of(name)));
    rows.sort_by_key(|(option, ..)| option.trim_start_matches(['`', '-']).to_ascii_lowercase());
    rows
}

fn row(name: Name, arg: &Arg) -> Row {
    let long = arg.get_long().map(|long| format!("`--{long}`"));
    let short = arg.get_short().map(|short| format!("`-{short}`"));
    let aliases = arg.get_visible_aliases().unwrap_or_default();
    let aliases = aliases.into_iter().map(|alias| format!("`--{alias}`"));
    let options: Vec<String> = long.into_iter().chain(aliases).chain(short).collect();
    let options = options.join(" ");
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let help = help.replace('|', "\\|").replace('\n', " ");
    let passed = IGNORED_OPTIONS.iter().any(|(passed, _)| arg.get_id() == *passed);
    let accepted = arg.get_help_heading().is_some_and(|heading| heading.starts_with("Accepted"));
    let idle = IDLE.iter().any(|(of, id)| *of == name.word() && arg.get_id() == *id);
    let speaks = name == Name::Scancel && arg.get_id() == "verbose";
    let of_all = IDLE.iter().any(|(of, id)| of.is_empty() && arg.get_id() == *id);
    let idle = idle || of_all && !speaks;
    let taken = matches!(name, Name::Sbatch | Name::Salloc) && passed
        || accepted
        || idle
        || arg.is_hide_set();
    (options, if taken { "taken" } else { "works" }, help)
}

fn of_list(list: &'static [(&str, &str)]) -> impl Iterator<Item = Row> {
    list.iter().map(|(option, instead)| (format!("`{option}`"), "refused", (*instead).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_option_is_in_two_rows_and_none_is_both_taken_and_refused() {
        for name in Name::ALL {
            let rows = rows(name);
            let all: Vec<&str> = rows.iter().flat_map(|(options, ..)| options.split(' ')).collect();
            let once: BTreeSet<&str> = all.iter().copied().collect();
            let mut twice = all.clone();
            twice.sort_unstable();
            assert_eq!(once.len(), all.len(), "{}: {twice:?}", name.word());
        }
    }

    #[test]
    fn the_page_tells_the_three_apart() {
        let page = page();
        for row in [
            "| `--array` `-a` | works |",
            "| `--hint` | taken |",
            "| `--licenses` | refused |",
            "| `--cpu-bind` | taken |",
            "| `--clusters` `-M` | taken |",
            "| `--near` | works |",
            "| `--allclusters` `-L` | taken |",
            "| `--sort` `-S` | taken |",
        ] {
            assert!(page.contains(row), "no {row} in {page}");
        }
    }
}
