//! Scripts in the style of those that big sites publish (`tests/slurm-scripts`, written for this
//! test), given to `sbatch`: what each asks of the controller, or why it is refused, in one file.
//! `UPDATE_GOLDEN=1` writes it anew. Never a script that runs.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod house;

use house::{House, finish, json};
use serde_json::{Value, json as value};
use std::path::PathBuf;

fn scripts() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/slurm-scripts")
}

/// What is asked, without what every job has or what depends on this machine.
fn asked(ask: &Value) -> String {
    let of_shell = ["umask", "rlimits", "submit_host", "work_dir", "command"];
    let skipped = [&of_shell[..], &["args", "open_mode", "launch"]].concat();
    let plain = |value: &Value| match value {
        Value::Null | Value::Bool(false) => true,
        Value::Array(list) => list.is_empty(),
        other => *other == value!(0),
    };
    let mut lines = Vec::new();
    for (name, value) in ask.as_object().unwrap() {
        // A moment counted from now differs from run to run.
        let value =
            if name == "begin_at" && !value.is_null() { value!("later") } else { value.clone() };
        match value.as_object() {
            Some(inner) if name == "request" => {
                let inner = inner.iter().filter(|(_, value)| !plain(value));
                lines.extend(inner.map(|(name, value)| format!("  {name} {value}")));
            }
            _ if plain(&value) || skipped.contains(&name.as_str()) => {}
            _ => lines.push(format!("  {name} {value}")),
        }
    }
    lines.join("\n")
}

#[tokio::test]
async fn scripts_of_big_sites_ask_for_what_they_mean_or_are_refused_in_words() {
    let house = House::answering(|_, _| json(value!({ "job": 42, "tasks": 0 })));
    let bin = house.dir.path().join("bin");
    house.kantctl(&["install-slurm-names", bin.to_str().unwrap()]).await.good();
    let mut names: Vec<PathBuf> =
        std::fs::read_dir(scripts()).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.retain(|path| path.extension().is_some_and(|extension| extension == "sh"));
    names.sort();
    assert!(names.len() >= 60, "{}", names.len());
    let mut told = String::new();
    for path in &names {
        let mut command = tokio::process::Command::new(bin.join("sbatch"));
        command.arg(path).current_dir(house.dir.path()).env_clear();
        command.env("KANT_SOCKET", house.socket()).env("HOME", "/home/ada").env("TZ", "UTC");
        command.stdin(std::process::Stdio::null());
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        let before = house.asked().len();
        let done = finish(command.spawn().unwrap()).await;
        let file = path.file_stem().unwrap().to_str().unwrap();
        let place = format!("{}/", scripts().display());
        let said = done.err.replace(&place, "");
        told += &format!("{file}\n");
        match (done.code, house.asked().get(before)) {
            (Some(0), Some(asked_for)) => match asked_for.body["asks"].as_array() {
                None => told += &format!("{}\n", asked(&asked_for.body["ask"])),
                Some(components) => components.iter().for_each(|component| {
                    told += &format!("  component\n{}\n", asked(component));
                }),
            },
            _ => told += "  refused\n",
        }
        said.lines().for_each(|line| told += &format!("  | {line}\n"));
        told += "\n";
    }
    let golden = scripts().join("expected.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&golden, &told).unwrap();
    }
    let expected = std::fs::read_to_string(&golden).unwrap_or_default();
    assert!(told == expected, "UPDATE_GOLDEN=1 shows what differs, in git:\n{told}");
}
