//! Where a step runs: which job and nodes, and which tasks on each, from the environment that kantd
//! gave the script. Never asks anybody.

use super::Args;
use super::layout::{self, Wish};
use crate::failure::Failure;
use common::id::{JobKey, NodeName};
use common::job::pattern::{PatternFacts, absolute, fill};
use common::job::rendezvous;
use common::{counts, hostlist};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// No step has more tasks.
const TASKS_MAX: u32 = 65_536;

/// Where a step runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The job.
    pub key: JobKey,
    /// Its name.
    pub job_name: String,
    /// Whose.
    pub user: String,
    /// The node that the script runs on.
    pub here: NodeName,
    /// The step's nodes with their tasks, in order; none is without one.
    pub nodes: Vec<(NodeName, u32)>,
    /// The step's number, another one for each step that runs on a node.
    pub step: u32,
}

/// One task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Task {
    /// Its place among all.
    pub rank: u32,
    /// Its place on its node.
    pub local: u32,
    /// Its node's place among the step's.
    pub node: usize,
}

impl Place {
    /// Finds it.
    ///
    /// # Errors
    /// [`Failure`] outside a job, or where the step does not fit into it.
    pub fn find(args: &Args, environment: &BTreeMap<String, String>) -> Result<Self, Failure> {
        let read = |name: &str| environment.get(name).map(String::as_str);
        let number = |name: &str| read(name).and_then(|text| text.parse::<u32>().ok());
        let key = read("KANT_JOB_ID").and_then(|text| text.parse::<JobKey>().ok());
        let here = read("KANT_NODE").and_then(|text| NodeName::new(text).ok());
        let (Some(key), Some(here)) = (key, here) else {
            let outside = Failure::usage(anyhow::anyhow!("srun runs inside a job's script"));
            return Err(outside.hint(
                "`sbatch --wrap 'COMMAND'` submits a command; `kantctl submit --launch per-task \
                 --wait --wrap 'COMMAND'` one that runs once for each task",
            ));
        };
        if let Some(asked) = &args.jobid
            && *asked != key.to_string()
            && *asked != key.job.to_string()
        {
            let other = format!("--jobid={asked}: srun joins no other job than its own, {key}");
            return Err(Failure::usage(anyhow::anyhow!(other)));
        }
        let names = match read("SLURM_JOB_NODELIST") {
            Some(list) => hostlist::expand(list).map_err(Failure::usage)?,
            None => vec![here.clone()],
        };
        let cpus = match read("SLURM_JOB_CPUS_PER_NODE") {
            Some(counts) => counts::unfold(counts).map_err(Failure::usage)?,
            None => vec![number("KANT_NODE_CPUS").unwrap_or(1)],
        };
        let of_job: Vec<(NodeName, u32)> = names.into_iter().zip(cpus).collect();
        let chosen = choose(args, key, &of_job)?;
        let tasks = tasks(args, chosen.len(), of_job.len(), number("KANT_TASKS").unwrap_or(1));
        if tasks == 0 || tasks > TASKS_MAX {
            let wrong = format!("{tasks} tasks: a step has 1 to {TASKS_MAX}");
            return Err(Failure::usage(anyhow::anyhow!(wrong)));
        }
        let wish = Wish {
            tasks,
            cpus_each: args.cpus_per_task.or(number("KANT_TASK_CPUS")).unwrap_or(1),
            most_each: args.ntasks_per_node,
            overcommit: args.overcommit,
        };
        let cpus: Vec<u32> = chosen.iter().map(|(_, cpus)| *cpus).collect();
        let given = layout::share_out(wish, &cpus).map_err(Failure::usage)?;
        let nodes = chosen.into_iter().map(|(name, _)| name).zip(given);
        Ok(Self {
            key,
            job_name: read("KANT_JOB_NAME").unwrap_or("job").to_owned(),
            user: read("USER").unwrap_or_default().to_owned(),
            step: std::process::id(),
            nodes: nodes.filter(|(_, tasks)| *tasks > 0).collect(),
            here,
        })
    }

