//! What found no room in the last round: as long as nothing comes free where it may run, it finds
//! none in the next. Never what is kept for others; a round looks at that again.

use super::Snapshot;
use crate::floor::NodeIndex;
use crate::line::KindId;
use std::collections::BTreeSet;

/// Kinds of waiting jobs for which no nodes had room, whatever is kept for others. Rounds that
/// decide the same are equal, whatever they are known to have found.
#[derive(Debug, Clone, Eq, Default)]
pub struct Full(pub(crate) BTreeSet<KindId>);

impl PartialEq for Full {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Snapshot {
    /// What the last round found full. It is to be handed over once all that this round decided is
    /// in the snapshot, and before anything else is; without it each round looks for itself.
    pub fn set_full(&mut self, full: Full) {
        self.full = full;
        self.came_free.clear();
    }

    /// Rounds do not say why jobs wait, unless the next one has to know.
    pub fn set_silent(&mut self, is_silent: bool) {
        self.is_silent = is_silent;
    }

    /// Somebody let go of something there.
    pub(super) fn comes_free(&mut self, at: NodeIndex) {
        self.freed.add(at);
        if !self.full.0.is_empty() {
            self.came_free.insert(at);
        }
    }

    /// What had no room may have some now.
    pub(super) fn forget_full(&mut self) {
        self.full = Full::default();
        self.came_free.clear();
    }
}
