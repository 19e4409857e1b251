//! Judge of the tables for routers.

use super::ServiceJudge;
use common::id::{Attempt, AttemptId, JobId, JobKey};
use common::job::Phase;
use common::service::table::EndpointState;
use common::wire::node::RouteOrder;
use state::State;

impl ServiceJudge {
    /// Checks a table that a leader sends to routers, in the state that it knows.
    pub fn published(&mut self, state: &State, table: &[RouteOrder]) {
        self.listed.clear();
        for route in table {
            for endpoint in &route.endpoints {
                let Some(id) = parse(&endpoint.id) else {
                    self.complain("endpoints", format!("{} names no attempt", endpoint.id));
                    continue;
                };
                if endpoint.state != EndpointState::Ready {
                    continue;
                }
                self.listed.insert(id);
                let current = state.element(id.key).map(|(_, element)| element);
                let runs = current.is_some_and(|element| {
                    element.attempt == id.attempt && element.phase == Phase::Running
                });
                let text = match (runs, self.answered.contains(&id)) {
                    (true, true) => continue,
                    (false, _) => format!("{id} is listed as ready, and does not run"),
                    (true, false) => format!("{id} is listed as ready, and never was"),
                };
                self.complain("endpoints", text);
            }
        }
    }
}

/// The attempt that an endpoint names: `role/place.` and the number of the job, followed by three
/// digits of the attempt.
fn parse(endpoint: &str) -> Option<AttemptId> {
    let (_, number) = endpoint.rsplit_once('.')?;
    let (job, attempt) = number.split_at_checked(number.len().checked_sub(3)?)?;
    let key = JobKey::single(JobId(job.parse().ok()?));
    Some(AttemptId { key, attempt: Attempt(attempt.parse().ok()?) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_three_digits_are_those_of_the_attempt() {
        let id = parse("front/0.12002").unwrap();
        assert_eq!((id.key.job, id.attempt), (JobId(12), Attempt(2)));
        assert_eq!(parse("front/0.02"), None);
        assert_eq!(parse("front"), None);
    }
}
