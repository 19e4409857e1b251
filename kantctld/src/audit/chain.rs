//! The chain of audit lines: each line ends with a hash of itself and of the hash before. A line
//! that is changed, inserted or removed breaks it. A user who may write the file can make a new
//! chain, so the last hash is worth copying to another host.

use common::hex::hex;
use sha2::{Digest, Sha256};

/// The bytes of a hash in a line.
const HASH_BYTES: usize = 16;
const FIELD: &str = ",\"chain\":\"";
const END: &str = "\"}";

/// The hash of the last line; empty before the first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Chain(String);

impl Chain {
    /// After this line, if it has a hash.
    pub(super) fn after(line: &str) -> Self {
        Self(split(line).map(|(_, hash)| hash.to_owned()).unwrap_or_default())
    }

    /// Adds the hash to a JSON object.
    pub(super) fn seal(&mut self, object: &str) -> String {
        self.0 = hash(&self.0, object);
        let fields = object.strip_suffix('}').unwrap_or(object);
        format!("{fields}{FIELD}{}{END}", self.0)
    }

    /// Whether the line follows. From then on, the chain is at that line in any case.
    pub(super) fn follows(&mut self, line: &str) -> bool {
        let follows = split(line).is_some_and(|(object, found)| hash(&self.0, &object) == found);
        *self = Self::after(line);
        follows
    }
}

/// The object before it was sealed, and its hash.
fn split(line: &str) -> Option<(String, &str)> {
    let (fields, rest) = line.rsplit_once(FIELD)?;
    let hash = rest.strip_suffix(END)?;
    (hash.len() == 2 * HASH_BYTES && common::hex::is_hex(hash))
        .then(|| (format!("{fields}}}"), hash))
}

fn hash(before: &str, object: &str) -> String {
    let digest = Sha256::new().chain_update(before).chain_update(object).finalize();
    hex(&digest[..HASH_BYTES])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lines: &[String]) -> Vec<bool> {
        let mut chain = Chain::default();
        lines.iter().map(|line| chain.follows(line)).collect()
    }

    #[test]
    fn a_changed_inserted_or_removed_line_breaks_the_chain_where_it_is() {
        let mut chain = Chain::default();
        let seal = |number: u32| format!("{{\"verb\":\"v{number}\"}}");
        let lines: Vec<String> = (0..5).map(|number| chain.seal(&seal(number))).collect();
        assert_eq!(check(&lines), [true; 5]);
        assert!(serde_json::from_str::<serde_json::Value>(&lines[0]).unwrap()["chain"].is_string());

        let mut changed = lines.clone();
        changed[2] = changed[2].replace("v2", "v9");
        assert_eq!(check(&changed), [true, true, false, true, true]);
        let mut removed = lines.clone();
        removed.remove(2);
        assert_eq!(check(&removed), [true, true, false, true]);
        let mut inserted = lines.clone();
        inserted.insert(2, seal(7));
        assert_eq!(check(&inserted), [true, true, false, false, true, true]);
        // A line with a hash that the attacker computed from the line before breaks the next one.
        let mut forged = lines;
        forged[2] = Chain::after(&forged[1]).seal(&seal(9));
        assert_eq!(check(&forged), [true, true, true, false, true]);
    }

    #[test]
    fn the_chain_goes_on_from_the_last_line_of_a_file() {
        let mut chain = Chain::default();
        let first = chain.seal("{}");
        let next = Chain::after(&first).seal("{\"a\":1}");
        assert_eq!(check(&[first, next]), [true, true]);
        assert_eq!(Chain::after("{\"d"), Chain::default());
    }
}
