//! What verbs and Slurm's names print, tables, JSON and refusals, against sessions in `golden/`: a
//! `$ ` and a command for the shell, and below it what it says. UPDATE_GOLDEN writes the answers
//! anew; look at the diff. Never a cluster: `house/lab.rs` answers.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod house;
#[path = "house/lab.rs"]
mod lab;
#[path = "house/lab_cluster.rs"]
mod lab_cluster;

use clap::Command;
use house::{House, finish};
use kantctl::slurm::name::Name;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

const PROMPT: &str = "$ ";
/// Verbs that have no table: they draw, or what they print is made from the options.
const WITHOUT_GOLDEN: &[&str] = &["step-tasks", "completions", "man", "help"];
/// Verbs that print no data, or the words of a program.
const WITHOUT_JSON: &[&str] = &["install-slurm-names", "run", "alloc", "launch"];

/// The kept sessions, by name.
fn sessions() -> Vec<(PathBuf, String)> {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let paths = std::fs::read_dir(kept).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<_> =
        paths.map(|path| (path.clone(), std::fs::read_to_string(path).unwrap())).collect();
    all.sort();
    all
}

fn commands(session: &str) -> impl Iterator<Item = &str> {
    session.lines().filter_map(|line| line.strip_prefix(PROMPT))
}

/// Has the shell run a command, and gives what is kept of it.
async fn told(house: &House, bin: &Path, command: &str) -> String {
    let mut shell = tokio::process::Command::new("sh");
    shell.args(["-c", command]).env_clear().current_dir(house.dir.path());
    for (name, value) in house.command(&[]).as_std().get_envs() {
        shell.env(name, value.unwrap());
    }
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    shell.env("PATH", path).env("TZ", "UTC").stdin(Stdio::null());
    shell.stdout(Stdio::piped()).stderr(Stdio::piped());
    let done = finish(shell.spawn().unwrap()).await;
    let exit = match done.code {
        Some(0) => String::new(),
        other => format!("[exit {}]\n", other.unwrap()),
    };
    let here = house.dir.path().display().to_string();
    let said = format!("{}{}{exit}", done.out, done.err);
    let said = said.replace(env!("CARGO_PKG_VERSION"), "VERSION").replace(&here, "HERE");
    format!("{PROMPT}{command}\n{said}")
}

#[tokio::test]
async fn every_session_goes_as_it_is_kept() {
    let house = lab::lab();
    house.file("train.sh", "#!/bin/sh\n#SBATCH --gpus=2 --time=1:00:00\ntrue\n");
    house.file("typo.sh", "#!/bin/sh\n#SBATCH --gpu=2\ntrue\n");
    let bin = house.dir.path().join("bin");
    house.kantctl(&["install-slurm-names", bin.to_str().unwrap()]).await.good();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_kantctl"), bin.join("kantctl")).unwrap();
    let mut wrong = String::new();
    for (file, kept) in sessions() {
        let mut now = String::new();
        for command in commands(&kept) {
            now.push_str(&told(&house, &bin, command).await);
        }
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&file, &now).unwrap();
        } else if now != kept {
            writeln!(wrong, "{}:\n{now}", file.display()).unwrap();
        }
    }
    assert!(wrong.is_empty(), "what is printed is not what is kept; UPDATE_GOLDEN=1:\n{wrong}");
}

#[test]
fn no_verb_and_no_name_of_slurms_is_without_a_session() {
    let sessions = sessions();
    let all: Vec<&str> = sessions.iter().flat_map(|(_, kept)| commands(kept)).collect();
    let shown = |begin: &str, option: &str| {
        all.iter().any(|command| {
            let rest = command.strip_prefix(begin);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
                && (option.is_empty() || command.split(' ').any(|word| word == option))
        })
    };
    let mut missing = Vec::new();
    let mut look = |begin: String, json: bool| {
        if !shown(&begin, "") {
            missing.push(begin.clone());
        }
        if json && !shown(&begin, "--json") {
            missing.push(format!("{begin} --json"));
        }
    };
    for verb in kantctl::command().get_subcommands().map(Command::get_name) {
        if !WITHOUT_GOLDEN.contains(&verb) {
            look(format!("kantctl {verb}"), !WITHOUT_JSON.contains(&verb));
        }
    }
    for name in Name::ALL {
        let has_json =
            |command: &Command| command.get_arguments().any(|arg| arg.get_id() == "json");
        look(name.word().to_owned(), has_json(&name.command()));
    }
    assert!(missing.is_empty(), "no session in tests/golden shows {missing:?}");
}
