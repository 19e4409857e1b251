//! What happens in a simulated cluster, in the order in which it happens.

use common::id::{JobKey, ServiceName};
use common::job::{Replica, ReplicaHealth};
use common::service::ServiceEventKind;
use state::Event;

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Happening {
    /// The state changed.
    Changed(Event),
    /// A service has another event, as its users see it.
    Service { name: ServiceName, event: ServiceEventKind },
    /// A replica became ready, or was ready and leaves the discovery.
    Replica { replica: Box<Replica>, key: JobKey, health: ReplicaHealth },
}
