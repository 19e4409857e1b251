//! Where the share of the next report probably is.

/// The rank of the share that a node reported last: nodes report mostly in the order of ranks. It
/// is no part of the state, so all values are equal.
#[derive(Debug, Clone, Copy, Default)]
pub struct LastRank(pub(crate) u32);

impl PartialEq for LastRank {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
