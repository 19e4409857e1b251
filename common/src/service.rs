//! Services: long-running programs in replicas, beside batch jobs. A service has roles; each role
//! runs a number of equal replicas; each replica is an ordinary job without a time limit. A change
//! of the specification makes a new revision, to which the replicas are moved step by step.

mod check;
pub mod engine;
mod event;
pub mod load;
mod spec;
pub mod table;
mod update;

pub use check::{
    PORTS_MAX, REPLICAS_MAX, REVISIONS_KEPT, ROLES_MAX, SERVICES_PER_USER_MAX, SpecError,
    check_spec,
};
pub use event::{EVENTS_KEPT, ScaledBy, ServiceEvent, ServiceEventKind, StopReason, UpdateFailure};
pub use spec::{Base, Bounds, RatioSpec, RoleSpec, ServiceSpec};
pub use update::UpdatePolicy;
