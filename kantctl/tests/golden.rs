//! The output of verbs and Slurm's commands, compared with the sessions in `golden/`: after `$ ` a
//! shell command, below it its output. UPDATE_GOLDEN=1 rewrites the sessions; check the diff.
//! `support/sample_answers.rs` answers.

use crate::support::sample_answers;
use crate::support::{TestController, finish};
use clap::Command;
use slurm::command::SlurmCommand;
use slurm::dispatch::clap_command;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

const PROMPT: &str = "$ ";
/// Verbs without a session: internal ones, and those whose output is generated from the options.
const WITHOUT_GOLDEN: &[&str] = &["step-tasks", "completions", "man", "help"];
/// Verbs that print no data, or the output of a program.
const WITHOUT_JSON: &[&str] = &["install-slurm-names", "run", "alloc", "launch"];

/// The sessions, by file name.
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

/// Runs a shell command and returns its session text.
async fn session_text(controller: &TestController, bin: &Path, command: &str) -> String {
    let mut shell = tokio::process::Command::new("sh");
    shell.args(["-c", command]).env_clear().current_dir(controller.dir.path());
    for (name, value) in controller.command(&[]).as_std().get_envs() {
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
    let here = controller.dir.path().display().to_string();
    let said = format!("{}{}{exit}", done.out, done.err);
    let said = said.replace(env!("CARGO_PKG_VERSION"), "VERSION").replace(&here, "HERE");
    format!("{PROMPT}{command}\n{said}")
}

#[tokio::test]
async fn every_session_matches_its_golden_file() {
    let controller = sample_answers::controller();
    controller.file("train.sh", "#!/bin/sh\n#SBATCH --gpus=2 --time=1:00:00\ntrue\n");
    controller.file("typo.sh", "#!/bin/sh\n#SBATCH --gpu=2\ntrue\n");
    let bin = controller.dir.path().join("bin");
    controller.kantctl(&["install-slurm-names", bin.to_str().unwrap()]).await.good();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_kantctl"), bin.join("kantctl")).unwrap();
    let mut wrong = String::new();
    for (file, kept) in sessions() {
        let mut now = String::new();
        for command in commands(&kept) {
            now.push_str(&session_text(&controller, &bin, command).await);
        }
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&file, &now).unwrap();
        } else if now != kept {
            writeln!(wrong, "{}:\n{now}", file.display()).unwrap();
        }
    }
    assert!(wrong.is_empty(), "sessions differ; UPDATE_GOLDEN=1 rewrites them:\n{wrong}");
}

#[test]
fn every_verb_and_slurm_command_has_a_session() {
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
    for verb in cli::command().get_subcommands().map(Command::get_name) {
        if !WITHOUT_GOLDEN.contains(&verb) {
            look(format!("kantctl {verb}"), !WITHOUT_JSON.contains(&verb));
        }
    }
    for slurm_command in SlurmCommand::ALL {
        let has_json =
            |command: &Command| command.get_arguments().any(|arg| arg.get_id() == "json");
        look(slurm_command.name().to_owned(), has_json(&clap_command(slurm_command)));
    }
    assert!(missing.is_empty(), "no session in tests/golden shows {missing:?}");
}
