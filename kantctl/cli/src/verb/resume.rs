//! `kantctl resume`: resumes suspended jobs, or drained nodes.

use super::bulk_action::{self, Action, NODES};
use crate::failure::Failure;
use crate::fetch;
use crate::keys::Keys;
use crate::output::Screen;
use crate::output::screen::note;
use crate::server::{Retry, Server};
use common::health::Response;
use common::id::NodeName;
use common::job::attributes::Hosts;
use common::wire::api::NodeList;
use serde_json::Value;
use std::str::FromStr;

const EXAMPLES: &str = "\
Examples:
  kantctl resume g-001
  kantctl resume g-[001-004]
  kantctl resume 42
  kantctl resume --nodes 42

An argument that could be a job number is a job; with --nodes, all arguments are nodes.";

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Suspended jobs (42, 42_[0-3]) or drained nodes (g-001, g-[001-004])
    #[arg(required = true, value_name = "JOB|NODE")]
    pub words: Vec<String>,
    /// All arguments are nodes, even those that look like jobs
    #[arg(long)]
    pub nodes: bool,
}

/// The parsed arguments.
enum Targets {
    Jobs(Vec<Keys>),
    Nodes(Vec<Hosts>),
}

impl Args {
    fn targets(&self) -> Result<Targets, Failure> {
        let jobs: Vec<Keys> = match self.nodes {
            true => Vec::new(),
            false => self.words.iter().filter_map(|word| word.parse().ok()).collect(),
        };
        if jobs.len() == self.words.len() {
            return Ok(Targets::Jobs(jobs));
        }
        if !jobs.is_empty() {
            let both = Failure::usage(anyhow::anyhow!("both jobs and nodes are given"));
            return Err(both.with_hint("give only jobs, or only nodes (with --nodes)"));
        }
        let hosts = |word: &String| {
            Hosts::from_str(word)
                .map_err(|error| Failure::usage(anyhow::anyhow!("`{word}`: {error}")))
        };
        self.words.iter().map(hosts).collect::<Result<_, _>>().map(Targets::Nodes)
    }
}

/// Resumes jobs or nodes.
///
/// # Errors
/// [`Failure`] when the arguments are neither, or the controller cannot be reached.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let retry = Retry::IfUnanswered;
    let nodes = match args.targets()? {
        Targets::Jobs(jobs) => {
            return bulk_action::act_on_jobs(&jobs, "resume", retry, "Resumed", server, screen)
                .await;
        }
        Targets::Nodes(nodes) => nodes,
    };
    let nodes: Vec<&NodeName> = nodes.iter().flat_map(|hosts| &hosts.0).collect();
    let path = |name: &str| format!("/v1/nodes/{name}/resume");
    let action = Action { body: &Value::Null, retry, done: "Resumed", changed: NODES };
    let code = bulk_action::act_on_each(&nodes, path, action, server, screen).await?;
    for name in &nodes {
        report_findings(name, server).await;
    }
    Ok(code)
}

/// Prints the problems that a resumed node still finds: jobs start there nevertheless, even on a
/// GPU that is lost.
async fn report_findings(name: &NodeName, server: &Server) {
    // The node is resumed; a failure to get its findings changes nothing.
    let Ok(answer) = fetch::get::<NodeList>(server, &format!("/v1/nodes/{name}")).await else {
        return;
    };
    for node in answer.typed.nodes.iter().filter(|node| node.drain.is_none()) {
        for finding in node.findings.iter().filter(|found| found.response > Response::Warn) {
            let (check, says) = (finding.check.word(), &finding.says);
            note(&format!("{name} has a problem: {check}: {says}; jobs start there nevertheless"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(words: &[&str], nodes: bool) -> String {
        let words = words.iter().map(ToString::to_string).collect();
        match (Args { words, nodes }).targets() {
            Ok(Targets::Jobs(jobs)) => format!("{} jobs", crate::keys::flatten(&jobs).len()),
            Ok(Targets::Nodes(hosts)) => {
                format!("{} nodes", hosts.iter().flat_map(|h| &h.0).count())
            }
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn numbers_are_jobs_and_other_words_are_nodes() {
        assert_eq!(targets(&["42", "43_[0-2]"], false), "4 jobs");
        assert_eq!(targets(&["g-[001-004]", "login"], false), "5 nodes");
        assert_eq!(targets(&["42"], true), "1 nodes");
        assert!(targets(&["42", "g-001"], false).contains("both jobs and nodes"));
        assert!(targets(&["g-["], false).contains("g-["));
    }
}
