//! The positions of nodes by name. Each share of a job is found by the name of its node, several
//! times, so this is a table of hashes: a search in an ordered map reads a dozen other names.

use crate::id::NodeName;

/// An open-addressing table of positions, from 0 on and without gaps. The names themselves are with
/// the owner of the table.
#[derive(Debug, Clone, Default)]
pub struct NodeNames {
    /// A power of two of slots, at least half of them empty; a position is near the slot of its
    /// name's hash.
    slots: Vec<Option<Slot>>,
    len: u32,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    hash: u32,
    at: u32,
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

    /// Gives the next position to a name that is not in the table.
    pub fn add(&mut self, name: &NodeName) {
        let slot = Slot { hash: hash_of(name), at: self.len };
        self.len += 1;
        if self.slots.len() < 2 * self.len as usize {
            let more = vec![None; (4 * self.len as usize).next_power_of_two()];
            let known = std::mem::replace(&mut self.slots, more);
            known.into_iter().flatten().for_each(|slot| self.put(slot));
        }
        self.put(slot);
    }

    fn put(&mut self, slot: Slot) {
        let free = self.slots_of(slot.hash).find(|at| self.slots[*at].is_none());
        if let Some(at) = free {
            self.slots[at] = Some(slot);
        }
    }

    /// The position of a name. `None`: it is not in the table. `name_at`: the name at a position.
    pub fn find<'n>(&self, name: &NodeName, name_at: impl Fn(u32) -> &'n NodeName) -> Option<u32> {
        let hash = hash_of(name);
        let known = self.slots_of(hash).map_while(|at| self.slots[at]);
        let mut same = known.filter(|slot| slot.hash == hash);
        same.find(|slot| name_at(slot.at) == name).map(|slot| slot.at)
    }

    /// The slots where a name with this hash may be, the most likely one first.
    fn slots_of(&self, hash: u32) -> impl Iterator<Item = usize> + use<> {
        let count = self.slots.len();
        (0..count).map(move |step| (hash as usize).wrapping_add(step) & (count - 1))
    }
}

/// A hash of all bytes of a name, eight at a time.
fn hash_of(name: &NodeName) -> u32 {
    let (words, rest) = name.as_str().as_bytes().as_chunks::<8>();
    let rest = rest.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
    let words = words.iter().map(|word| u64::from_le_bytes(*word)).chain([rest]);
    let hash = words.fold(0_u64, |hash, word| {
        // The constant is 2^64 divided by the golden ratio. A product spreads bits only upwards.
        let product = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        product ^ product >> 32
    });
    (hash & u64::from(u32::MAX)) as u32
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
            names.add(&all[count - 1]);
            for (at, name) in (0..).zip(&all) {
                let found = names.find(name, |at| &all[at as usize]);
                assert_eq!(found, (at < names.len()).then_some(at), "{name} of {count}");
            }
        }
    }
}
