//! The network layer of kant's three programs.
//!
//! It is the only IO that kantctld, kantd and kantctl share: the identity of daemons
//! ([`ClusterKey`], [`Identity`]) and callers ([`Caller`], [`User`]), listeners
//! ([`LocalListener`], [`TlsListener`]), requests ([`Client`], [`forward`]) and the channel of a
//! node ([`Channel`], [`Backoff`]).
//!
//! It is generic over message types, never authorizes users, and never retries a request that might
//! already have been carried out.

mod backoff;
mod passable;
mod refusal;
mod tcp;
mod trusted;
mod users;

mod key;
pub mod limiter;

mod role;
mod secret;

mod authority;
mod invitation;

mod pinned;
mod private_file;

mod cluster_keys;
mod credentials;
mod identity;

mod authorities;
mod new_key;

mod caller;
mod client;
mod revocations;

mod channel;
mod listen;

mod forward;

/// The HTTP types that a [`Client`] sends and receives.
pub use axum::{
    body::{Body, Bytes, to_bytes},
    http,
};

pub use authorities::Authorities;
pub use authority::{Authority, PublicKey};
pub use backoff::Backoff;
pub use caller::{
    Caller, CallerError, Program, TOKEN_HINT, USER_HEADER, User, UserGroups, Via, caller_identity,
    ignore_roles,
};
pub use channel::{
    Channel, ChannelError, ChannelReceiver, ChannelSender, Keepalive, accept_channel,
    connect_channel,
};
pub use client::{Client, ClientError, Endpoint};
pub use cluster_keys::ClusterKeys;
pub use credentials::{Credentials, CredentialsError};
pub use forward::forward;
pub use identity::{Identity, TrustEpoch};
pub use invitation::{Invitation, NotAnInvitation};
pub use key::{ClusterKey, KeyError};
pub use listen::{
    HttpListener, ListenError, LocalListener, PemFiles, TlsListener, serve, serve_revocable,
};
pub use new_key::{NewKey, parse_public_key};
pub use passable::make_passable_dir;
pub use refusal::{ApiError, ErrorBody, Refusal, RefusalCode};
pub use revocations::{LINGER, Revocations};
pub use role::{IdentityError, Role, check_node_name};
pub use secret::{new_token, secret_hash};
pub use trusted::{TrustError, check_trusted, check_trusted_parents};
pub use users::{OwnerRefusal, OwnerRules, UserRecord};
