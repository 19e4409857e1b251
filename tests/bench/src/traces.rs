//! The public traces on which policies are measured. They are not part of the repository and are
//! read from a directory. tests/traces/README.md describes them and their sources.

use anyhow::Context;
use std::path::Path;
use trace::{Job, Node, read_jobs, read_nodes};

pub struct Trace {
    pub name: &'static str,
    pub about: &'static str,
    nodes: &'static str,
    /// Submit times are divided by this factor.
    faster: f64,
    /// Nodes have several GPUs, so the trace is also replayed with one difference at a time.
    pub is_ablated: bool,
    /// Conservative backfill of its queue of gangs takes longer to replay than all other replays.
    pub is_long: bool,
    /// Its jobs have users, whose next jobs may be expected to run like their last ones.
    pub has_users: bool,
}

const fn trace(name: &'static str, nodes: &'static str, about: &'static str) -> Trace {
    Trace { name, about, nodes, faster: 1.0, is_ablated: false, is_long: false, has_users: false }
}

pub const TRACES: [Trace; 7] = [
    Trace {
        has_users: true,
        ..trace(
            "kth-sp2",
            "kth-sp2.nodes.csv",
            "28,481 jobs on 100 nodes of one slot, real walltimes.",
        )
    },
    trace("batsim-medium", "batsim-medium.nodes.csv", "801 jobs on 32 nodes of one slot."),
    Trace {
        faster: 1.2,
        is_long: true,
        has_users: true,
        ..trace(
            "llnl-atlas-a",
            "llnl-atlas.nodes.csv.gz",
            "18,300 whole-node jobs on 1,152 nodes of 8 slots; submit times divided by 1.2.",
        )
    },
    Trace {
        is_ablated: true,
        ..trace("philly-a", "philly-a.nodes.csv", "44,230 jobs of 1 to 32 GPUs on 80 nodes of 8.")
    },
    Trace {
        is_ablated: true,
        ..trace("itp-04", "itp-04.nodes.csv", "15,802 jobs of 1 to 64 GPUs on 72 nodes of 8.")
    },
    trace("openb-time", "openb-time.nodes.csv", "6,186 jobs, many on shares of GPUs, on 4 nodes."),
    trace("dlrm-a", "dlrm-a.nodes.csv", "4,447 inference services of one GPU on 248 nodes of 8."),
];

impl Trace {
    /// Reads its jobs and nodes from a directory.
    pub fn read(&self, folder: &Path) -> anyhow::Result<(Vec<Job>, Vec<Node>)> {
        let read = |file: &str| {
            let path = folder.join(file);
            std::fs::read(&path).with_context(|| format!("failed to read {}", path.display()))
        };
        let file = format!("{}.jobs.csv.gz", self.name);
        let mut jobs = read_jobs(&file, &read(&file)?)?;
        if self.faster != 1.0 {
            jobs.iter_mut().for_each(|job| job.scale_submit(1.0 / self.faster));
        }
        Ok((jobs, read_nodes(self.nodes, &read(self.nodes)?)?))
    }
}
