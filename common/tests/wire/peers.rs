//! Messages between controllers, without the contents of raft messages, which belong to the
//! consensus library.

use crate::{Form, check};
use common::id::{ClusterId, ControllerId, LogIndex};
use common::rules_level::{RulesLevel, RulesLevels};
use common::time::Time;
use common::wire::peer::{
    FromPeer, LetterHead, PEER_PROTOCOL, PeerHello, PeerReport, StateSum, ToPeer,
};
use serde_bytes::ByteBuf;

#[test]
fn messages_of_controllers_match_the_golden_files() {
    let hello = |snapshot| {
        ToPeer::Hello(Box::new(PeerHello {
            protocol: PEER_PROTOCOL,
            oldest_protocol: None,
            release: "0.1.0".to_owned(),
            cluster: ClusterId(0xcafe),
            from: ControllerId(1),
            to: ControllerId(2),
            address: "ctl1:7600".to_owned(),
            now: Time(1_700_000_000_000),
            snapshot,
        }))
    };
    let said = vec![
        hello(None),
        hello(Some(LetterHead { bytes: 3, checksum: 7 })),
        ToPeer::Letters(vec![ByteBuf::from([1, 2]), ByteBuf::new()]),
        ToPeer::Chunk(ByteBuf::from([3])),
        ToPeer::Report(PeerReport {
            wall: Time(1_700_000_000_000),
            cluster: Some(Time(1_700_000_000_001)),
            levels: RulesLevels { oldest: RulesLevel(1), newest: RulesLevel(2) },
            sum: Some(StateSum { index: LogIndex(10_000), sum: 7 }),
        }),
    ];
    check(&Form::PACKED, "to-peer.msgpack", &said);
    let answered = vec![
        FromPeer::Welcome { release: "0.1.0".to_owned(), protocol: None },
        FromPeer::Refused { code: "clock".to_owned(), reason: "it is late".to_owned() },
        FromPeer::Arrived,
    ];
    check(&Form::PACKED, "from-peer.msgpack", &answered);
}
