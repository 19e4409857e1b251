//! Checks of the queues that need neither nodes nor the host: unique names, existing parents, no
//! cycle, one default. The replicated state makes the same checks.

use super::error::{Place, PolicyError, Problem};
use crate::id::QueueName;
use crate::policy::Policy;
use crate::policy::queue::Queue;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

/// Checks a policy as a whole.
///
/// # Errors
/// The first contradiction.
pub fn check(policy: &Policy) -> Result<(), PolicyError> {
    check_unique_names("queue", policy.queues.iter().map(|queue| &queue.name))?;
    check_unique_names("qos", policy.qos.iter().map(|qos| &qos.name))?;
    check_unique_names("account", policy.accounts.iter().map(|account| &account.name))?;
    one_default(&policy.queues)?;
    check_parents(&policy.queues)
}

/// The place of a key of the queue at this position.
pub(super) fn queue_place(number: usize, queue: &QueueName, key: Option<&'static str>) -> Place {
    Place { table: "queue", number: Some(number), name: Some(queue.to_string()), key }
}

fn check_unique_names<N: Ord + Display>(
    table: &'static str,
    names: impl Iterator<Item = N>,
) -> Result<(), PolicyError> {
    let mut seen = BTreeSet::new();
    for (number, name) in names.enumerate() {
        let text = name.to_string();
        if !seen.insert(name) {
            let place = Place { table, number: Some(number), name: Some(text), key: Some("name") };
            return Err(PolicyError::at(place, Problem::Twice));
        }
    }
    Ok(())
}

fn one_default(queues: &[Queue]) -> Result<(), PolicyError> {
    let mut defaults = queues.iter().enumerate().filter(|(_, queue)| queue.default);
    let Some((_, first)) = defaults.next() else {
        let place = Place { table: "queue", number: None, name: None, key: None };
        return Err(PolicyError::at(place, Problem::NoDefault));
    };
    let Some((number, second)) = defaults.next() else { return Ok(()) };
    let place = queue_place(number, &second.name, Some("default"));
    Err(PolicyError::at(place, Problem::TwoDefaults(first.name.clone())))
}

fn check_parents(queues: &[Queue]) -> Result<(), PolicyError> {
    let by_name: BTreeMap<&QueueName, &Queue> = queues.iter().map(|q| (&q.name, q)).collect();
    for (number, queue) in queues.iter().enumerate() {
        let place = || queue_place(number, &queue.name, Some("parent"));
        let mut path = vec![&queue.name];
        let mut above = queue.parent.as_ref();
        while let Some(name) = above {
            let Some(parent) = by_name.get(name) else {
                let known: Vec<&str> = by_name.keys().map(|name| name.as_str()).collect();
                let known = known.join(", ");
                return Err(PolicyError::at(
                    place(),
                    Problem::UnknownParent { parent: name.clone(), known },
                ));
            };
            let start = path.iter().position(|seen| *seen == name);
            path.push(name);
            if let Some(start) = start {
                let circle: Vec<&str> = path[start..].iter().map(|name| name.as_str()).collect();
                return Err(PolicyError::at(place(), Problem::Cycle(circle.join(" -> "))));
            }
            above = parent.parent.as_ref();
        }
    }
    Ok(())
}
