//! Everything that kant's three programs say to each other goes through here.
//!
//! The only shared IO of kantctld, kantd and kantctl: who a daemon is ([`ClusterKey`],
//! [`Identity`]), who calls ([`Caller`], [`User`]), where to listen ([`LocalListener`],
//! [`TlsListener`]), how to ask ([`Client`], [`forward`]), how a node stays in touch
//! ([`Channel`], [`Backoff`]).
//!
//! It never knows a message type (all is generic over serde), never decides what a user may do,
//! and never retries what might already have been carried out.

mod backoff;
mod caller;
mod channel;
mod client;
mod forward;
mod identity;
mod invitation;
mod key;
mod listen;
mod passable;
mod refusal;
mod tcp;
mod trusted;
mod users;

pub use backoff::Backoff;
pub use caller::{Caller, CallerError, USER_HEADER, User, Via, caller_identity};
pub use channel::{
    Channel, ChannelError, ChannelReceiver, ChannelSender, Keepalive, accept_channel,
    connect_channel,
};
pub use client::{Client, ClientError, Endpoint};
pub use forward::forward;
pub use identity::{Identity, IdentityError, Role};
pub use invitation::{invitation_hash, new_invitation};
pub use key::{ClusterKey, KeyError};
pub use listen::{ListenError, LocalListener, TlsListener, serve};
pub use passable::make_passable_dir;
pub use refusal::{ApiError, Refusal, RefusalCode};
pub use trusted::{TrustError, check_trusted, check_trusted_way};
pub use users::{OwnerRefusal, OwnerRules, UserRecord};
