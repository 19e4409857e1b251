//! `kantctl show`: everything about a job, a node or a queue.

use crate::failure::{Failure, OK};
use crate::fetch::{self, Answer};
use crate::keys::{self, Keys, KeysError};
use crate::output::screen::note;
use crate::output::{Screen, jobs, nodes, queues};
use crate::server::{PATIENCE, Server};
use clap::Subcommand;
use common::id::{JobKey, QueueName};
use common::job::attributes::Hosts;
use common::wire::api::{JobList, JobView, NodeList, QueueList};
use serde_json::Value;
use std::collections::VecDeque;

const EXAMPLES: &str = "\
Examples:
  kantctl show 42
  kantctl show job 42_7 --json
  kantctl show node g-001
  kantctl show queue main";

const JOB_EXAMPLES: &str = "\
Examples:
  kantctl show job $(kantctl submit --parsable --wrap hostname)
  kantctl show job 42_7";

const NODE_EXAMPLES: &str = "\
Examples:
  kantctl show node $(hostname -s)
  kantctl show node g-[001-004]";

const QUEUE_EXAMPLES: &str = "\
Examples:
  kantctl show queue main
  kantctl show queue main debug --json";

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
#[command(subcommand_negates_reqs = true)]
#[command(override_usage = "kantctl show JOB...\n       kantctl show node NODE...\n       \
                            kantctl show queue QUEUE...")]
pub struct Args {
    #[command(subcommand)]
    pub what: Option<What>,
    /// Jobs: 42, 42_7, 42_[0-3]
    #[arg(required = true, value_name = "JOB", value_parser = read_keys)]
    pub keys: Vec<Keys>,
}

/// Jobs, given without the word `job` before them.
fn read_keys(text: &str) -> Result<Keys, String> {
    let instead = "`kantctl show node NAME` shows a node";
    text.parse().map_err(|error: KeysError| format!("{error}; {instead}"))
}

#[derive(Subcommand, Debug)]
pub enum What {
    /// Show jobs, with their history
    #[command(after_help = JOB_EXAMPLES)]
    Job {
        /// Jobs: 42, 42_7, 42_[0-3]
        #[arg(required = true, value_name = "JOB")]
        keys: Vec<Keys>,
    },
    /// Show nodes
    #[command(after_help = NODE_EXAMPLES)]
    Node {
        /// Nodes: g-001, g-[001-004]
        #[arg(required = true, value_name = "NODE")]
        names: Vec<Hosts>,
    },
    /// Show queues
    #[command(after_help = QUEUE_EXAMPLES)]
    Queue {
        /// Queues: main, debug
        #[arg(required = true, value_name = "QUEUE")]
        names: Vec<QueueName>,
    },
}

/// Shows jobs, nodes or queues.
///
/// # Errors
/// [`Failure`] when the controller does not answer, or does not know one of them.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    match &args.what {
        None => show_jobs(&args.keys, server, screen).await,
        Some(What::Job { keys }) => show_jobs(keys, server, screen).await,
        Some(What::Node { names }) => show_nodes(names, server, screen).await,
        Some(What::Queue { names }) => show_queues(names, server, screen).await,
    }
}

async fn show_queues(names: &[QueueName], server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let mut answer: Answer<QueueList> = fetch::get(server, "/v1/queues").await?;
    let QueueList { queues, held } = &answer.typed;
    if let Some(name) = names.iter().find(|name| !queues.iter().any(|q| q.name == **name)) {
        let unknown = Failure::from_message(format!("there is no queue {name}"));
        return Err(unknown.with_hint("`kantctl queues` lists them"));
    }
    if screen.json {
        if let Some(all) = answer.raw.get_mut("queues").and_then(Value::as_array_mut) {
            let named = |queue: &Value| names.iter().any(|name| queue["name"] == name.as_str());
            all.retain(named);
        }
        screen.print_answer_json(&answer.raw)?;
        return Ok(OK);
    }
    for (place, name) in names.iter().enumerate() {
        let Some(queue) = queues.iter().find(|queue| queue.name == *name) else { continue };
        if place > 0 {
            screen.print_line("")?;
        }
        let held = held.get(name).cloned().unwrap_or_default();
        screen.print_record(&queues::record(queue, &held))?;
    }
    Ok(OK)
}

async fn show_jobs(words: &[Keys], server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let mut raw = Vec::new();
    let mut keys: VecDeque<JobKey> = keys::flatten(words).into();
    let mut place = 0;
    while let Some(key) = keys.pop_front() {
        let answer = fetch::jobs(server, key, PATIENCE).await?;
        // A het job is shown component by component.
        let all = answer.typed.jobs.iter().filter(|_| key.component_offset().is_none());
        let behind: Vec<JobKey> = all.flat_map(JobView::other_components).collect();
        behind.into_iter().rev().for_each(|key| keys.push_front(key));
        if screen.json {
            raw.push(answer.raw);
            continue;
        }
        if place > 0 {
            screen.print_line("")?;
        }
        place += 1;
        let JobList { jobs, as_of, .. } = answer.typed;
        match jobs.as_slice() {
            [job] => screen.print_record(&jobs::record(job, as_of, &screen.zone))?,
            tasks => {
                screen.print_table(&jobs::table(tasks, as_of, &screen.zone))?;
                if let Some(task) = tasks.first() {
                    note(&format!(
                        "`kantctl show job {}` shows everything about one task",
                        task.key
                    ));
                }
            }
        }
    }
    if screen.json {
        screen.print_answer_json(&fetch::join_lists(raw, "jobs"))?;
    }
    Ok(OK)
}

async fn show_nodes(words: &[Hosts], server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let mut raw = Vec::new();
    for (place, name) in words.iter().flat_map(|word| &word.0).enumerate() {
        let answer: Answer<NodeList> = fetch::get(server, &format!("/v1/nodes/{name}")).await?;
        if screen.json {
            raw.push(answer.raw);
            continue;
        }
        if place > 0 {
            screen.print_line("")?;
        }
        for node in &answer.typed.nodes {
            screen.print_record(&nodes::record(node, &screen.zone))?;
        }
    }
    if screen.json {
        screen.print_answer_json(&fetch::join_lists(raw, "nodes"))?;
    }
    Ok(OK)
}
