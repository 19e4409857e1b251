//! Scenarios: a cluster's history as text, with each line of input followed by its output.
//!
//! ```text
//! # Two jobs on one node.
//! node g1 cpus=8 gpus=4:h100
//! submit a gpus=3 run=5m
//! | 00:00 job 1: submitted
//! | 00:00 job 1: attempt 1 started on g1
//! ```
//!
//! Lines that begin with `|` are output: they are skipped when a scenario is read, and written
//! again when it is played. So a file is its own golden copy, and a change of behaviour is a
//! readable diff.
//!
//! | line | meaning |
//! |---|---|
//! | `cluster lost-after=60s grace=30s kept=1h` | settings; before everything else |
//! | `queue NAME [default] [priority=N] [nodes=g[1-2]] [max=1h] [limit=10m] [mem-per-cpu=1G]` | |
//! | ` ... [parent=] [order=] [behind=] [depth=] [head-timeout=] [placement=] [share-gpus]` | |
//! | ` ... [candidates=] [run-times=expected]` | backfill |
//! | ` ... [quota=[KIND:]N] [quota-mode=isolated] [at-most=[KIND:]N] [user-gpus=] [user-jobs=]` | |
//! | ` ... [by-priority] [no-reclaim] [preemptible] [victims=cancel] [min-run=]` | preemption |
//! | `qos NAME [priority=] [preemptible] [user-jobs=] [gpus=]`, `account NAME [shares=]` | |
//! | `leaf NAME g[1-2] [spine=]`, `factors age= size= queue= qos= fair-share=` | |
//! | `node g[1-4] cpus=8 [mem=64G] [gpus=4[:kind]] [threads=2]` | machines, connected at once |
//! | `submit LABEL [nodes=] [tasks=[2-]8] [cpus=] [gpus=] [gpus-per-node=] [mem=]` | a job |
//! | ` ... [time=] [tasks-per-node=]` | |
//! | ` ... [array=] [only=g1] [not=g1] [queue=] [user=] [nice=] [hold] [begin=]` | |
//! | ` ... [launch=per-node] [exclusive] [no-requeue] [qos=] [account=] [deadline=] [near=]` | |
//! | ` ... : [nodes=] ...` | another component of a set |
//! | ` ... [reservation=] [preemptible] [dependency=] [run=5m] [exit=1] [oom] [fails-on=]` | |
//! | `cancel`, `hold`, `release`, `requeue`, `update`, `resize` `LABEL[_INDEX] [as=USER]` | |
//! | `checkpoint LABEL[_INDEX] [as=USER]` | notes a checkpoint |
//! | `drain NODE REASON`, `resume NODE` | |
//! | `reserve NAME nodes=g1 from=1h to=2h [maintenance]`, `unreserve NAME` | reservations |
//! | `cut NODE`, `return NODE`, `reboot NODE` | the network, the power |
//! | `service NAME [min=] [max=] [hours=08:00-20:00[,DAYS][,min=][,max=]]` | deploys a service |
//! | ` ... [target=] [down-delay=] [ready=20s] [broken] [crash=5s] [drain=5s]`, and as `submit` | |
//! | ` ... [parallel=] [surge=] [canary=] [healthy=] [healthy-within=] [progress-within=]` | |
//! | ` ... [no-revert]` | |
//! | ` ... [spread=leaf] [per-node-max=N] [gang]` | |
//! | `deploy NAME [WORDS]` | another revision: as on the line `service`, but for these words |
//! | `scale NAME N`, `promote NAME`, `rollback NAME`, `stop NAME` | |
//! | `load NAME N` | requests in flight from now on |
//! | `at 5m`, `wait 30s`, `finish` | time, which begins on a Thursday at 00:00 |
//! | `queue`, `nodes`, `services`, `share` | users' views |
//! | `show LABEL`, `explain LABEL`, `solve LABEL` | |
//!
//! Scenarios are text in, text out; the caller reads and writes the files.

mod ask;
mod booking;
mod config;
mod policy;
mod print;
mod service;
mod submit;
mod words;

