//! A range of nodes (`--nodes=1-4`), converted to a range of tasks with one task per node.
//! Source: man sbatch, `--nodes`: "minnodes[-maxnodes]"; without `--ntasks`, one task a node.

use crate::job::attributes::{Attribute, Given};
use crate::resource::Request;
use crate::unit::Tasks;

/// A range of nodes in combination with incompatible options.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ElasticError {
    #[error("--nodes={nodes} with --ntasks={tasks}: give a range of nodes or of tasks, not both")]
    TwoRanges { nodes: String, tasks: String },
    /// A fixed number of tasks does not fit every number of nodes.
    #[error(
        "--nodes={nodes} with --ntasks={tasks}: give a single number of nodes, or omit --ntasks \
         for one task on each node"
    )]
    AllTasks { nodes: String, tasks: u32 },
    #[error(
        "--nodes={nodes} with {what}: give the tasks instead: --ntasks={least}-{most} and {what}"
    )]
    TasksEach {
        nodes: String,
        what: String,
        /// The smallest accepted number of tasks.
        least: u32,
        /// The largest number of tasks.
        most: u32,
    },
    /// The GPUs are counted for the whole job, not per node.
    #[error("--nodes={nodes} with --ntasks-per-gpu: omit the latter for one task on each node")]
    TasksPerGpu { nodes: String },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeRange {
    /// One task on each node.
    TaskEach {
        /// The smallest accepted number of nodes.
        least: u32,
    },
    /// The tasks are few enough that they never need more nodes.
    AnyNodes,
}

impl NodeRange {
    /// Applies the range to a request.
    pub fn apply_to(self, asked: &Request) -> Request {
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

/// The requested range of nodes, if any.
///
/// # Errors
/// [`ElasticError`] for a combination with incompatible options.
pub fn node_range(given: &Given) -> Result<Option<NodeRange>, ElasticError> {
    let Some((count, least)) = given.nodes().and_then(|count| Some((count, count.least?))) else {
        return Ok(None);
    };
    let (nodes, most) = (count.to_string(), count.most);
    if let Some(tasks) = given.tasks() {
        return match tasks.least {
            Some(few) => {
                let tasks = format!("{few}-{}", tasks.most);
                Err(ElasticError::TwoRanges { nodes, tasks })
            }
            None if least == 1 && tasks.most.0 <= most => Ok(Some(NodeRange::AnyNodes)),
            None => Err(ElasticError::AllTasks { nodes, tasks: tasks.most.0 }),
        };
    }
    if given.has(Attribute::NtasksPerGpu) {
        return Err(ElasticError::TasksPerGpu { nodes });
    }
    match given.get(Attribute::NtasksPerNode) {
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
    use crate::job::attributes::read_value;

    /// The range for options such as `nodes=1-4 ntasks=2`.
    fn read(words: &str) -> Result<Option<NodeRange>, String> {
        let mut given = Given::default();
        for word in words.split_whitespace() {
            let (name, text) = word.split_once('=').unwrap();
            let attribute = Attribute::by_name(name).unwrap();
            given.set(attribute, read_value(attribute.row().kind, text).unwrap());
        }
        node_range(&given).map_err(|error| error.to_string())
    }

    #[test]
    fn a_range_of_nodes_becomes_a_range_of_tasks() {
        assert_eq!(read("nodes=4"), Ok(None));
        assert_eq!(read("nodes=2-2"), Ok(None));
        let range = read("nodes=1-4 ntasks-per-node=1").unwrap();
        assert_eq!(range, Some(NodeRange::TaskEach { least: 1 }));
        let asked = Request { tasks: Tasks(4), ..Request::default() };
        let asked = range.unwrap().apply_to(&asked);
        assert_eq!((asked.nodes, asked.tasks, asked.tasks_min), (None, Tasks(4), Some(Tasks(1))));
        assert_eq!(asked.tasks_per_node, Some(Tasks(1)));
        assert_eq!(read("nodes=1-4 ntasks=3"), Ok(Some(NodeRange::AnyNodes)));
    }

    #[test]
    fn incompatible_options_are_refused_with_an_alternative() {
        for (words, text) in [
            ("nodes=1-4 ntasks=2-8", "a range of nodes or of tasks, not both"),
            ("nodes=1-4 ntasks=8", "give a single number of nodes"),
            ("nodes=2-4 ntasks=3", "give a single number of nodes"),
            ("nodes=1-4 ntasks-per-node=8", "--ntasks=8-32 and --ntasks-per-node=8"),
            ("nodes=1-4 gpus-per-node=8 ntasks-per-gpu=1", "one task on each node"),
        ] {
            let refused = read(words).unwrap_err();
            assert!(refused.contains(text), "{words}: {refused}");
        }
    }
}
