//! Reasons why a job waits and why a command was refused, as data, each with a sentence that names
//! what is missing and what to do next.

mod awaited;
mod bound;
mod need;
mod refusal;
mod sentence;
mod topology;
mod wait;

pub use awaited::Awaited;
pub use bound::{Bound, Counted, QuotaBound, What};
pub use refusal::{InvitationRefusal, NoRoom, Refusal};
pub use wait::{Nearest, Need, WaitReason};
