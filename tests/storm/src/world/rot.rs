//! Damage to a controller's log or snapshot. Only damage that cannot cost an acknowledged job by
//! itself is done, because a cluster of three controllers must survive one damaged disk.

use super::World;
use super::operator::Task;
use crate::rng::Rng;
use common::id::ControllerId;
use wal::Disk as _;

/// Most bytes that are lost at the end of a log.
const END_BYTES_MAX: u64 = 600;

impl World {
    /// Damages the disk of a controller and restarts it. Either a bit flips in a part of a file
    /// that later writes prove complete: the controller itself finds that when it starts. Or the
    /// end of its log is erased as if it had never been synced. That looks like a torn write
    /// (decision 0005), so only the other controllers can find it.
    pub(super) fn damage(&mut self, id: ControllerId, rng: &mut Rng) {
        let voters = self.leader().map_or(0, |(_, members)| members.voters.len());
        let Some(host) = self.hosts.get(&id) else { return };
        // While a voter is removed, the two that stay are both needed.
        let is_shrinking = self.tasks.iter().any(|task| matches!(task, Task::Remove(_)));
        if self.rotten.is_some() || voters < 3 || is_shrinking && voters < 4 {
            return;
        }
        let memory = host.disk.memory.clone();
        let mut names = memory.list().unwrap_or_default();
        names.retain(|name| name.starts_with("log-") || name.starts_with("snapshot-"));
        let newest = names.iter().filter(|name| name.starts_with("log-")).max().cloned();
        let is_end = rng.percent(40) && self.all_hold_what_is_promised();
        let chosen = if is_end { newest } else { rng.one(&names).cloned() };
        let Some(name) = chosen else { return };
        let content = memory.content(&name).unwrap_or_default();
        if is_end {
            let used =
                content.iter().rposition(|byte| *byte != 0).map_or(0, |last| last as u64 + 1);
            let from = used.saturating_sub(rng.between(1, END_BYTES_MAX));
            (from..used).for_each(|offset| memory.corrupt_byte(&name, offset, |byte| *byte = 0));
            self.story.add(self.now_ms, || format!("{name} on c{id} ends at byte {from}"));
        } else {
            let proved = match name.starts_with("log-") {
                true => crate::disk::proved_bytes(&content),
                false => content.len() as u64,
            };
            let (offset, bit) = (rng.below(proved), rng.below(8));
            if proved == 0 {
                return;
            }
            memory.corrupt_byte(&name, offset, |byte| *byte ^= 1 << bit);
            self.story.add(self.now_ms, || format!("byte {offset} of {name} on c{id} turns"));
        }
        self.rotten = Some(id);
        self.kill_controller(id);
        self.start_soon(id, 500);
    }

    /// Do all voters hold the same log, all of it committed, and follow the same leader? Then one
    /// of them may lose the end of its log, because every majority still has a voter that holds it.
    fn all_hold_what_is_promised(&self) -> bool {
        let Some((leader, members)) = self.leader() else { return false };
        let stands = members.voters.iter().map(|id| {
            let host = self.hosts.get(&ControllerId(*id))?;
            let status = host.process.as_ref()?.replica().status();
            let is_decided = status.committed == status.last && status.leader == Some(leader);
            is_decided.then_some((status.term, status.last))
        });
        let stands: Option<Vec<_>> = stands.collect();
        !members.is_joint()
            && stands.is_some_and(|stands| stands.windows(2).all(|pair| pair[0] == pair[1]))
    }
}
