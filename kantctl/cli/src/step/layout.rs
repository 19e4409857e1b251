//! Distribution of a step's tasks over the nodes of its job.
//! Source: man srun (--distribution=block, --nodes, --ntasks, --ntasks-per-node).
//!
//! Tasks are assigned node by node, in order. Each used node gets one task before any gets more;
//! then the first node is filled, then the next. With 4 CPUs on each of two nodes, 2 tasks are
//! assigned 1 + 1, 6 are assigned 4 + 2, and 9 are refused, or distributed evenly with
//! --overcommit.

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    #[error(
        "{tasks} tasks with {each} CPUs need more than the {cpus} CPUs of the job on these nodes: \
         request fewer, or use --overcommit"
    )]
    TooMany { tasks: u32, each: u32, cpus: u64 },
}

/// The tasks to distribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LayoutRequest {
    pub tasks: u32,
    pub cpus_each: u32,
    /// The most tasks per node.
    pub most_each: Option<u32>,
    /// More tasks than CPUs are allowed.
    pub overcommit: bool,
}

/// The number of tasks on each node, given the job's CPUs there. Nodes without tasks are at the
/// end.
///
/// # Errors
/// [`LayoutError::TooMany`].
pub fn distribute_tasks(request: LayoutRequest, cpus: &[u32]) -> Result<Vec<u32>, LayoutError> {
    let each = request.cpus_each.max(1);
    let room = |cpus: &u32| (cpus / each).min(request.most_each.unwrap_or(u32::MAX));
    let mut rooms: Vec<u32> = cpus.iter().map(room).collect();
    let nodes = u32::try_from(cpus.len()).unwrap_or(u32::MAX);
    if request.overcommit && nodes > 0 {
        let even = request.tasks.div_ceil(nodes);
        rooms.iter_mut().for_each(|room| *room = (*room).max(even));
    }
    let mut given: Vec<u32> = rooms.iter().map(|_| 0).collect();
    let mut left = request.tasks;
    for (given, room) in given.iter_mut().zip(&rooms) {
        if left > 0 && *room > 0 {
            (*given, left) = (1, left - 1);
        }
    }
    for (given, room) in given.iter_mut().zip(&rooms) {
        let more = left.min(room.saturating_sub(*given));
        (*given, left) = (*given + more, left - more);
    }
    if left == 0 {
        return Ok(given);
    }
    let cpus = cpus.iter().map(|cpus| u64::from(*cpus)).sum();
    Err(LayoutError::TooMany { tasks: request.tasks, each: request.cpus_each, cpus })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn request(tasks: u32, cpus_each: u32) -> LayoutRequest {
        LayoutRequest { tasks, cpus_each, most_each: None, overcommit: false }
    }

    #[test]
    fn the_example_in_the_documentation() {
        assert_eq!(distribute_tasks(request(2, 1), &[4, 4]), Ok(vec![1, 1]));
        assert_eq!(distribute_tasks(request(6, 1), &[4, 4]), Ok(vec![4, 2]));
        assert_eq!(distribute_tasks(request(1, 1), &[4, 4]), Ok(vec![1, 0]));
        assert_eq!(distribute_tasks(request(3, 2), &[4, 4]), Ok(vec![2, 1]));
        assert!(matches!(
            distribute_tasks(request(9, 1), &[4, 4]),
            Err(LayoutError::TooMany { .. })
        ));
        let shared = LayoutRequest { overcommit: true, ..request(9, 1) };
        assert_eq!(distribute_tasks(shared, &[4, 4]), Ok(vec![5, 4]));
        let two = LayoutRequest { most_each: Some(2), ..request(4, 1) };
        assert_eq!(distribute_tasks(two, &[8, 8]), Ok(vec![2, 2]));
    }

    proptest! {
        #[test]
        fn all_tasks_are_assigned_and_no_node_is_overcommitted(
            tasks in 1_u32..60, each in 1_u32..4, cpus in vec(1_u32..16, 1..6),
        ) {
            match distribute_tasks(request(tasks, each), &cpus) {
                Ok(given) => {
                    prop_assert_eq!(given.iter().sum::<u32>(), tasks);
                    for (given, cpus) in given.iter().zip(&cpus) {
                        prop_assert!(given * each <= *cpus);
                    }
                }
                Err(_) => {
                    let room: u32 = cpus.iter().map(|cpus| cpus / each).sum();
                    prop_assert!(room < tasks);
                }
            }
        }
    }
}
