//! A range of nodes (`--nodes=1-4`), as what the controller knows: a range of tasks, one on each
//! node. Never chooses how many.
//! Source: man sbatch, `--nodes`: "minnodes[-maxnodes]"; without `--ntasks`, one task a node.

use super::options::Options;
use common::resource::Request;
use common::unit::Tasks;

/// A range of nodes with what it does not go with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ElasticError {
    #[error("--nodes={nodes} with --ntasks={tasks}: give a range of nodes or of tasks, not both")]
    TwoRanges { nodes: String, tasks: String },
    /// All tasks are to be there, however many nodes.
    #[error(
        "--nodes={nodes} with --ntasks={tasks}: say one number of nodes, or leave --ntasks out for \
         one task on each node"
    )]
    AllTasks { nodes: String, tasks: u32 },
    /// More tasks than one on each node.
    #[error("--nodes={nodes} with {what}: say the tasks: --ntasks={least}-{most} and {what}")]
    TasksEach {
        nodes: String,
        what: String,
        /// With so many it is content.
        least: u32,
        /// So many it takes at most.
        most: u32,
    },
    /// The GPUs are the job's, not the nodes'.
    #[error("--nodes={nodes} with --ntasks-per-gpu: leave that out for one task on each node")]
    TasksPerGpu { nodes: String },
}

/// A range of nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeRange {
    /// One task on each.
    TaskEach {
        /// It is content with so many.
        least: u32,
    },
    /// For so few tasks that they are on no more nodes anyway.
    AnyNodes,
}

impl NodeRange {
    /// What is asked for with it.
    pub fn of(self, asked: &Request) -> Request {
        let nodes = None;
        match self {
            Self::AnyNodes => Request { nodes, ..asked.clone() },
            Self::TaskEach { least } => {
                let (tasks_min, tasks_per_node) = (Some(Tasks(least)), Some(Tasks(1)));
                Request { nodes, tasks_min, tasks_per_node, ..asked.clone() }
            }
        }
    }
}

/// The range of nodes that is asked for; `None`: there is none.
///
/// # Errors
/// [`ElasticError`] when it does not go with something else that is asked for.
pub fn nodes(options: &Options) -> Result<Option<NodeRange>, ElasticError> {
    let Some((count, least)) = options.nodes.and_then(|count| Some((count, count.least?))) else {
        return Ok(None);
    };
    let (nodes, most) = (count.to_string(), count.most);
    if let Some(tasks) = options.ntasks {
        return match tasks.least {
            Some(few) => {
                let tasks = format!("{few}-{}", tasks.most);
                Err(ElasticError::TwoRanges { nodes, tasks })
            }
            None if least == 1 && tasks.most.0 <= most => Ok(Some(NodeRange::AnyNodes)),
            None => Err(ElasticError::AllTasks { nodes, tasks: tasks.most.0 }),
        };
    }
    if options.ntasks_per_gpu.is_some() {
        return Err(ElasticError::TasksPerGpu { nodes });
    }
    match options.ntasks_per_node {
        None | Some(1) => Ok(Some(NodeRange::TaskEach { least })),
        Some(each) => Err(ElasticError::TasksEach {
            nodes,
            what: format!("--ntasks-per-node={each}"),
            least: least.saturating_mul(each),
            most: most.saturating_mul(each),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::submission::options::read_words;

    fn read(words: &str) -> Result<Option<NodeRange>, String> {
        let options = read_words(&words.split_whitespace().collect::<Vec<_>>()).unwrap();
        nodes(&options).map_err(|error| error.to_string())
    }

    #[test]
    fn a_range_of_nodes_is_one_of_tasks_with_one_on_each() {
        assert_eq!(read("-N 4"), Ok(None));
        assert_eq!(read("-N 2-2"), Ok(None));
        let range = read("-N 1-4 --ntasks-per-node=1").unwrap();
        assert_eq!(range, Some(NodeRange::TaskEach { least: 1 }));
        let asked = Request { tasks: Tasks(4), ..Request::default() };
        let asked = range.unwrap().of(&asked);
        assert_eq!((asked.nodes, asked.tasks, asked.tasks_min), (None, Tasks(4), Some(Tasks(1))));
        assert_eq!(asked.tasks_per_node, Some(Tasks(1)));
        assert_eq!(read("-N 1-4 -n 3"), Ok(Some(NodeRange::AnyNodes)));
    }

    #[test]
    fn what_a_range_of_nodes_does_not_go_with_is_said_with_the_way_out() {
        for (words, says) in [
            ("-N 1-4 -n 2-8", "a range of nodes or of tasks, not both"),
            ("-N 1-4 -n 8", "say one number of nodes"),
            ("-N 2-4 -n 3", "say one number of nodes"),
            ("-N 1-4 --ntasks-per-node=8", "--ntasks=8-32 and --ntasks-per-node=8"),
            ("-N 1-4 --gpus-per-node=8 --ntasks-per-gpu=1", "one task on each node"),
        ] {
            let refused = read(words).unwrap_err();
            assert!(refused.contains(says), "{words}: {refused}");
        }
    }
}
