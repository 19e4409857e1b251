//! Checks for a range of tasks (`--ntasks=2-8`): the rest of the request must be valid for every
//! size in the range.

use super::AskError;
use crate::resource::{GpuRequest, Request};

/// Is the rest of the request valid with the fewest tasks as well?
pub(super) fn check(request: &Request) -> Result<(), AskError> {
    let most = request.tasks.0;
    let least = request.tasks_min.map_or(most, |least| least.0);
    if request.grow {
        check_growth(request, least)?;
    }
    if request.tasks_min.is_none() {
        return Ok(());
    }
    if !(1..=most).contains(&least) {
        return Err(AskError::TasksRange { least, most });
    }
    if let Some(nodes) = request.nodes.filter(|nodes| nodes.0 > least) {
        return Err(AskError::TasksRangeOnNodes { nodes: nodes.0, least });
    }
    if least < most && matches!(request.gpus, Some(GpuRequest::Total(_))) {
        return Err(AskError::TasksRangeWithGpus);
    }
    Ok(())
}

/// Nodes join a growing job while it runs, so the request must leave room for more.
fn check_growth(request: &Request, least: u32) -> Result<(), AskError> {
    if least >= request.tasks.0 {
        return Err(AskError::GrowWithoutRange);
    }
    if let Some(nodes) = request.nodes {
        return Err(AskError::GrowOnNodes { nodes: nodes.0 });
    }
    match request.segment {
        Some(_) => Err(AskError::GrowInSegments),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit::{Gpus, Nodes, Tasks};

    fn range(least: u32, most: u32) -> Request {
        Request { tasks: Tasks(most), tasks_min: Some(Tasks(least)), ..Request::default() }
    }

    #[test]
    fn the_smaller_number_is_smaller() {
        assert_eq!(check(&range(2, 8)), Ok(()));
        assert_eq!(check(&range(8, 8)), Ok(()));
        for (least, most) in [(0, 8), (9, 8)] {
            assert_eq!(check(&range(least, most)), Err(AskError::TasksRange { least, most }));
        }
    }

    #[test]
    fn every_node_has_a_task_even_of_the_fewest() {
        assert_eq!(check(&Request { nodes: Some(Nodes(2)), ..range(2, 8) }), Ok(()));
        let refused = check(&Request { nodes: Some(Nodes(4)), ..range(2, 8) });
        assert!(refused.unwrap_err().to_string().starts_with("4 nodes for as few as 2 tasks"));
    }

    #[test]
    fn a_growing_job_has_a_range_and_no_fixed_number_of_nodes() {
        let grows = |request| check(&Request { grow: true, ..request });
        assert_eq!(grows(range(1, 4)), Ok(()));
        for (request, says) in [
            (Request { tasks: Tasks(4), ..Request::default() }, "--nodes=1-4"),
            (range(4, 4), "--nodes=1-4"),
            (Request { nodes: Some(Nodes(2)), ..range(2, 8) }, "fixed number of 2 nodes"),
            (Request { segment: Some(Nodes(2)), ..range(2, 8) }, "--segment"),
        ] {
            let refused = grows(request).unwrap_err().to_string();
            assert!(refused.contains(says), "{refused}");
        }
    }

    #[test]
    fn gpus_grow_with_the_tasks() {
        let with = |gpus| check(&Request { gpus: Some(gpus), ..range(2, 8) });
        assert_eq!(with(GpuRequest::PerTask(Gpus(1))), Ok(()));
        assert_eq!(with(GpuRequest::PerNode(Gpus(8))), Ok(()));
        assert_eq!(with(GpuRequest::Total(Gpus(8))), Err(AskError::TasksRangeWithGpus));
    }
}
