//! Jobs: requests, states and ends.

pub mod array;
pub mod asked;
pub mod attributes;
pub mod check;
pub mod dependency;
pub mod end;
pub mod mail;
mod moving;
pub mod patch;
pub mod pattern;
mod probe;
pub mod rendezvous;
mod replica;
mod set;
pub mod size;
pub mod spec;
pub mod state;
pub mod step;
pub mod warning;

pub use crate::constraint::Constraint;
pub use array::ArraySpec;
pub use attributes::Attribute;
pub use dependency::Dependency;
pub use end::{EndCause, ExitStatus, GpuUsage, PreemptReason, Preempted, StepEnd, Usage};
pub use mail::{Mail, MailEvent, MailEvents};
pub use moving::Moving;
pub use patch::{ChangeError, Patch};
pub use probe::{Probe, ProbeAction, Probes};
pub use replica::{Metrics, MetricsSource, PortGrant, Replica, ReplicaHealth, ReplicaStatus};
pub use set::{SetPlace, check_size};
pub use size::{JobSize, ResizeSignal};
pub use spec::{Ask, Launch, OpenMode, Owner, Rlimit, Spec};
pub use state::{Change, Outcome, Phase};
pub use step::{STEPS_REPORTED_MAX, StepRecord};
pub use warning::{SignalNumber, Warned, Warning};
