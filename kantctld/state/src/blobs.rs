//! Scripts and environments. Each text is kept once, even if many jobs share it, until the last of
//! them drops it.

use common::blob::BlobHash;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Texts by content hash, with the number of records that refer to each.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Blobs(BTreeMap<BlobHash, Blob>);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Blob {
    #[serde(with = "bytes")]
    text: Arc<[u8]>,
    /// At least one.
    uses: u32,
}

impl Blobs {
    #[must_use]
    pub fn get(&self, hash: &BlobHash) -> Option<&[u8]> {
        self.0.get(hash).map(|blob| blob.text.as_ref())
    }

    /// Every hash with the number of its uses.
    pub fn uses(&self) -> impl Iterator<Item = (&BlobHash, u32)> {
        self.0.iter().map(|(hash, blob)| (hash, blob.uses))
    }

    /// Adds a use of the text with this hash, and keeps the text if it is new.
    pub(crate) fn add_use(&mut self, hash: BlobHash, text: &[u8]) -> BlobHash {
        let blob = self.0.entry(hash).or_insert_with(|| Blob { text: text.into(), uses: 0 });
        blob.uses = blob.uses.saturating_add(1);
        hash
    }

    pub(crate) fn drop_use(&mut self, hash: &BlobHash) {
        if let Some(blob) = self.0.get_mut(hash) {
            blob.uses = blob.uses.saturating_sub(1);
            if blob.uses == 0 {
                self.0.remove(hash);
            }
        }
    }
}

/// Serializes texts as byte strings: the derived form would write each byte as a number.
mod bytes {
    use serde::de::{Error, SeqAccess, Visitor};
    use serde::{Deserializer, Serializer};
    use std::fmt;
    use std::sync::Arc;

    pub(super) fn serialize<S: Serializer>(text: &Arc<[u8]>, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(text)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<[u8]>, D::Error> {
        from.deserialize_byte_buf(Bytes)
    }

    struct Bytes;

    impl<'de> Visitor<'de> for Bytes {
        type Value = Arc<[u8]>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "bytes")
        }

        fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Self::Value, E> {
            Ok(bytes.into())
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            let mut bytes = Vec::new();
            while let Some(byte) = seq.next_element()? {
                bytes.push(byte);
            }
            Ok(bytes.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_lives_as_long_as_its_last_user() {
        let mut blobs = Blobs::default();
        let text = b"#!/bin/sh\n";
        let hash = blobs.add_use(BlobHash::of(text), text);
        assert_eq!(blobs.add_use(BlobHash::of(text), text), hash);
        assert_eq!(blobs.uses().collect::<Vec<_>>(), [(&hash, 2)]);
        blobs.drop_use(&hash);
        assert_eq!(blobs.get(&hash), Some(&b"#!/bin/sh\n"[..]));
        blobs.drop_use(&hash);
        assert_eq!(blobs.get(&hash), None);
    }
}
