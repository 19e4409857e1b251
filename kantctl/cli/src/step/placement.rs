//! The placement of a step: nodes of its job, and the tasks on each.

use super::job_allocation::{AllocatedNode, JobAllocation};
use super::layout::{self, LayoutRequest};
use super::step_options::StepOptions;
use crate::failure::Failure;
use common::id::{Attempt, JobId, JobKey, NodeName};
use common::job::pattern::{PatternFacts, absolute, fill};
use common::job::rendezvous;
use common::wire::node::StepShare;
use common::{counts, hostlist};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The most tasks of a step.
const TASKS_MAX: u32 = 65_536;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepPlacement {
    pub key: JobKey,
    /// The plain number, if known.
    pub number: Option<JobId>,
    pub job_name: String,
    pub user: String,
    /// The node that this process runs on, if it is one of the job's.
    pub here: Option<NodeName>,
    /// The step's nodes with their numbers of tasks, in order; each has at least one.
    pub nodes: Vec<(NodeName, u32)>,
    /// Alternative nodes of the job, with the job's GPUs there.
    pub others: Vec<(NodeName, Option<u32>)>,
    /// The attempt, if known.
    pub attempt: Option<Attempt>,
    /// The job's GPUs on each of the step's nodes, if known.
    pub gpus: Vec<Option<u32>>,
    /// The step's number, unique among the steps of a node.
    pub step: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskPosition {
    /// Its index in the step.
    pub rank: u32,
    /// Its index on its node.
    pub local: u32,
    /// The index of its node in the step.
    pub node: usize,
}

impl StepPlacement {
    /// Chooses nodes of the job, and distributes the tasks.
    ///
    /// # Errors
    /// [`Failure`] if the step does not fit into the job.
    pub fn choose(
        options: &StepOptions,
        allocation: &JobAllocation,
        step: u32,
    ) -> Result<Self, Failure> {
        let (chosen, spare) = choose(options, allocation)?;
        let tasks =
            choose_task_count(options, chosen.len(), allocation.nodes.len(), allocation.tasks);
        if tasks == 0 || tasks > TASKS_MAX {
            let wrong = format!("a step has 1 to {TASKS_MAX} tasks, not {tasks}");
            return Err(Failure::usage(anyhow::anyhow!(wrong)));
        }
        let given = match job_distribution(options, allocation, &chosen) {
            Some(given) => given,
            None => {
                let room = LayoutRequest {
                    tasks,
                    cpus_each: options.cpus_per_task.or(allocation.cpus_per_task).unwrap_or(1),
                    most_each: options.ntasks_per_node,
                    overcommit: options.overcommit,
                };
                let cpus: Vec<u32> = chosen.iter().map(|node| node.cpus).collect();
                layout::distribute_tasks(room, &cpus).map_err(Failure::usage)?
            }
        };
        let used = chosen.iter().zip(&given).filter(|(_, tasks)| **tasks > 0);
        let gpus = used.map(|(node, _)| node.gpus).collect();
        let unused = chosen.iter().zip(&given).filter(|(_, tasks)| **tasks == 0);
        let others = unused.map(|(node, _)| node).chain(&spare);
        let others = others.map(|node| (node.name.clone(), node.gpus)).collect();
        let nodes = chosen.into_iter().map(|node| node.name).zip(given);
        Ok(Self {
            key: allocation.key,
            number: allocation.number,
            job_name: allocation.job_name.clone(),
            user: allocation.user.clone(),
            attempt: allocation.attempt,
            others,
            gpus,
            step,
            nodes: nodes.filter(|(_, tasks)| *tasks > 0).collect(),
            here: allocation.here.clone(),
        })
    }

    /// Applies the step ledger's choice of nodes, if there were alternatives.
    pub fn apply_ledger_shares(&mut self, shares: &[StepShare]) {
        if self.others.is_empty() {
            return;
        }
        let first = self.nodes.iter().map(|(name, _)| name.clone()).zip(self.gpus.clone());
        let known: BTreeMap<_, _> = first.chain(self.others.clone()).collect();
        self.gpus = shares.iter().map(|share| known.get(&share.node).copied().flatten()).collect();
        self.nodes = shares.iter().map(|share| (share.node.clone(), share.tasks)).collect();
    }

    /// All tasks, ordered by rank.
    #[must_use]
    pub fn tasks(&self) -> Vec<TaskPosition> {
        let of_node = |(node, (_, count)): (usize, &(NodeName, u32))| {
            (0..*count).map(move |local| (node, local)).collect::<Vec<_>>()
        };
        let places = self.nodes.iter().enumerate().flat_map(of_node);
        (0_u32..)
            .zip(places)
            .map(|(rank, (node, local))| TaskPosition { rank, local, node })
            .collect()
    }

    /// The number of tasks.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.nodes.iter().map(|(_, count)| count).sum()
    }

    /// The job's GPUs on a task's node; 0 if unknown.
    #[must_use]
    pub fn gpus(&self, task: TaskPosition) -> u32 {
        self.gpus.get(task.node).copied().flatten().unwrap_or(0)
    }

    /// The node of a task.
    #[must_use]
    pub fn node(&self, task: TaskPosition) -> Option<&NodeName> {
        self.nodes.get(task.node).map(|(name, _)| name)
    }

    /// The environment of a task, in addition to the job's.
    #[must_use]
    pub fn environment(&self, task: TaskPosition) -> Vec<(&'static str, String)> {
        let counts: Vec<u32> = self.nodes.iter().map(|(_, count)| *count).collect();
        let tasks = counts.iter().sum::<u32>().to_string();
        let each = counts::encode_runs(&counts);
        let here = counts.get(task.node).copied().unwrap_or(1).to_string();
        let (rank, local) = (task.rank.to_string(), task.local.to_string());
        let list = hostlist::compress(self.nodes.iter().map(|(name, _)| name));
        vec![
            ("SLURM_PROCID", rank.clone()),
            ("KANT_TASK_RANK", rank.clone()),
            ("SLURM_LOCALID", local.clone()),
            ("KANT_TASK_LOCAL_RANK", local.clone()),
            ("RANK", rank),
            ("LOCAL_RANK", local),
            ("WORLD_SIZE", tasks.clone()),
            ("LOCAL_WORLD_SIZE", here),
            ("SLURM_NODEID", task.node.to_string()),
            ("SLURM_NTASKS", tasks.clone()),
            ("SLURM_NPROCS", tasks.clone()),
            ("SLURM_TASKS_PER_NODE", each.clone()),
            ("SLURM_STEP_ID", self.step.to_string()),
            ("SLURM_STEPID", self.step.to_string()),
            ("SLURM_STEP_NODELIST", list),
            ("SLURM_STEP_NUM_NODES", self.nodes.len().to_string()),
            ("SLURM_STEP_NUM_TASKS", tasks),
            ("SLURM_STEP_TASKS_PER_NODE", each),
        ]
    }

    /// Variables with the rendezvous address, for tasks whose environment does not set them.
    #[must_use]
    pub fn rendezvous(
        &self,
        environment: &BTreeMap<String, String>,
    ) -> Vec<(&'static str, String)> {
        // The job's first node has an address; a step that begins on another node uses its name.
        let of_job = environment.get("SLURM_JOB_NODELIST").and_then(|l| hostlist::expand(l).ok());
        let of_job = of_job.and_then(|names| names.into_iter().next());
        let of_step = self.nodes.first().map(|(name, _)| name);
        let same = of_job.is_none() || of_job.as_ref() == of_step;
        let known = environment.get("KANT_NODE_FIRST_ADDRESS").filter(|_| same).cloned();
        let address = known.or_else(|| of_step.map(ToString::to_string)).unwrap_or_default();
        let usual = [
            ("MASTER_ADDR", address.clone()),
            ("MASTER_PORT", rendezvous::port(self.key).to_string()),
            ("SLURM_LAUNCH_NODE_IPADDR", address),
        ];
        usual.into_iter().filter(|(name, _)| !environment.contains_key(*name)).collect()
    }

    /// A file's path: sbatch's patterns, `%s` for the step and `%J` for job and step.
    #[must_use]
    pub fn path(&self, pattern: &str, task: TaskPosition, directory: &str) -> PathBuf {
        let Some(node) = self.node(task) else { return PathBuf::from(pattern) };
        let facts = PatternFacts {
            key: self.key,
            number: self.number,
            job_name: &self.job_name,
            user: &self.user,
            node,
            node_rank: u32::try_from(task.node).unwrap_or(u32::MAX),
            task_rank: task.rank,
        };
        PathBuf::from(absolute(directory, &fill(&self.fill_step_patterns(pattern), &facts)))
    }

    /// Replaces the patterns for steps.
    fn fill_step_patterns(&self, pattern: &str) -> String {
        let mut text = String::new();
        let mut letters = pattern.chars();
        while let Some(letter) = letters.next() {
            match (letter, if letter == '%' { letters.next() } else { None }) {
                ('%', Some('s')) => text.push_str(&self.step.to_string()),
                ('%', Some('J')) => text.push_str(&format!("%j.{}", self.step)),
                ('%', Some(other)) => text.extend(['%', other]),
                (letter, _) => text.push(letter),
            }
        }
        text
    }
}

