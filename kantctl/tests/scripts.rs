//! Submission with `sbatch` of scripts in the style of those that large sites publish
//! (`tests/slurm-scripts`, written for this test), against one file with the request of each script
//! or the reason for its refusal. `UPDATE_GOLDEN=1` rewrites the file.

use crate::support::{TestController, finish, json};
use serde_json::{Value, json as value};
use std::path::PathBuf;

fn scripts() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/slurm-scripts")
}

/// The request, without default values and values that depend on this machine.
fn request_text(ask: &Value) -> String {
    let of_shell = ["umask", "rlimits", "submit_host", "work_dir", "command"];
    let skipped = [&of_shell[..], &["args", "open_mode", "launch"]].concat();
    let plain = |value: &Value| match value {
        Value::Null | Value::Bool(false) => true,
        Value::Array(list) => list.is_empty(),
        other => *other == value!(0),
    };
    let mut lines = Vec::new();
    for (name, value) in ask.as_object().unwrap() {
        // A time relative to now differs between test runs.
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
async fn scripts_of_large_sites_are_submitted_or_refused_as_expected() {
    let controller = TestController::answering(|_, _| json(value!({ "job": 42, "tasks": 0 })));
    let bin = controller.dir.path().join("bin");
    controller.kantctl(&["install-slurm-names", bin.to_str().unwrap()]).await.good();
    let mut names: Vec<PathBuf> =
        std::fs::read_dir(scripts()).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.retain(|path| path.extension().is_some_and(|extension| extension == "sh"));
    names.sort();
    assert!(names.len() >= 60, "{}", names.len());
    let mut text = String::new();
    for path in &names {
        let mut command = tokio::process::Command::new(bin.join("sbatch"));
        command.arg(path).current_dir(controller.dir.path()).env_clear();
        command.env("KANT_SOCKET", controller.socket()).env("HOME", "/home/ada").env("TZ", "UTC");
        command.stdin(std::process::Stdio::null());
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        let before = controller.requests().len();
        let done = finish(command.spawn().unwrap()).await;
        let file = path.file_stem().unwrap().to_str().unwrap();
        let place = format!("{}/", scripts().display());
        let said = done.err.replace(&place, "");
        text += &format!("{file}\n");
        match (done.code, controller.requests().get(before)) {
            (Some(0), Some(asked_for)) => match asked_for.body["asks"].as_array() {
                None => text += &format!("{}\n", request_text(&asked_for.body["ask"])),
                Some(components) => components.iter().for_each(|component| {
                    text += &format!("  component\n{}\n", request_text(component));
                }),
            },
            _ => text += "  refused\n",
        }
        said.lines().for_each(|line| text += &format!("  | {line}\n"));
        text += "\n";
    }
    let golden = scripts().join("expected.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&golden, &text).unwrap();
    }
    let expected = std::fs::read_to_string(&golden).unwrap_or_default();
    assert!(text == expected, "use UPDATE_GOLDEN=1 and git diff to see the differences:\n{text}");
}