use crate::cluster::{Cluster, SimError};
use common::hostlist;
use common::id::{JobId, JobKey, NodeName, ServiceName, Uid};
use common::time::{Span, Time};
use config::Config;
use state::{Actor, Command, Target};
use std::collections::BTreeMap;
use words::Words;

/// The end of every scenario at the latest, for `finish` with a job that never ends.
const END: Span = Span::from_minutes(60 * 24 * 30);

/// A scenario that cannot be played.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScenarioError {
    /// An invalid line.
    #[error("line {line}: {message}")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// What is wrong with it.
        message: String,
    },
    /// A line after which a judge found a fault.
    #[error("line {line}: {source}")]
    Fault {
        /// Its number, from 1.
        line: usize,
        #[source]
        source: SimError,
    },
}

/// Why a line failed.
enum Failed {
    Words(String),
    Sim(SimError),
}

impl From<String> for Failed {
    fn from(message: String) -> Self {
        Self::Words(message)
    }
}

impl From<SimError> for Failed {
    fn from(error: SimError) -> Self {
        Self::Sim(error)
    }
}

/// Plays a scenario. Returns the scenario with the output after every line.
///
/// # Errors
/// A line is invalid, or a judge found a fault.
pub fn play(text: &str) -> Result<String, ScenarioError> {
    let mut stage = Stage::default();
    let mut played = String::new();
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.starts_with('|')) {
        played.push_str(line.trim_end());
        played.push('\n');
        let output = stage.line(line).map_err(|failed| match failed {
            Failed::Words(message) => ScenarioError::Line { line: number, message },
            Failed::Sim(source) => ScenarioError::Fault { line: number, source },
        })?;
        for line in output {
            played.push_str(format!("| {line}").trim_end());
            played.push('\n');
        }
    }
    Ok(played)
}

/// The state of a scenario in progress.
#[derive(Default)]
struct Stage {
    config: Config,
    cluster: Option<Cluster>,
    labels: BTreeMap<String, JobId>,
    /// The words of the `service` line of each service.
    services: BTreeMap<ServiceName, Words>,
    /// The number of deployments so far.
    deployments: u32,
}

impl Stage {
    /// Plays one line and returns its output.
    fn line(&mut self, line: &str) -> Result<Vec<String>, Failed> {
        let mut words = Words::new(line);
        let Some(verb) = words.verb() else { return Ok(Vec::new()) };
        match verb.as_str() {
            "cluster" | "queue" | "qos" | "account" | "leaf" | "factors"
                if self.cluster.is_none() =>
            {
                self.config.read(&verb, &mut words)?;
                words.check_empty()?;
                Ok(Vec::new())
            }
            "queue" | "nodes" | "services" | "share" | "show" | "explain" | "solve" => {
                self.run_view(&verb, &mut words)
            }
            _ => {
                let refused = self.act(&verb, &mut words)?;
                let mut output: Vec<String> =
                    self.cluster()?.take_happenings().iter().filter_map(print::line).collect();
                output.extend(refused);
                Ok(output)
            }
        }
    }

    fn cluster(&mut self) -> Result<&mut Cluster, Failed> {
        if self.cluster.is_none() {
            let mut cluster = Cluster::new(self.config.settings(), self.config.lost_after)?;
            cluster.take_happenings();
            self.cluster = Some(cluster);
        }
        self.cluster.as_mut().ok_or_else(|| Failed::Words("no cluster".to_owned()))
    }

    fn run_view(&mut self, verb: &str, words: &mut Words) -> Result<Vec<String>, Failed> {
        if let Some(list) = print::list_printer(verb) {
            words.check_empty()?;
            return Ok(list(self.cluster()?));
        }
        let key = self.key(words)?;
        let key = self.cluster()?.state().resolve_key(key);
        let trials = words.value::<u64>("trials")?.unwrap_or(print::TRIALS);
        words.check_empty()?;
        let cluster = self.cluster()?;
        Ok(match verb {
            "show" => print::show(cluster, key),
            "solve" => print::solve(cluster, key, trials),
            _ => print::explain(cluster, key),
        })
    }

