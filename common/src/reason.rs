//! Why a job waits, and why a command was refused: typed, and each with a sentence that says what
//! is missing and what to do. Never decides; the engine and the state do.

mod awaited;
mod bound;
mod near;
mod need;
mod refusal;
mod sentence;
mod wait;

pub use awaited::Awaited;
pub use bound::{Bound, Counted, QuotaBound, What};
pub use refusal::{InvitationRefusal, NoRoom, Refusal};
pub use wait::{Nearest, Need, WaitReason};
