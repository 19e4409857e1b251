//! Reasons why a job waits and why a command was refused, as data, each with a sentence that names
//! what is missing and what to do next.

mod awaited;
mod bad_request;
mod bound;
mod need;
mod note;
mod refusal;
mod sentence;
mod topology;
mod wait;

pub use awaited::Awaited;
pub use bad_request::BadRequest;
pub use bound::{Bound, Counted, QuotaBound, What};
pub use note::Note;
pub use refusal::{
    InvitationRefusal, KeyRotationRefusal, Mend, NoRoom, Refusal, ServiceRefusal, TokenRefusal,
};
pub use sentence::plural;
pub use wait::{Nearest, Need, WaitReason};
