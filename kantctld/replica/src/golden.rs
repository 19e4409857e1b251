//! Tests of the formats of peer messages and snapshots against files in `tests/golden/`. The README
//! there says when `previous/` changes.
#![allow(clippy::unwrap_used)] // a test fails by panicking

use crate::members::{Member, Members};
use crate::peer_message::PeerMessage;
use crate::snapshot_payload;
use common::id::{ClusterId, ControllerId};
use protobuf::Message as _;
use raft::eraftpb::{Entry, Message, MessageType};
use std::path::{Path, PathBuf};

fn golden_path(set: &str, name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(set).join(name)
}

/// The current and the previous file; what is written now must equal the current one.
fn golden_files(name: &str, written: &[u8]) -> [Vec<u8>; 2] {
    let current = golden_path("current", name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&current, written).unwrap();
    }
    let current = std::fs::read(current).unwrap();
    assert!(current == written, "{name} is written differently: see tests/golden/README.md");
    [current, std::fs::read(golden_path("previous", name)).unwrap()]
}

#[test]
fn a_snapshot_matches_the_golden_file_and_both_are_read() {
    let member = |name: &str| Member {
        name: name.to_owned(),
        address: format!("{name}:7600"),
        becomes_voter: name == "ctl2",
    };
    let mut members = Members::founding(ClusterId(0xcafe), ControllerId(1), member("ctl1"));
    members.known.insert(ControllerId(2), member("ctl2"));
    members.last = ControllerId(4);
    members.learners = vec![2];
    for bytes in golden_files("snapshot", &snapshot_payload::join(&members, b"the state").unwrap())
    {
        let (read, state) = snapshot_payload::split(&bytes).unwrap();
        assert_eq!((read, state), (members.clone(), b"the state".as_slice()));
    }
}

#[test]
fn a_peer_message_matches_the_golden_file_and_both_are_read() {
    let mut entry = Entry { term: 3, index: 9, ..Entry::default() };
    entry.data = b"commands".to_vec().into();
    let mut message = Message { from: 1, to: 2, term: 3, commit: 8, ..Message::default() };
    message.set_msg_type(MessageType::MsgAppend);
    (message.log_term, message.index) = (3, 8);
    message.set_entries(vec![entry].into());
    let encoded = PeerMessage::encode(&message).unwrap();
    assert_eq!((encoded.to, encoded.has_snapshot), (ControllerId(2), false));
    for bytes in golden_files("peer_message", &encoded.bytes) {
        assert_eq!(Message::parse_from_bytes(&bytes).unwrap(), message);
    }
}
