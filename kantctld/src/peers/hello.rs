//! Whose letters are taken: the rules a hello is held against. Never harms anybody: who is refused
//! is told why, and may ask again.

use crate::raft::Members;
use common::id::{ClusterId, ControllerId};
use common::time::{Span, Time};
use common::wire::peer::{FromPeer, LetterHead, PEER_PROTOCOL, PeerHello};

/// Clocks of two controllers may differ by so much.
pub const CLOCK_GAP_MAX: Span = Span::from_seconds(60);

/// Who this controller is to others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Me {
    pub cluster: ClusterId,
    pub id: ControllerId,
    /// Where others reach it; empty if nowhere.
    pub address: String,
}

/// Why a hello was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HelloRefusal {
    #[error(
        "controller {from} (kantctld {release}) speaks protocol {theirs} with controllers, this \
         one {PEER_PROTOCOL}: install one release on both"
    )]
    OtherProtocol { from: ControllerId, release: String, theirs: u32 },
    /// Another cluster with the same key.
    #[error(
        "controller {from} is of cluster {theirs}, this one of {ours}: correct the address of one \
         of them, and give each cluster a key of its own"
    )]
    OtherCluster { from: ControllerId, theirs: ClusterId, ours: ClusterId },
    /// The address belongs to another controller now.
    #[error(
        "controller {from} looks for controller {wanted} and reached controller {id}: \
         `kantctl admin controller status` shows their addresses"
    )]
    OtherReceiver { from: ControllerId, wanted: ControllerId, id: ControllerId },
    /// It has no part in the cluster any more.
    #[error(
        "controller {from} was removed from the cluster: stop it, or make it a new one with \
         `kantctld rebuild`"
    )]
    Removed { from: ControllerId },
    #[error(
        "the clock of controller {from} says {theirs}, that of controller {id} {ours}: they may \
         differ by {} s; mend NTP on the one that is wrong", CLOCK_GAP_MAX.seconds()
    )]
    Clock { from: ControllerId, theirs: Time, id: ControllerId, ours: Time },
}

impl HelloRefusal {
    fn code(&self) -> &'static str {
        match self {
            Self::OtherProtocol { .. } => "other_protocol",
            Self::OtherCluster { .. } => "other_cluster",
            Self::OtherReceiver { .. } => "other_receiver",
            Self::Removed { .. } => "removed",
            Self::Clock { .. } => "clock",
        }
    }

    /// As it is answered.
    pub fn answer(&self) -> FromPeer {
        FromPeer::Refused { code: self.code().to_owned(), reason: self.to_string() }
    }
}

impl Me {
    /// What this controller says when it dials.
    pub fn hello(&self, to: ControllerId, now: Time, snapshot: Option<LetterHead>) -> PeerHello {
        PeerHello {
            protocol: PEER_PROTOCOL,
            release: env!("CARGO_PKG_VERSION").to_owned(),
            cluster: self.cluster,
            from: self.id,
            to,
            address: self.address.clone(),
            now,
            snapshot,
        }
    }

    /// Holds a hello against the rules.
    ///
    /// # Errors
    /// [`HelloRefusal`].
    pub fn check(
        &self,
        hello: &PeerHello,
        members: &Members,
        now: Time,
    ) -> Result<(), HelloRefusal> {
        let from = hello.from;
        if hello.protocol != PEER_PROTOCOL {
            let (release, theirs) = (hello.release.clone(), hello.protocol);
            return Err(HelloRefusal::OtherProtocol { from, release, theirs });
        }
        if hello.cluster != self.cluster {
            let (theirs, ours) = (hello.cluster, self.cluster);
            return Err(HelloRefusal::OtherCluster { from, theirs, ours });
        }
        if hello.to != self.id || from == self.id {
            return Err(HelloRefusal::OtherReceiver { from, wanted: hello.to, id: self.id });
        }
        if was_removed(members, from) {
            return Err(HelloRefusal::Removed { from });
        }
        if !clocks_agree(hello.now, now) {
            let (theirs, ours) = (hello.now, now);
            return Err(HelloRefusal::Clock { from, theirs, id: self.id, ours });
        }
        Ok(())
    }
}

/// Numbers are never given twice: one that was given, and takes no part, is out. A higher one may
/// have joined while this controller was away, or is new here itself.
pub fn was_removed(members: &Members, id: ControllerId) -> bool {
    id <= members.last && !members.has(id)
}

/// Are two clocks near enough to each other?
pub fn clocks_agree(one: Time, other: Time) -> bool {
    one.since(other).max(other.since(one)) <= CLOCK_GAP_MAX
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raft::Member;

    const NOW: Time = Time(1_800_000_000_000);

    fn me() -> Me {
        Me { cluster: ClusterId(7), id: ControllerId(1), address: String::new() }
    }

    fn hello() -> PeerHello {
        Me { id: ControllerId(2), ..me() }.hello(ControllerId(1), NOW, None)
    }

    /// 1 votes, 2 was removed long ago, 3 is the last that was added.
    fn members() -> Members {
        let mut members = Members::founding(ClusterId(7), ControllerId(1), Member::default());
        members.last = ControllerId(3);
        members.learners = vec![3];
        members
    }

    #[test]
    fn a_controller_of_the_cluster_is_welcome_and_so_is_one_that_joined_meanwhile() {
        let from = |id| PeerHello { from: ControllerId(id), ..hello() };
        assert_eq!(me().check(&from(3), &members(), NOW), Ok(()));
        assert_eq!(me().check(&from(4), &members(), NOW), Ok(()), "it joined later");
        assert_eq!(me().check(&from(2), &Members::default(), NOW), Ok(()), "we are new");
    }

    #[test]
    fn others_are_told_what_is_wrong_and_what_to_do() {
        let fine = PeerHello { from: ControllerId(3), ..hello() };
        let cases = [
            (PeerHello { protocol: 9, ..fine.clone() }, "other_protocol", "install one release"),
            (
                PeerHello { cluster: ClusterId(8), ..fine.clone() },
                "other_cluster",
                "key of its own",
            ),
            (PeerHello { to: ControllerId(5), ..fine.clone() }, "other_receiver", "controller 5"),
            (PeerHello { from: ControllerId(1), ..fine.clone() }, "other_receiver", "reached"),
            (hello(), "removed", "rebuild"),
            (PeerHello { now: NOW + Span::from_seconds(3600), ..fine.clone() }, "clock", "NTP"),
            (PeerHello { now: NOW - Span::from_seconds(61), ..fine }, "clock", "2027-01-15T08:00"),
        ];
        for (hello, code, words) in cases {
            let refusal = me().check(&hello, &members(), NOW).unwrap_err();
            assert_eq!(refusal.code(), code, "{refusal}");
            assert!(refusal.to_string().contains(words), "{refusal}");
        }
    }
}
