//! The allocation of the job that a step runs in: nodes and resources, from the environment of the
//! script, or from the controller.

use crate::failure::Failure;
use common::id::{Attempt, JobId, JobKey, NodeName};
use common::job::rendezvous;
use common::wire::api::JobView;
use common::{counts, hostlist};
use std::collections::BTreeMap;

/// One node of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllocatedNode {
    pub name: NodeName,
    /// CPUs of the job on this node.
    pub cpus: u32,
    /// Tasks of the job on this node, if known.
    pub tasks: Option<u32>,
    /// GPUs of the job on this node, if known.
    pub gpus: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobAllocation {
    pub key: JobKey,
    /// The plain number, if known.
    pub number: Option<JobId>,
    /// The attempt, if known.
    pub attempt: Option<Attempt>,
    pub job_name: String,
    pub user: String,
    pub nodes: Vec<AllocatedNode>,
    /// The node that this process runs on, if it runs inside the job.
    pub here: Option<NodeName>,
    pub tasks: u32,
    pub cpus_per_task: Option<u32>,
}

impl JobAllocation {
    /// The allocation around this process: inside a job, or in a shell with an allocation.
    ///
    /// # Errors
    /// [`Failure`] when the environment is invalid.
    pub fn from_environment(
        environment: &BTreeMap<String, String>,
    ) -> Result<Option<Self>, Failure> {
        let read = |name: &str| environment.get(name).map(String::as_str);
        let number = |name: &str| read(name).and_then(|text| text.parse::<u32>().ok());
        let Some(key) = read("KANT_JOB_ID").and_then(|text| text.parse::<JobKey>().ok()) else {
            return Ok(None);
        };
        let here = read("KANT_NODE").and_then(|text| NodeName::new(text).ok());
        let names = match read("SLURM_JOB_NODELIST") {
            Some(list) => hostlist::expand(list).map_err(Failure::usage)?,
            None => here.iter().cloned().collect(),
        };
        let cpus = match read("SLURM_JOB_CPUS_PER_NODE") {
            Some(text) => counts::decode_runs(text).map_err(Failure::usage)?,
            None => vec![number("KANT_NODE_CPUS").unwrap_or(1)],
        };
        // If the numbers differ between nodes, they are not in the environment.
        let gpus = number("SLURM_GPUS_ON_NODE");
        let node = |(name, cpus)| AllocatedNode { name, cpus, tasks: None, gpus };
        Ok(Some(Self {
            key,
            number: number("SLURM_JOB_ID").map(JobId),
            attempt: number("KANT_JOB_ATTEMPT").map(Attempt),
            job_name: read("KANT_JOB_NAME").unwrap_or("job").to_owned(),
            user: read("USER").unwrap_or_default().to_owned(),
            nodes: names.into_iter().zip(cpus).map(node).collect(),
            here,
            tasks: number("KANT_TASKS").unwrap_or(1),
            cpus_per_task: number("KANT_TASK_CPUS"),
        }))
    }

    /// The allocation of a running job, as the controller shows it; `None` if it has no nodes.
    #[must_use]
    pub fn of(job: &JobView) -> Option<Self> {
        let shares = job.allocation.as_ref()?.shares();
        let node = |share: &common::resource::Share| AllocatedNode {
            name: share.node.clone(),
            cpus: share.cpus.len(),
            tasks: Some(share.tasks.0),
            gpus: u32::try_from(share.gpus.len()).ok(),
        };
        Some(Self {
            key: job.key,
            number: job.number,
            attempt: Some(Attempt(job.attempt)),
            job_name: job.ask.name.clone(),
            user: job.owner.name.clone(),
            nodes: shares.iter().map(node).collect(),
            here: None,
            tasks: shares.iter().map(|share| share.tasks.0).sum(),
            cpus_per_task: Some(job.ask.request.cpus_per_task.0),
        })
    }

    /// The environment of a shell with this allocation, the same as inside the job.
    #[must_use]
    pub fn environment(&self, job: &JobView) -> Vec<(&'static str, String)> {
        let list = hostlist::compress(self.nodes.iter().map(|node| &node.name));
        let cpus: Vec<u32> = self.nodes.iter().map(|node| node.cpus).collect();
        let tasks: Vec<u32> = self.nodes.iter().map(|node| node.tasks.unwrap_or(1)).collect();
        let gpus: u32 = self.nodes.iter().filter_map(|node| node.gpus).sum();
        let count = self.nodes.len().to_string();
        let queue = job.ask.queue.as_ref().map(ToString::to_string).unwrap_or_default();
        let key = self.key.to_string();
        let all = self.tasks.to_string();
        let mut found = vec![
            ("SLURM_JOB_ID", key.clone()),
            ("SLURM_JOBID", key.clone()),
            ("KANT_JOB_ID", key),
            ("KANT_JOB_ATTEMPT", job.attempt.to_string()),
            ("SLURM_JOB_NAME", self.job_name.clone()),
            ("KANT_JOB_NAME", self.job_name.clone()),
            ("SLURM_JOB_PARTITION", queue.clone()),
            ("KANT_JOB_QUEUE", queue),
            ("SLURM_JOB_USER", self.user.clone()),
            ("SLURM_JOB_UID", job.owner.uid.to_string()),
            ("SLURM_SUBMIT_DIR", job.ask.work_dir.clone()),
            ("SLURM_SUBMIT_HOST", job.ask.submit_host.clone()),
            ("SLURM_JOB_NODELIST", list.clone()),
            ("SLURM_NODELIST", list.clone()),
            ("KANT_NODES", list),
            ("SLURM_JOB_NUM_NODES", count.clone()),
            ("SLURM_NNODES", count.clone()),
            ("KANT_NODE_COUNT", count),
            ("SLURM_NTASKS", all.clone()),
            ("SLURM_NPROCS", all.clone()),
            ("KANT_TASKS", all),
            ("SLURM_TASKS_PER_NODE", counts::encode_runs(&tasks)),
            ("SLURM_JOB_CPUS_PER_NODE", counts::encode_runs(&cpus)),
            ("MASTER_PORT", rendezvous::port(self.key).to_string()),
        ];
        let each = job.ask.request.cpus_per_task.to_string();
        found.extend([("SLURM_CPUS_PER_TASK", each.clone()), ("KANT_TASK_CPUS", each)]);
        if gpus > 0 {
            found.push(("SLURM_GPUS", gpus.to_string()));
        }
        if let Some(account) = &job.ask.account {
            found.push(("SLURM_JOB_ACCOUNT", account.to_string()));
            found.push(("KANT_JOB_ACCOUNT", account.to_string()));
        }
        found.extend(job.ask.qos.as_ref().map(|qos| ("SLURM_JOB_QOS", qos.to_string())));
        found
    }
}
