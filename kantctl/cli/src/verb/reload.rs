//! `kantctl reload`: makes the controller read its configuration again.

use crate::failure::{Failure, OK};
use crate::output::Screen;
use crate::output::screen::note;
use crate::server::{Retry, Server};
use anyhow::Context;
use common::wire::api::ReloadAnswer;
use serde_json::Value;

const EXAMPLES: &str = "\
The controller reads its own kantctld.toml. An invalid file changes nothing, and is refused with the
line of the error. Queues, quotas, QoS, accounts, priority, topology and roles change at once; keys that
need a restart are reported.

Examples:
  kantctl reload
  kantctl reload --json

To check the file beforehand, run `kantctld check-config` on the controller's host.";

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {}

/// Makes the controller read its configuration again.
///
/// # Errors
/// [`Failure`] when the configuration is refused, or the controller does not answer.
pub async fn run(_: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let raw: Value = server.post("/v1/reload", &Value::Null, Retry::IfUnanswered).await?;
    if screen.json {
        screen.print_answer_json(&raw)?;
        return Ok(OK);
    }
    let answer: ReloadAnswer =
        serde_json::from_value(raw).context("failed to read the controller's answer")?;
    for line in lines(&answer) {
        screen.print_line(&line)?;
    }
    for key in &answer.restart {
        note(&format!("`{key}` has changed: restart kantctld to apply it"));
    }
    for warning in &answer.warnings {
        note(&format!("warning: {warning}"));
    }
    Ok(OK)
}

fn lines(answer: &ReloadAnswer) -> Vec<String> {
    let of = answer.of.as_ref().map(|of| format!(" of {of}")).unwrap_or_default();
    let read = format!("Read {}{of}", answer.file);
    if answer.changed.is_empty() {
        return vec![format!("{read}: nothing changed")];
    }
    let head = format!("{read}, and changed");
    std::iter::once(head).chain(answer.changed.iter().map(|line| format!("  {line}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_listed_one_per_line() {
        let mut answer = ReloadAnswer {
            file: "/etc/kant/kantctld.toml".to_owned(),
            of: None,
            changed: vec!["queue.a.priority: 0 -> 5".to_owned()],
            restart: Vec::new(),
            warnings: Vec::new(),
        };
        let changed = ["Read /etc/kant/kantctld.toml, and changed", "  queue.a.priority: 0 -> 5"];
        assert_eq!(lines(&answer), changed);
        answer.changed.clear();
        assert_eq!(lines(&answer), ["Read /etc/kant/kantctld.toml: nothing changed"]);
        answer.of = Some("controller 1 (a), which leads".to_owned());
        let expected =
            "Read /etc/kant/kantctld.toml of controller 1 (a), which leads: nothing changed";
        assert_eq!(lines(&answer), [expected]);
    }
}
