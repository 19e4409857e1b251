//! Checks for blocks of nodes close to each other (`--segment` with `--near`).

use super::AskError;
use crate::resource::Request;

/// Are the nodes a multiple of the block size, and is the distance within a block given?
pub(super) fn check(request: &Request) -> Result<(), AskError> {
    let Some(segment) = request.segment else { return Ok(()) };
    if request.near.is_none() {
        return Err(AskError::SegmentWithoutNear);
    }
    let even = |nodes: u32| nodes.checked_rem(segment.0) == Some(0);
    match request.nodes {
        Some(nodes) if even(nodes.0) => Ok(()),
        _ => Err(AskError::SegmentUneven { segment: segment.0 }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{Level, Nearness};
    use crate::unit::Nodes;

    fn blocks(nodes: Option<u32>, segment: u32) -> Request {
        Request {
            nodes: nodes.map(Nodes),
            near: Some(Nearness { level: Level::NvlinkDomain, required: true }),
            segment: Some(Nodes(segment)),
            ..Request::default()
        }
    }

    #[test]
    fn blocks_divide_the_nodes() {
        assert_eq!(check(&blocks(Some(16), 4)), Ok(()));
        for (nodes, segment) in [(Some(16), 5), (None, 4), (Some(4), 8), (Some(4), 0)] {
            let refused = check(&blocks(nodes, segment));
            assert_eq!(refused, Err(AskError::SegmentUneven { segment }), "{nodes:?}");
        }
    }

    #[test]
    fn blocks_are_near_to_something() {
        let request = Request { near: None, ..blocks(Some(16), 4) };
        assert_eq!(check(&request), Err(AskError::SegmentWithoutNear));
    }
}