/// The nodes of the job to use, and alternative ones.
fn choose(
    options: &StepOptions,
    allocation: &JobAllocation,
) -> Result<(Vec<AllocatedNode>, Vec<AllocatedNode>), Failure> {
    let (mut chosen, key) = (allocation.nodes.clone(), allocation.key);
    if let Some(text) = &options.nodelist {
        let names = hostlist::expand(text).map_err(Failure::usage)?;
        let has = |name: &NodeName| allocation.nodes.iter().any(|node| node.name == *name);
        if let Some(other) = names.iter().find(|name| !has(name)) {
            let other = format!("--nodelist={text}: {other} is not a node of job {key}");
            return Err(Failure::usage(anyhow::anyhow!(other)));
        }
        chosen.retain(|node| names.contains(&node.name));
    }
    if let Some(text) = &options.nodes {
        let most = text.rsplit('-').next().unwrap_or(text);
        let count = most.parse::<usize>().ok().filter(|count| *count > 0);
        let wrong = || Failure::usage(anyhow::anyhow!("--nodes={text}: write a number from 1"));
        let count = count.ok_or_else(wrong)?;
        let least = text.split('-').next().and_then(|least| least.parse().ok()).unwrap_or(count);
        if chosen.len() < least {
            let few = format!("--nodes={text}: job {key} has only {}", chosen.len());
            return Err(Failure::usage(anyhow::anyhow!(few)));
        }
        let spare = chosen.split_off(count.min(chosen.len()));
        return Ok((chosen, spare));
    }
    Ok((chosen, Vec::new()))
}

