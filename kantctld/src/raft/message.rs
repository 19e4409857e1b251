//! The messages in the inbox of the log's thread. Requests and peer messages need a permit, which
//! limits the inbox.

use super::Machine;
use common::id::ControllerId;
use common::wire::peer::StateSum;
use replica::{Change, Completion, ProposeError};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

/// The channel for an answer.
pub(super) type Ticket<M> =
    oneshot::Sender<Result<Completion<<M as Machine>::Answer>, ProposeError>>;

/// A permit for one message in the inbox; released when dropped.
pub(super) type Permit = OwnedSemaphorePermit;

pub(super) enum Message<M: Machine> {
    Propose(M::Command, Ticket<M>, Permit),
    Read(Ticket<M>, Permit),
    Change(Vec<Change>, Ticket<M>, Permit),
    Transfer(Option<ControllerId>, oneshot::Sender<bool>),
    Peer(Vec<u8>, Permit),
    Unreachable(ControllerId),
    SnapshotCarried(ControllerId, bool),
    Sum(ControllerId, StateSum),
    Wake,
}
