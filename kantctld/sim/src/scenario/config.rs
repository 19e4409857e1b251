//! The lines that set a scenario up: `cluster` and `node`, and the users. `policy` has what users
//! may do.

use super::policy::{self, MEMORY_PER_CPU};
use super::words::Words;
use crate::hardware::Hardware;
use crate::machine::Machine;
use common::gpu::GpuKind;
use common::id::{Gid, NodeName, Uid};
use common::job::Owner;
use common::policy::account::Account;
use common::policy::qos::Qos;
use common::policy::queue::Queue;
use common::policy::{Factors, Moves, YieldsFirst};
use common::time::Span;
use common::topology::Topology;
use common::unit::{Bytes, Cpus};
use state::Settings;

/// The settings of a scenario.
pub(super) struct Config {
    pub(super) lost_after: Span,
    grace: Span,
    kept: Span,
    queues: Vec<Queue>,
    qos: Vec<Qos>,
    accounts: Vec<Account>,
    fair_sharing: bool,
    factors: Factors,
    moves: Moves,
    topology: Topology,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            lost_after: Span::from_minutes(5),
            grace: Span::from_seconds(30),
            kept: Span::from_minutes(24 * 60),
            queues: Vec::new(),
            qos: Vec::new(),
            accounts: Vec::new(),
            fair_sharing: false,
            factors: Factors::default(),
            moves: Moves::default(),
            topology: Topology::default(),
        }
    }
}

impl Config {
    pub(super) fn read(&mut self, verb: &str, words: &mut Words) -> Result<(), String> {
        match verb {
            "queue" => self.queues.push(policy::queue(words)?),
            "qos" => self.qos.push(policy::qos(words)?),
            "account" => self.accounts.push(policy::account(words)?),
            "leaf" => policy::leaf(words, &mut self.topology)?,
            "factors" => policy::factors(words, &mut self.factors)?,
            _ => {
                self.lost_after = words.value("lost-after")?.unwrap_or(self.lost_after);
                self.grace = words.value("grace")?.unwrap_or(self.grace);
                self.fair_sharing |= words.flag("fair-sharing");
                let per_hour = words.value("moves-per-hour")?;
                self.moves.per_hour = per_hour.unwrap_or(self.moves.per_hour);
                self.kept = words.value("kept")?.unwrap_or(self.kept);
            }
        }
        Ok(())
    }

    /// With a queue named `default` if the scenario names none.
    pub(super) fn settings(&self) -> Settings {
        let mut queues = self.queues.clone();
        if queues.is_empty() {
            queues.extend(policy::queue(&mut Words::new("default default")));
        }
        Settings {
            cluster: "sim".to_owned(),
            queues,
            allow_root_jobs: false,
            kill_grace: self.grace,
            done_jobs_kept: self.kept,
            user_bounds: state::UserBounds::NONE,
            qos: self.qos.clone(),
            accounts: self.accounts.clone(),
            fair_sharing: self.fair_sharing,
            yields_first: YieldsFirst::default(),
            factors: self.factors,
            moves: self.moves,
            topology: self.topology.clone(),
        }
    }
}

/// A user by name. The same name always has the same number.
pub(super) fn owner(name: &str) -> Owner {
    let sum = name.bytes().fold(0, |sum: u32, byte| (sum * 31 + u32::from(byte)) % 9000);
    Owner { uid: Uid(1000 + sum), gid: Gid(1000), name: name.to_owned() }
}

/// The machine of a `node` line, under any name.
pub(super) fn machine(words: &mut Words) -> Result<impl Fn(NodeName) -> Machine + use<>, String> {
    let cpus: u32 = words.value("cpus")?.unwrap_or(8);
    let threads: u32 = words.value("threads")?.unwrap_or(1).max(1);
    let memory: Bytes = words.value("mem")?.unwrap_or(MEMORY_PER_CPU.times(cpus));
    let (count, kind) = match words.value::<String>("gpus")? {
        None => (0, String::new()),
        Some(text) => match text.split_once(':') {
            Some((count, kind)) => (number(count)?, kind.to_owned()),
            None => (number(&text)?, "h100".to_owned()),
        },
    };
    let hardware = Hardware {
        cpus: Cpus(cpus),
        threads_per_core: threads,
        memory,
        gpus: count,
        gpu_kind: GpuKind(kind),
        gpu_memory: Bytes::from_mib(81_920),
    };
    let inventory = hardware.inventory();
    Ok(move |name| Machine::new(name, inventory.clone()))
}

fn number(text: &str) -> Result<u16, String> {
    text.parse().map_err(|_| format!("gpus: `{text}` is not a number"))
}
