//! Reading services and their replicas.

use super::State;
use crate::job::Record;
use crate::service::Service;
use common::id::ServiceName;

impl State {
    #[must_use]
    pub fn service(&self, name: &ServiceName) -> Option<&Service> {
        self.services.get(name)
    }

    /// All services, by name.
    pub fn services(&self) -> impl Iterator<Item = &Service> {
        self.services.values()
    }

    /// The unfinished replicas of a service, in the order in which they were submitted.
    pub fn replicas_of(&self, name: &ServiceName) -> impl Iterator<Item = &Record> {
        let jobs = self.replicas.get(name).into_iter().flatten();
        jobs.filter_map(|job| self.job(*job))
    }
}
