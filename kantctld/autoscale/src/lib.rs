//! Autoscaling: the number of replicas that a role of a service should have, and the reason, from
//! its policy and the metrics of the last minutes. [`decide`] is a pure function, so that a
//! decision can be repeated from a file ([`Record`]) and a policy tried on a recorded load.
//!
//! The rules are those of Knative ([`decide`] with `concurrency` and `rps`), Kubernetes
//! (`utilisation`), Llumnix and Dynamo (`queue`, `latency`); each module names its source. The
//! policies themselves are in `common::autoscale`, since a service's specification contains one.

mod amount;
mod freeness;
mod recent;
mod sample;

mod state;
mod window;

mod profile;
mod proposal;

mod latency;
mod per_replica;
mod queue;
mod utilisation;

mod decide;
mod ratio;

mod record;

pub use decide::{Decision, Moment, decide};
pub use freeness::{KvLoad, freeness};
pub use ratio::{Balance, Pair, Role, balance_roles};
pub use recent::Recent;
pub use record::Record;
pub use sample::{ReplicaLoad, Sample};
pub use state::{Change, Panic, State};
pub use window::Window;
