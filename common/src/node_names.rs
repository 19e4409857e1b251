//! The positions of nodes by name. Each share of a job is found by the name of its node, several
//! times, so this is a table of hashes: a search in an ordered map reads a dozen other names.

use crate::id::NodeName;

/// An open-addressing table of positions, from 0 on and without gaps. The names themselves are with
/// the owner of the table.
#[derive(Debug, Clone, Default)]
pub struct NodeNames {
    /// A power of two of slots, at least half of them empty; a position is near the slot of its
    /// name's hash.
    slots: Vec<Option<u32>>,
    len: u32,
}

impl NodeNames {
    /// The number of names.
    #[must_use]
    pub const fn len(&self) -> u32 {
        self.len
    }

    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Gives the next position to a name that is not in the table. `name_at`: the name at each
    /// position up to this one.
    pub fn add<'n>(&mut self, name_at: impl Fn(u32) -> &'n NodeName) {
        self.len += 1;
        if self.slots.len() < 2 * self.len as usize {
            self.slots = vec![None; (4 * self.len as usize).next_power_of_two()];
            (0..self.len).for_each(|at| self.put(name_at(at), at));
        } else {
            self.put(name_at(self.len - 1), self.len - 1);
        }
    }

    fn put(&mut self, name: &NodeName, at: u32) {
        let free = self.slots_of(name).find(|slot| self.slots[*slot].is_none());
        if let Some(slot) = free {
            self.slots[slot] = Some(at);
        }
    }

    /// The position of a name. `None`: it is not in the table.
    pub fn find<'n>(&self, name: &NodeName, name_at: impl Fn(u32) -> &'n NodeName) -> Option<u32> {
        let mut known = self.slots_of(name).map_while(|slot| self.slots[slot]);
        known.find(|at| name_at(*at) == name)
    }

    /// The slots where this name may be, the most likely one first.
    fn slots_of(&self, name: &NodeName) -> impl Iterator<Item = usize> + use<> {
        // FNV-1a.
        let hash = name.as_str().bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let (count, first) = (self.slots.len(), (hash ^ (hash >> 32)) as usize);
        (0..count).map(move |step| first.wrapping_add(step) & (count - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_found_and_no_other_is() {
        let all: Vec<NodeName> =
            (0..100).map(|at| NodeName::new(format!("n{at}")).unwrap()).collect();
        let mut names = NodeNames::default();
        assert_eq!(names.find(&all[0], |at| &all[at as usize]), None);
        for count in 1..=all.len() {
            names.add(|at| &all[at as usize]);
            for (at, name) in (0..).zip(&all) {
                let found = names.find(name, |at| &all[at as usize]);
                assert_eq!(found, (at < names.len()).then_some(at), "{name} of {count}");
            }
        }
    }
}