    /// Carries out an action. Returns its output other than events.
    fn act(&mut self, verb: &str, words: &mut Words) -> Result<Option<String>, Failed> {
        match verb {
            "node" => self.add_nodes(words)?,
            "submit" => return self.submit(words),
            verb if ask::CHANGES.contains(&verb) => self.change(verb, words)?,
            verb if service::VERBS.contains(&verb) => return self.run_service_line(verb, words),
            "drain" | "resume" => self.mark_node(verb, words)?,
            "reserve" | "unreserve" => {
                let command = booking::command(verb, words)?;
                self.cluster()?.command(command)?;
            }
            "cut" | "return" | "reboot" => {
                let name = words.node()?;
                words.check_empty()?;
                let cluster = self.cluster()?;
                match verb {
                    "cut" => cluster.cut_off(&name)?,
                    "return" => cluster.connect(&name)?,
                    _ => cluster.reboot(&name)?,
                }
            }
            "at" | "wait" | "finish" => self.pass_time(verb, words)?,
            _ => return Err(format!("`{verb}` is nothing a scenario can do").into()),
        }
        Ok(None)
    }

    fn pass_time(&mut self, verb: &str, words: &mut Words) -> Result<(), Failed> {
        let span = if verb == "finish" { END } else { words.take_plain("a time")? };
        words.check_empty()?;
        let cluster = self.cluster()?;
        match verb {
            "at" if Time(span.0) < cluster.now() => {
                Err(format!("it is {} already", Span(cluster.now().0)).into())
            }
            "at" => Ok(cluster.advance_to(Time(span.0))?),
            "wait" => Ok(cluster.advance_to(cluster.now() + span)?),
            _ => Ok(cluster.advance_until_idle(cluster.now() + span)?),
        }
    }

    fn add_nodes(&mut self, words: &mut Words) -> Result<(), Failed> {
        let names: String = words.take_plain("a node name")?;
        let names = hostlist::expand(&names).map_err(|error| error.to_string())?;
        let machine = config::machine(words)?;
        words.check_empty()?;
        for name in names {
            self.cluster()?.add_machine(machine(name))?;
        }
        Ok(())
    }

    fn change(&mut self, verb: &str, words: &mut Words) -> Result<(), Failed> {
        let target = Target { key: self.key(words)? };
        let actor = match words.value::<String>("as")? {
            None => Actor::operator(Uid(0)),
            Some(user) => Actor::user(config::owner(&user).uid),
        };
        let command = ask::change(verb, words, actor, target)?;
        words.check_empty()?;
        self.cluster()?.command(command)?;
        Ok(())
    }

    fn mark_node(&mut self, verb: &str, words: &mut Words) -> Result<(), Failed> {
        let name: NodeName = words.node()?;
        let actor = Actor::operator(Uid(0));
        let command = if verb == "drain" {
            Command::DrainNode { actor, name, reason: words.rest() }
        } else {
            words.check_empty()?;
            Command::ResumeNode { actor, name }
        };
        self.cluster()?.command(command)?;
        Ok(())
    }

    /// A job by its label: `a`, `a_3` for a task of an array, or `a+1` for a component. Replicas
    /// have none, so a number is a job's id.
    fn key(&self, words: &mut Words) -> Result<JobKey, Failed> {
        let text: String = words.take_plain("a label")?;
        if text.parse::<u32>().is_ok() {
            return text.parse().map_err(|error| format!("{text}: {error}").into());
        }
        let (label, index) = match text.find(['_', '+']) {
            Some(place) => (&text[..place], Some(&text[place..])),
            None => (text.as_str(), None),
        };
        let unknown = || format!("no job was submitted as `{text}`");
        let job = *self.labels.get(label).ok_or_else(unknown)?;
        let key = index.map_or_else(|| job.to_string(), |index| format!("{job}{index}"));
        key.parse().map_err(|_| Failed::Words(unknown()))
    }
}
