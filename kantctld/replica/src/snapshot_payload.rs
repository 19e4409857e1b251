//! The bytes of a snapshot: the length of the encoded members (4 bytes, little endian), the
//! members, the state.

use crate::error::{StoreError, decode_error};
use crate::members::Members;

/// Encodes a snapshot.
pub fn join(members: &Members, state: &[u8]) -> Result<Vec<u8>, StoreError> {
    let head = rmp_serde::to_vec_named(members).map_err(decode_error("a snapshot"))?;
    let mut payload = Vec::with_capacity(4 + head.len() + state.len());
    let length = u32::try_from(head.len()).map_err(decode_error("a snapshot"))?;
    payload.extend_from_slice(&length.to_le_bytes());
    payload.extend_from_slice(&head);
    payload.extend_from_slice(state);
    Ok(payload)
}

/// Decodes a snapshot.
pub fn split(payload: &[u8]) -> Result<(Members, &[u8]), StoreError> {
    let short = || decode_error("a snapshot")(std::io::Error::other("it is too short"));
    let (length, rest) = payload.split_first_chunk::<4>().ok_or_else(short)?;
    let (head, state) =
        rest.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or_else(short)?;
    let members: Members = rmp_serde::from_slice(head).map_err(decode_error("a snapshot"))?;
    match members.check() {
        Ok(()) => Ok((members, state)),
        Err(reason) => Err(decode_error("a snapshot")(std::io::Error::other(reason))),
    }
}
