//! From the configuration file to what the replicas need to know, and to who may do what.
//! Never reads the file; never replicates anything itself.

use common::config::{ControllerConfig, QueueTable};
use common::hostlist::{self, HostlistError};
use common::id::{QueueName, Uid};
use common::queue::Queue;
use common::time::{Span, SpanError};
use common::unit::{Bytes, BytesError};
use nix::unistd::User;
use state::Settings;
use std::collections::BTreeSet;

/// A configuration that reads, but makes no sense.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// A queue without a name.
    #[error("queue number {0} has no name: add `name = \"...\"`")]
    QueueWithoutName(usize),
    /// Two of one name.
    #[error("there are two queues named {0}: rename or remove one")]
    QueueTwice(QueueName),
    /// Two defaults.
    #[error("queues {0} and {1} both say `default = true`: only one can be")]
    TwoDefaults(QueueName, QueueName),
    /// A time limit that does not read.
    #[error("queue {queue}, {key}")]
    TimeLimit {
        /// The queue.
        queue: QueueName,
        /// The key.
        key: &'static str,
        /// Why.
        #[source]
        source: SpanError,
    },
    /// The default is longer than the bound.
    #[error("queue {0}: time_limit_default is longer than time_limit_max")]
    DefaultOverMax(QueueName),
    /// A node list that does not read.
    #[error("queue {queue}, nodes")]
    Nodes {
        /// The queue.
        queue: QueueName,
        /// Why.
        #[source]
        source: HostlistError,
    },
    /// An amount of memory that does not read.
    #[error("queue {queue}, memory_per_cpu")]
    Memory {
        /// The queue.
        queue: QueueName,
        /// Why.
        #[source]
        source: BytesError,
    },
    /// An operator nobody knows.
    #[error("admins: there is no user `{0}` on this host")]
    UnknownAdmin(String),
    /// The built-in queue's name did not read.
    #[error("failed to name the default queue")]
    Name(#[from] common::id::IdError),
}

/// What the replicas need to know.
///
/// # Errors
/// [`SettingsError`], which names the queue and the key.
pub fn settings(config: &ControllerConfig) -> Result<Settings, SettingsError> {
    Ok(Settings {
        cluster: config.cluster.clone(),
        queues: queues(&config.queue)?,
        allow_root_jobs: config.allow_root_jobs,
        kill_grace: Span::from_seconds(config.kill_grace_seconds),
        done_jobs_kept: Span::from_seconds(config.done_jobs_kept_seconds),
        qos: Vec::new(),
        accounts: Vec::new(),
        factors: common::policy::Factors::default(),
        topology: common::topology::Topology::default(),
    })
}

fn queues(tables: &[QueueTable]) -> Result<Vec<Queue>, SettingsError> {
    if tables.is_empty() {
        let name = QueueName::new("default")?;
        let table = QueueTable { name: Some(name), default: true, ..QueueTable::default() };
        return queues(&[table]);
    }
    let mut queues: Vec<Queue> = Vec::new();
    for (number, table) in tables.iter().enumerate() {
        let queue = queue(table, number + 1)?;
        if queues.iter().any(|q| q.name == queue.name) {
            return Err(SettingsError::QueueTwice(queue.name));
        }
        if let Some(other) = queues.iter().find(|q| q.default && queue.default) {
            return Err(SettingsError::TwoDefaults(other.name.clone(), queue.name));
        }
        queues.push(queue);
    }
    if !queues.iter().any(|q| q.default)
        && let Some(first) = queues.first_mut()
    {
        first.default = true;
    }
    Ok(queues)
}

fn queue(table: &QueueTable, number: usize) -> Result<Queue, SettingsError> {
    let name = table.name.clone().ok_or(SettingsError::QueueWithoutName(number))?;
    let limit = |key: &'static str, text: &str| -> Result<Option<Span>, SettingsError> {
        if text.is_empty() {
            return Ok(None);
        }
        let error = |source| SettingsError::TimeLimit { queue: name.clone(), key, source };
        text.parse().map(Some).map_err(error)
    };
    let time_limit_default = limit("time_limit_default", &table.time_limit_default)?;
    let time_limit_max = limit("time_limit_max", &table.time_limit_max)?;
    if let (Some(default), Some(max)) = (time_limit_default, time_limit_max)
        && default > max
    {
        return Err(SettingsError::DefaultOverMax(name));
    }
    let nodes = match table.nodes.as_str() {
        "" => Vec::new(),
        text => hostlist::expand(text)
            .map_err(|source| SettingsError::Nodes { queue: name.clone(), source })?,
    };
    let memory_per_cpu: Bytes = table
        .memory_per_cpu
        .parse()
        .map_err(|source| SettingsError::Memory { queue: name.clone(), source })?;
    Ok(Queue {
        default: table.default,
        priority: table.priority,
        nodes,
        time_limit_default,
        time_limit_max,
        memory_per_cpu,
        ..Queue::plain(name)
    })
}

/// Who may do everything: root, the user this process runs as, and those named in `admins`.
///
/// # Errors
/// [`SettingsError::UnknownAdmin`].
pub fn operators(config: &ControllerConfig) -> Result<BTreeSet<Uid>, SettingsError> {
    let mut operators = BTreeSet::from([Uid(0), Uid(nix::unistd::geteuid().as_raw())]);
    for admin in &config.admins {
        let uid = match admin.parse() {
            Ok(uid) => Uid(uid),
            Err(_) => User::from_name(admin)
                .ok()
                .flatten()
                .map(|user| Uid(user.uid.as_raw()))
                .ok_or_else(|| SettingsError::UnknownAdmin(admin.clone()))?,
        };
        operators.insert(uid);
    }
    Ok(operators)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Settings, String> {
        let config = common::config::read("kantctld.toml", text).map_err(|e| e.to_string())?;
        settings(&config).map_err(|e| e.to_string())
    }

    #[test]
    fn without_queues_there_is_one_named_default() {
        let queues = read("").unwrap().queues;
        assert_eq!(queues.len(), 1);
        assert!(queues[0].default && queues[0].name.as_str() == "default");
    }

    #[test]
    fn the_first_queue_is_the_default_if_none_says_so() {
        let text = "[[queue]]\nname = \"a\"\n[[queue]]\nname = \"b\"\ntime_limit_max = \"2-0\"\n";
        let queues = read(text).unwrap().queues;
        assert!(queues[0].default && !queues[1].default);
        assert_eq!(queues[1].time_limit_max, Some(Span::from_seconds(172_800)));
    }

    #[test]
    fn contradictions_are_refused_by_name() {
        for (text, word) in [
            ("[[queue]]\n", "no name"),
            ("[[queue]]\nname = \"a\"\n[[queue]]\nname = \"a\"\n", "two queues named a"),
            (
                "[[queue]]\nname=\"a\"\ndefault=true\n[[queue]]\nname=\"b\"\ndefault=true\n",
                "only one",
            ),
            ("[[queue]]\nname = \"a\"\ntime_limit_max = \"soon\"\n", "time_limit_max"),
            ("[[queue]]\nname = \"a\"\nnodes = \"g[\"\n", "nodes"),
            ("[[queue]]\nname = \"a\"\ntime_limit_default=\"9\"\ntime_limit_max=\"5\"\n", "longer"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
