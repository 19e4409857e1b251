//! The handshake between controllers: the checks that a hello must pass. A refused controller gets
//! the reason and may try again.

use crate::raft::Members;
use crate::release::{RELEASE, WITH_PEERS};
use common::id::{ClusterId, ControllerId};
use common::time::{Span, Time};
use common::wire::Protocols;
use common::wire::peer::{FromPeer, LetterHead, PeerHello};

/// The most by which the clocks of two controllers may differ.
pub const CLOCK_GAP_MAX: Span = Span::from_seconds(60);

/// This controller as others see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalController {
    pub cluster: ClusterId,
    pub id: ControllerId,
    /// Where others reach it; may be empty.
    pub address: String,
}

/// Why a hello was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HelloRefusal {
    #[error(
        "controller {from} (kantctld {release}) uses controller protocol {theirs}, this one uses \
         {WITH_PEERS}: install the same release on both"
    )]
    OtherProtocol { from: ControllerId, release: String, theirs: Protocols },
    /// A different cluster with the same key.
    #[error(
        "controller {from} belongs to cluster {theirs}, this one to {ours}: correct the address of \
         one of them, and give each cluster its own key"
    )]
    OtherCluster { from: ControllerId, theirs: ClusterId, ours: ClusterId },
    #[error(
        "controller {from} wants controller {wanted} and reached controller {id}: \
         `kantctl admin controller status` shows their addresses"
    )]
    OtherReceiver { from: ControllerId, wanted: ControllerId, id: ControllerId },
    #[error(
        "controller {from} was removed from the cluster: stop it, or make it a new member with \
         `kantctld rebuild`"
    )]
    Removed { from: ControllerId },
    #[error(
        "the clock of controller {from} shows {theirs}, that of controller {id} {ours}: they may \
         differ by at most {} s; correct NTP on the wrong one", CLOCK_GAP_MAX.seconds()
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

    pub fn answer(&self) -> FromPeer {
        FromPeer::Refused { code: self.code().to_owned(), reason: self.to_string() }
    }
}

impl LocalController {
    /// The hello that this controller sends.
    pub fn hello(&self, to: ControllerId, now: Time, snapshot: Option<LetterHead>) -> PeerHello {
        PeerHello {
            protocol: WITH_PEERS.newest,
            oldest_protocol: WITH_PEERS.announced_oldest(),
            release: RELEASE.to_owned(),
            cluster: self.cluster,
            from: self.id,
            to,
            address: self.address.clone(),
            now,
            snapshot,
        }
    }

    /// Checks a hello. Returns the version of the protocol that both use.
    ///
    /// # Errors
    /// [`HelloRefusal`].
    pub fn check(
        &self,
        hello: &PeerHello,
        members: &Members,
        now: Time,
    ) -> Result<u32, HelloRefusal> {
        let from = hello.from;
        let theirs = Protocols::from_announced(hello.protocol, hello.oldest_protocol);
        let Some(protocol) = WITH_PEERS.newest_common(theirs) else {
            let release = hello.release.clone();
            return Err(HelloRefusal::OtherProtocol { from, release, theirs });
        };
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
        Ok(protocol)
    }
}

/// Whether a member was removed. Ids are never reused: an id at most the last one given, and not a
/// member, was removed. A higher one may have joined while this controller was away or is new.
pub fn was_removed(members: &Members, id: ControllerId) -> bool {
    id <= members.last && !members.has(id)
}

/// Whether two clocks are close enough.
pub fn clocks_agree(one: Time, other: Time) -> bool {
    one.since(other).max(other.since(one)) <= CLOCK_GAP_MAX
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raft::Member;

    const NOW: Time = Time(1_800_000_000_000);

    fn me() -> LocalController {
        LocalController { cluster: ClusterId(7), id: ControllerId(1), address: String::new() }
    }

    fn hello() -> PeerHello {
        LocalController { id: ControllerId(2), ..me() }.hello(ControllerId(1), NOW, None)
    }

    /// 1 votes, 2 was removed, 3 is the last added.
    fn members() -> Members {
        let mut members = Members::founding(ClusterId(7), ControllerId(1), Member::default());
        members.last = ControllerId(3);
        members.learners = vec![3];
        members
    }

    #[test]
    fn members_and_controllers_that_joined_meanwhile_are_accepted() {
        let from = |id| PeerHello { from: ControllerId(id), ..hello() };
        let protocol = Ok(WITH_PEERS.newest);
        assert_eq!(me().check(&from(3), &members(), NOW), protocol);
        assert_eq!(me().check(&from(4), &members(), NOW), protocol, "it joined later");
        assert_eq!(me().check(&from(2), &Members::default(), NOW), protocol, "this one is new");
        let next = PeerHello { oldest_protocol: Some(WITH_PEERS.newest), ..from(3) };
        let next = PeerHello { protocol: WITH_PEERS.newest + 1, ..next };
        assert_eq!(me().check(&next, &members(), NOW), protocol, "of the next release");
    }

    #[test]
    fn a_refusal_contains_the_error_and_the_remedy() {
        let fine = PeerHello { from: ControllerId(3), ..hello() };
        let cases = [
            (PeerHello { protocol: 9, ..fine.clone() }, "other_protocol", "install the same"),
            (PeerHello { cluster: ClusterId(8), ..fine.clone() }, "other_cluster", "its own key"),
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
