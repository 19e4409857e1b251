//! Where a step runs: which job, node and how many tasks, from the environment that kantd gave the
//! script. Never asks anybody.

use super::Args;
use crate::failure::Failure;
use common::hostlist::expand;
use common::id::{JobKey, NodeName};
use common::job::pattern::{PatternFacts, absolute, fill};
use common::job::rendezvous;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Where a step runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The job.
    pub key: JobKey,
    /// Its name.
    pub job_name: String,
    /// Whose.
    pub user: String,
    /// This node.
    pub node: NodeName,
    /// Its place among the job's.
    pub node_rank: u32,
    /// Tasks, all of them here.
    pub tasks: u32,
    /// The step's number, another one for each step that runs on a node.
    pub step: u32,
}

impl Place {
    /// Finds it.
    ///
    /// # Errors
    /// [`Failure`] outside a job, or where tasks would be on other nodes or do not fit.
    pub fn find(args: &Args, environment: &BTreeMap<String, String>) -> Result<Self, Failure> {
        let read = |name: &str| environment.get(name).map(String::as_str);
        let key = read("KANT_JOB_ID").and_then(|text| text.parse::<JobKey>().ok());
        let node = read("KANT_NODE").and_then(|text| NodeName::new(text).ok());
        let (Some(key), Some(node)) = (key, node) else {
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
        let number = |name: &str| read(name).and_then(|text| text.parse::<u32>().ok());
        let place = Self {
            key,
            job_name: read("KANT_JOB_NAME").unwrap_or("job").to_owned(),
            user: read("USER").unwrap_or_default().to_owned(),
            node_rank: number("KANT_NODE_RANK").unwrap_or(0),
            tasks: 1,
            step: std::process::id(),
            node,
        };
        let nodes = number("KANT_NODE_COUNT").unwrap_or(1);
        let tasks = place.count(args, nodes, number("KANT_TASKS").unwrap_or(1))?;
        let cpus = number("KANT_NODE_CPUS").unwrap_or(1);
        let each = args.cpus_per_task.or(number("KANT_TASK_CPUS")).unwrap_or(1);
        if !args.overcommit && u64::from(tasks) * u64::from(each) > u64::from(cpus) {
            return Err(Failure::usage(anyhow::anyhow!(
                "{tasks} tasks of {each} CPUs are more than the {cpus} CPUs that job {key} has on \
                 {}: ask for fewer, or --overcommit",
                place.node
            )));
        }
        Ok(Self { tasks, ..place })
    }

    /// How many tasks, when all of them are on this node.
    fn count(&self, args: &Args, nodes: u32, of_job: u32) -> Result<u32, Failure> {
        let here = |text: &str| {
            expand(text).is_ok_and(|names| names.iter().all(|name| *name == self.node))
        };
        let asked = match &args.nodes {
            None => None,
            Some(text) => {
                let most = text.rsplit('-').next().unwrap_or(text);
                let wrong = || Failure::usage(anyhow::anyhow!("--nodes={text}: write a number"));
                Some(most.parse::<u32>().map_err(|_| wrong())?)
            }
        };
        let alone = nodes == 1 || asked == Some(1) || args.nodelist.as_deref().is_some_and(here);
        let tasks = args.tasks.or(args.ntasks_per_node);
        if asked.is_some_and(|asked| asked > nodes) {
            return Err(Failure::usage(anyhow::anyhow!(
                "--nodes: job {} has {nodes} nodes, not more",
                self.key
            )));
        }
        if !alone {
            let away = format!(
                "job {} has {nodes} nodes: srun starts tasks on the script's own node only",
                self.key
            );
            return Err(Failure::message(away).hint(
                "`srun -N1 -n COUNT` runs here; `--launch per-task` at submission runs the script \
                 once for each task on all nodes; `mpirun` starts MPI programs",
            ));
        }
        Ok(tasks.unwrap_or(if nodes == 1 { of_job } else { 1 }))
    }

    /// What a task finds in its environment besides the job's.
    #[must_use]
    pub fn environment(&self, task: u32) -> Vec<(&'static str, String)> {
        let tasks = self.tasks.to_string();
        let (task, step) = (task.to_string(), self.step.to_string());
        vec![
            ("SLURM_PROCID", task.clone()),
            ("KANT_TASK_RANK", task.clone()),
            ("SLURM_LOCALID", task.clone()),
            ("KANT_TASK_LOCAL_RANK", task.clone()),
            ("RANK", task.clone()),
            ("LOCAL_RANK", task),
            ("WORLD_SIZE", tasks.clone()),
            ("LOCAL_WORLD_SIZE", tasks.clone()),
            ("SLURM_NODEID", "0".to_owned()),
            ("SLURM_NTASKS", tasks.clone()),
            ("SLURM_NPROCS", tasks.clone()),
            ("SLURM_TASKS_PER_NODE", tasks.clone()),
            ("SLURM_STEP_ID", step.clone()),
            ("SLURM_STEPID", step),
            ("SLURM_STEP_NODELIST", self.node.to_string()),
            ("SLURM_STEP_NUM_NODES", "1".to_owned()),
            ("SLURM_STEP_NUM_TASKS", tasks.clone()),
            ("SLURM_STEP_TASKS_PER_NODE", tasks),
        ]
    }

    /// Where they meet, for those that look for it and were told nothing.
    #[must_use]
    pub fn rendezvous(
        &self,
        environment: &BTreeMap<String, String>,
    ) -> Vec<(&'static str, String)> {
        let first = environment.get("KANT_NODE_FIRST_ADDRESS").cloned();
        let address = first.unwrap_or_else(|| self.node.to_string());
        let usual = [
            ("MASTER_ADDR", address.clone()),
            ("MASTER_PORT", rendezvous::port(self.key).to_string()),
            ("SLURM_LAUNCH_NODE_IPADDR", address),
        ];
        usual.into_iter().filter(|(name, _)| !environment.contains_key(*name)).collect()
    }

    /// A file's path: sbatch's letters, `%s` for the step and `%J` for job and step.
    #[must_use]
    pub fn path(&self, pattern: &str, task: u32, directory: &str) -> PathBuf {
        let facts = PatternFacts {
            key: self.key,
            job_name: &self.job_name,
            user: &self.user,
            node: &self.node,
            node_rank: self.node_rank,
            task_rank: task,
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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn found(words: &str, nodes: &str) -> Result<Place, String> {
        let environment = [
            ("KANT_JOB_ID", "42_7"),
            ("KANT_NODE", "g-1"),
            ("KANT_NODE_COUNT", nodes),
            ("KANT_TASKS", "4"),
            ("KANT_NODE_CPUS", "8"),
        ];
        let environment =
            environment.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let args = Args::parse_from(words.split(' '));
        Place::find(&args, &environment).map_err(|failure| failure.to_string())
    }

    #[test]
    fn a_step_has_the_jobs_tasks_unless_told_otherwise() {
        let tasks = |words| found(words, "1").unwrap().tasks;
        assert_eq!((tasks("srun true"), tasks("srun -n2 true")), (4, 2));
        assert_eq!(tasks("srun --ntasks-per-node=3 true"), 3);
        assert_eq!(tasks("srun -n 99 -O true"), 99);
    }

    #[test]
    fn what_does_not_fit_or_is_elsewhere_is_refused_with_a_way_out() {
        assert!(found("srun -n9 true", "1").unwrap_err().contains("8 CPUs"));
        assert!(found("srun -n4 -c4 true", "1").unwrap_err().contains("overcommit"));
        assert!(found("srun -N2 true", "1").unwrap_err().contains("has 1 nodes"));
        assert!(found("srun true", "2").unwrap_err().contains("-N1"));
        assert!(found("srun --jobid=7 true", "1").unwrap_err().contains("--jobid=7"));
        assert_eq!(found("srun -N1 true", "2").unwrap().tasks, 1);
        assert_eq!(found("srun -w g-1 -n3 true", "2").unwrap().tasks, 3);
        let outside = Place::find(&Args::parse_from(["srun", "true"]), &BTreeMap::new());
        assert!(outside.unwrap_err().to_string().contains("inside a job"));
    }

    #[test]
    fn names_of_files_know_step_and_task() {
        let place = Place { step: 5, ..found("srun true", "1").unwrap() };
        let path = place.path("logs/%x-%A_%a-%s-%t-%J-%%s", 3, "/w");
        assert_eq!(path, PathBuf::from("/w/logs/job-42_7-5-3-42_7.5-%s"));
    }
}
