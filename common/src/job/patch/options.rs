//! The options of `kantctl submit` that express a change, for a job's timeline. The text is short,
//! because each task of an array keeps it.

use super::{Patch, Replaced};
use crate::hostlist;
use crate::id::NodeName;
use crate::resource::{GpuRequest, MemoryRequest};
use std::fmt::{self, Display};

impl Display for Patch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> = [self.size().as_slice(), &self.place(), &self.words()]
            .into_iter()
            .flatten()
            .flatten()
            .cloned()
            .collect();
        f.write_str(&words.join(" "))
    }
}

/// In bytes.
const SUMMARY_BYTES_MAX: usize = 160;

impl Patch {
    /// The change as options, truncated if long: a node list may have thousands of names.
    #[must_use]
    pub fn text(&self) -> String {
        let mut words = self.to_string();
        if words.len() > SUMMARY_BYTES_MAX {
            words.truncate(words.floor_char_boundary(SUMMARY_BYTES_MAX - '…'.len_utf8()));
            words.push('…');
        }
        words
    }

    /// The size and the time limit.
    fn size(&self) -> [Option<String>; 7] {
        let tasks = |(most, least)| match least {
            Some(least) => format!("--ntasks={least}-{most}"),
            None => format!("--ntasks={most}"),
        };
        let kinds = |kinds: &Vec<crate::gpu::GpuKind>| match kinds.as_slice() {
            [] => "--gpu-kind=any".to_owned(),
            kinds => {
                let names: Vec<&str> = kinds.iter().map(|kind| kind.0.as_str()).collect();
                format!("--gpu-kind={}", names.join("|"))
            }
        };
        let gpus = |gpus| match gpus {
            Replaced::Without => "--gpus=none".to_owned(),
            Replaced::With(GpuRequest::Total(all)) => format!("--gpus={all}"),
            Replaced::With(GpuRequest::PerNode(each)) => format!("--gpus-per-node={each}"),
            Replaced::With(GpuRequest::PerTask(each)) => format!("--gpus-per-task={each}"),
            Replaced::With(GpuRequest::Parts(parts)) => format!("--gpus={parts}"),
        };
        let memory = |memory| match memory {
            MemoryRequest::PerNode(size) => format!("--mem={size}"),
            MemoryRequest::PerCpu(size) => format!("--mem-per-cpu={size}"),
            MemoryRequest::PerGpu(size) => format!("--mem-per-gpu={size}"),
        };
        [
            self.time_limit.map(|limit| format!("--time={limit}")),
            self.nodes.map(|nodes| format!("--nodes={nodes}")),
            self.tasks.map(tasks),
            self.gpus.map(gpus),
            self.gpu_kinds.as_ref().map(kinds),
            self.cpus_per_task.map(|cpus| format!("--cpus-per-task={cpus}")),
            self.memory.map(memory),
        ]
    }

    /// The nodes and the names.
    fn words(&self) -> [Option<String>; 9] {
        let nodes = |option, nodes: &Option<Vec<NodeName>>| {
            let nodes = nodes.as_ref()?;
            let list = if nodes.is_empty() { "none".to_owned() } else { hostlist::fold(nodes) };
            Some(format!("--{option}={list}"))
        };
        [
            word("constraint", self.constraint.as_ref()),
            nodes("nodelist", &self.only_nodes),
            nodes("exclude", &self.not_nodes),
            self.account.as_ref().map(|account| format!("--account={account}")),
            self.nice.map(|nice| format!("--nice={nice}")),
            self.name.as_ref().map(|name| format!("--job-name={name}")),
            word("comment", self.comment.as_ref()),
            self.mail_on.as_ref().map(|on| format!("--mail-type={on}")),
            word("mail-user", self.mail_to.as_ref()),
        ]
    }

    /// The queue, the times and the account.
    fn place(&self) -> [Option<String>; 8] {
        [
            self.queue.as_ref().map(|queue| format!("--queue={queue}")),
            word("qos", self.qos.as_ref()),
            word("near", self.near.as_ref()),
            word("begin", self.begin_at.as_ref()),
            word("dependency", self.dependency.as_ref()),
            word("deadline", self.deadline.as_ref()),
            word("reservation", self.reservation.as_ref()),
            word("array-limit", self.array_limit.as_ref()),
        ]
    }
}

fn word<T: Display>(option: &str, replaced: Option<&Replaced<T>>) -> Option<String> {
    Some(match replaced? {
        Replaced::Without => format!("--{option}=none"),
        Replaced::With(value) => format!("--{option}={value}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{QosName, QueueName};
    use crate::time::Span;
    use crate::topology::{Level, Nearness};
    use crate::unit::{Bytes, Gpus, Nodes, Tasks};

    #[test]
    fn a_change_reads_as_the_command_that_made_it() {
        let patch = Patch {
            time_limit: Some(Span::from_minutes(90)),
            nodes: Some(Nodes(2)),
            tasks: Some((Tasks(8), Some(Tasks(4)))),
            gpus: Some(Replaced::With(GpuRequest::PerNode(Gpus(8)))),
            gpu_kinds: Some(Vec::new()),
            memory: Some(MemoryRequest::PerNode(Bytes::from_mib(1024))),
            queue: QueueName::new("debug").ok(),
            qos: Some(Replaced::<QosName>::Without),
            near: Some(Replaced::With(Nearness { level: Level::Leaf, required: true })),
            array_limit: Some(Replaced::With(4)),
            ..Patch::default()
        };
        assert_eq!(
            patch.to_string(),
            "--time=01:30:00 --nodes=2 --ntasks=4-8 --gpus-per-node=8 --gpu-kind=any --mem=1G \
             --queue=debug --qos=none --near=leaf:required --array-limit=4"
        );
        assert_eq!(Patch::default().to_string(), "");
    }

    #[test]
    fn the_summary_of_a_change_is_short() {
        let short = Patch { time_limit: Some(Span::from_minutes(90)), ..Patch::default() };
        assert_eq!(short.text(), "--time=01:30:00");
        let node = |number: u32| NodeName::new(format!("rack-{}-{number}", number % 7)).unwrap();
        for not_nodes in [(0..10_000).map(node).collect(), vec![node(1)]] {
            let comment = Some(Replaced::With("ü".repeat(500)));
            let summary = Patch { not_nodes: Some(not_nodes), comment, ..Patch::default() }.text();
            assert!(summary.len() <= SUMMARY_BYTES_MAX, "{} bytes", summary.len());
            assert!(summary.starts_with("--exclude=rack-"), "{summary}");
            assert!(summary.ends_with('…'), "{summary}");
        }
    }
}