    /// All tasks, by their ranks.
    #[must_use]
    pub fn tasks(&self) -> Vec<Task> {
        let of_node = |(node, (_, count)): (usize, &(NodeName, u32))| {
            (0..*count).map(move |local| (node, local)).collect::<Vec<_>>()
        };
        let places = self.nodes.iter().enumerate().flat_map(of_node);
        (0_u32..).zip(places).map(|(rank, (node, local))| Task { rank, local, node }).collect()
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.nodes.iter().map(|(_, count)| count).sum()
    }

    /// The node of a task.
    #[must_use]
    pub fn node(&self, task: Task) -> &NodeName {
        self.nodes.get(task.node).map_or(&self.here, |(name, _)| name)
    }

    /// What a task finds in its environment besides the job's.
    #[must_use]
    pub fn environment(&self, task: Task) -> Vec<(&'static str, String)> {
        let counts: Vec<u32> = self.nodes.iter().map(|(_, count)| *count).collect();
        let tasks = counts.iter().sum::<u32>().to_string();
        let each = counts::fold(&counts);
        let here = counts.get(task.node).copied().unwrap_or(1).to_string();
        let (rank, local) = (task.rank.to_string(), task.local.to_string());
        let list = hostlist::fold(self.nodes.iter().map(|(name, _)| name));
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

    /// Where they meet, for those that look for it and were told nothing.
    #[must_use]
    pub fn rendezvous(
        &self,
        environment: &BTreeMap<String, String>,
    ) -> Vec<(&'static str, String)> {
        // The job's first node by its address; another one that a step begins on by its name.
        let of_job = environment.get("SLURM_JOB_NODELIST").and_then(|l| hostlist::expand(l).ok());
        let of_job = of_job.and_then(|names| names.into_iter().next());
        let of_step = self.nodes.first().map_or(&self.here, |(name, _)| name);
        let same = of_job.as_ref().is_none_or(|name| name == of_step);
        let known = environment.get("KANT_NODE_FIRST_ADDRESS").filter(|_| same).cloned();
        let address = known.unwrap_or_else(|| of_step.to_string());
        let usual = [
            ("MASTER_ADDR", address.clone()),
            ("MASTER_PORT", rendezvous::port(self.key).to_string()),
            ("SLURM_LAUNCH_NODE_IPADDR", address),
        ];
        usual.into_iter().filter(|(name, _)| !environment.contains_key(*name)).collect()
    }

    /// A file's path: sbatch's letters, `%s` for the step and `%J` for job and step.
    #[must_use]
    pub fn path(&self, pattern: &str, task: Task, directory: &str) -> PathBuf {
        let facts = PatternFacts {
            key: self.key,
            job_name: &self.job_name,
            user: &self.user,
            node: self.node(task),
            node_rank: u32::try_from(task.node).unwrap_or(u32::MAX),
            task_rank: task.rank,
        };
        PathBuf::from(absolute(directory, &fill(&self.stepped(pattern), &facts)))
    }

    /// The pattern with the step's letters filled in.
    fn stepped(&self, pattern: &str) -> String {
        let mut text = String::new();
        let mut letters = pattern.chars();
        while let Some(letter) = letters.next() {
            match (letter, if letter == '%' { letters.next() } else { None }) {
                ('%', Some('s')) => text.push_str(&self.step.to_string()),
                ('%', Some('J')) => text.push_str(&format!("{}.{}", self.key, self.step)),
                ('%', Some(other)) => text.extend(['%', other]),
                (letter, _) => text.push(letter),
            }
        }
        text
    }
}

/// The job's nodes that the step is to use, with their CPUs.
fn choose(
    args: &Args,
    key: JobKey,
    of_job: &[(NodeName, u32)],
) -> Result<Vec<(NodeName, u32)>, Failure> {
    let mut chosen = of_job.to_vec();
    if let Some(text) = &args.nodelist {
        let names = hostlist::expand(text).map_err(Failure::usage)?;
        if let Some(other) = names.iter().find(|name| of_job.iter().all(|(has, _)| has != *name)) {
            let other = format!("--nodelist={text}: {other} is no node of job {key}");
            return Err(Failure::usage(anyhow::anyhow!(other)));
        }
        chosen.retain(|(name, _)| names.contains(name));
    }
    if let Some(text) = &args.nodes {
        let most = text.rsplit('-').next().unwrap_or(text);
        let count = most.parse::<usize>().ok().filter(|count| *count > 0);
        let wrong = || Failure::usage(anyhow::anyhow!("--nodes={text}: write a number from 1"));
        let count = count.ok_or_else(wrong)?;
        if count > chosen.len() {
            let more = format!("--nodes={text}: job {key} has {} for it", chosen.len());
            return Err(Failure::usage(anyhow::anyhow!(more)));
        }
        chosen.truncate(count);
    }
    Ok(chosen)
}

/// How many tasks: as many as are asked for; else on all of the job's nodes as many as it has, on
/// some of them one each.
fn tasks(args: &Args, chosen: usize, nodes: usize, of_job: u32) -> u32 {
    let chosen_count = u32::try_from(chosen).unwrap_or(u32::MAX);
    match (args.tasks, args.ntasks_per_node) {
        (Some(tasks), _) => tasks,
        (None, Some(each)) => each.saturating_mul(chosen_count),
        (None, None) if chosen == nodes => of_job,
        (None, None) => chosen_count,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn found(words: &str) -> Result<Place, String> {
        let environment = [
            ("KANT_JOB_ID", "42_7"),
            ("KANT_NODE", "g-1"),
            ("SLURM_JOB_NODELIST", "g-[1-2]"),
            ("SLURM_JOB_CPUS_PER_NODE", "4(x2)"),
            ("KANT_TASKS", "4"),
        ];
        let environment =
            environment.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let args = Args::parse_from(words.split(' '));
        Place::find(&args, &environment).map_err(|failure| failure.to_string())
    }

    #[test]
    fn a_step_has_the_jobs_tasks_unless_told_otherwise() {
        let counts = |words| -> Vec<u32> {
            found(words).unwrap().nodes.into_iter().map(|(_, count)| count).collect()
        };
        assert_eq!((counts("srun true"), counts("srun -n2 true")), (vec![3, 1], vec![1, 1]));
        assert_eq!(counts("srun --ntasks-per-node=2 true"), [2, 2]);
        assert_eq!((counts("srun -N1 true"), counts("srun -N1 -n3 true")), (vec![1], vec![3]));
        assert_eq!(counts("srun -n 99 -O true"), [50, 49]);
        assert_eq!(found("srun -w g-2 true").unwrap().nodes[0].0.as_str(), "g-2");
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert!(found("srun -n9 true").unwrap_err().contains("8 CPUs"));
        assert!(found("srun -n4 -c4 true").unwrap_err().contains("overcommit"));
        assert!(found("srun -N3 true").unwrap_err().contains("has 2"));
        assert!(found("srun -w other true").unwrap_err().contains("no node of job 42_7"));
        assert!(found("srun --jobid=7 true").unwrap_err().contains("--jobid=7"));
        let outside = Place::find(&Args::parse_from(["srun", "true"]), &BTreeMap::new());
        assert!(outside.unwrap_err().to_string().contains("inside a job"));
    }

    #[test]
    fn ranks_count_over_the_nodes() {
        let place = found("srun true").unwrap();
        let tasks = place.tasks();
        let of = |task: &Task| (task.rank, task.local, place.node(*task).to_string());
        assert_eq!(of(&tasks[2]), (2, 2, "g-1".to_owned()));
        assert_eq!(of(&tasks[3]), (3, 0, "g-2".to_owned()));
        let last: BTreeMap<_, _> = place.environment(tasks[3]).into_iter().collect();
        assert_eq!((last["SLURM_NODEID"].as_str(), last["SLURM_NTASKS"].as_str()), ("1", "4"));
        assert_eq!(last["SLURM_STEP_TASKS_PER_NODE"], "3,1");
        assert_eq!(last["SLURM_STEP_NODELIST"], "g-[1-2]");
    }

    #[test]
    fn names_of_files_know_step_and_task() {
        let place = Place { step: 5, ..found("srun true").unwrap() };
        let path = place.path("logs/%x-%A_%a-%s-%t-%N-%J-%%s", place.tasks()[3], "/w");
        assert_eq!(path, PathBuf::from("/w/logs/job-42_7-5-3-g-2-42_7.5-%s"));
    }
}
