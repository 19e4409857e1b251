//! What the log's thread is told. Never holds more than there is room for: who asks, and who brings
//! letters, takes a place in the inbox first.

use super::Machine;
use common::id::ControllerId;
use replica::{Change, ProposeError, Told};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

/// Where an answer goes.
pub(super) type Ticket<M> = oneshot::Sender<Result<Told<<M as Machine>::Answer>, ProposeError>>;

/// Somebody's place in the inbox; given back when it is dropped.
pub(super) type Place = OwnedSemaphorePermit;

/// One thing to do.
pub(super) enum Message<M: Machine> {
    Propose(M::Command, Ticket<M>, Place),
    Read(Ticket<M>, Place),
    Change(Vec<Change>, Ticket<M>, Place),
    Transfer(Option<ControllerId>, oneshot::Sender<bool>),
    Letter(Vec<u8>, Place),
    Unreachable(ControllerId),
    SnapshotCarried(ControllerId, bool),
    Wake,
}