/// The job's own distribution of tasks, for a step that uses the whole job.
fn job_distribution(
    options: &StepOptions,
    allocation: &JobAllocation,
    chosen: &[AllocatedNode],
) -> Option<Vec<u32>> {
    let all = chosen.len() == allocation.nodes.len()
        && options.tasks.is_none_or(|tasks| tasks == allocation.tasks)
        && (options.ntasks_per_node.is_none() || options.tasks.is_none())
        && options.cpus_per_task.is_none_or(|cpus| Some(cpus) == allocation.cpus_per_task);
    let given: Option<Vec<u32>> = chosen.iter().map(|node| node.tasks).collect();
    let given = given.filter(|_| all)?;
    let bounded = |most: u32| given.iter().all(|tasks| *tasks == most);
    options.ntasks_per_node.is_none_or(bounded).then_some(given)
}

/// The number of tasks: as requested; otherwise on all nodes of the job as many as the job has, on
/// some of them one each; with a terminal one.
fn choose_task_count(options: &StepOptions, chosen: usize, nodes: usize, of_job: u32) -> u32 {
    let chosen_count = u32::try_from(chosen).unwrap_or(u32::MAX);
    match (options.tasks, options.ntasks_per_node) {
        (Some(tasks), _) => tasks,
        (None, None) if options.pty => 1,
        (None, Some(each)) => each.saturating_mul(chosen_count),
        (None, None) if chosen == nodes => of_job,
        (None, None) => chosen_count,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(options: StepOptions) -> Result<StepPlacement, String> {
        let environment = [
            ("KANT_JOB_ID", "42_7"),
            ("KANT_NODE", "g-1"),
            ("SLURM_JOB_NODELIST", "g-[1-2]"),
            ("SLURM_JOB_CPUS_PER_NODE", "4(x2)"),
            ("KANT_TASKS", "4"),
        ];
        let environment =
            environment.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let allocation = JobAllocation::from_environment(&environment).unwrap().unwrap();
        StepPlacement::choose(&options, &allocation, 5).map_err(|failure| failure.to_string())
    }

    fn of_tasks(tasks: u32) -> StepOptions {
        StepOptions { tasks: Some(tasks), ..StepOptions::default() }
    }

    fn on(nodes: &str) -> StepOptions {
        StepOptions { nodes: Some(nodes.to_owned()), ..StepOptions::default() }
    }

    #[test]
    fn a_step_has_the_tasks_of_its_job_by_default() {
        let counts = |options| -> Vec<u32> {
            found(options).unwrap().nodes.into_iter().map(|(_, count)| count).collect()
        };
        assert_eq!((counts(StepOptions::default()), counts(of_tasks(2))), (vec![3, 1], vec![1, 1]));
        assert_eq!(
            counts(StepOptions { ntasks_per_node: Some(2), ..StepOptions::default() }),
            [2, 2]
        );
        assert_eq!(counts(on("1")), [1]);
        assert_eq!(counts(StepOptions { tasks: Some(3), ..on("1") }), [3]);
        assert_eq!(counts(StepOptions { overcommit: true, ..of_tasks(99) }), [50, 49]);
        assert_eq!(counts(StepOptions { pty: true, ..StepOptions::default() }), [1]);
        let second = StepOptions { nodelist: Some("g-2".to_owned()), ..StepOptions::default() };
        assert_eq!(found(second).unwrap().nodes[0].0.as_str(), "g-2");
    }

    #[test]
    fn steps_that_do_not_fit_are_refused() {
        assert!(found(of_tasks(9)).unwrap_err().contains("8 CPUs"));
        let wide = StepOptions { cpus_per_task: Some(4), ..of_tasks(4) };
        assert!(found(wide).unwrap_err().contains("overcommit"));
        assert!(found(on("3")).unwrap_err().contains("has only 2"));
        let other = StepOptions { nodelist: Some("other".to_owned()), ..StepOptions::default() };
        assert!(found(other).unwrap_err().contains("not a node of job 42_7"));
        assert_eq!(JobAllocation::from_environment(&BTreeMap::new()).unwrap(), None);
    }

    #[test]
    fn ranks_are_counted_across_nodes() {
        let placement = found(StepOptions::default()).unwrap();
        let tasks = placement.tasks();
        let of = |task: &TaskPosition| {
            (task.rank, task.local, placement.node(*task).unwrap().to_string())
        };
        assert_eq!(of(&tasks[2]), (2, 2, "g-1".to_owned()));
        assert_eq!(of(&tasks[3]), (3, 0, "g-2".to_owned()));
        let last: BTreeMap<_, _> = placement.environment(tasks[3]).into_iter().collect();
        assert_eq!((last["SLURM_NODEID"].as_str(), last["SLURM_NTASKS"].as_str()), ("1", "4"));
        assert_eq!(last["SLURM_STEP_TASKS_PER_NODE"], "3,1");
        assert_eq!(last["SLURM_STEP_NODELIST"], "g-[1-2]");
    }

    #[test]
    fn file_names_contain_step_and_task() {
        let placement = found(StepOptions::default()).unwrap();
        let path = placement.path("logs/%x-%A_%a-%s-%t-%N-%J-%%s", placement.tasks()[3], "/w");
        assert_eq!(path, PathBuf::from("/w/logs/job-42_7-5-3-g-2-42_7.5-%s"));
    }
}
