//! Decisions that are repeated from text.

use crate::role::{RoleUnderPolicy, in_flight, policy};
use autoscale::{Moment, Record};

#[test]
fn a_recorded_decision_is_repeated_from_its_line() {
    let text = "max = 9\n[concurrency]\ntarget = 2\ndown_delay_seconds = 60";
    let mut role = RoleUnderPolicy::new(policy(text), 1);
    let mut lines = Vec::new();
    for load in [1.0, 4.5, 30.0, 2.0, 0.0] {
        role.step(in_flight(role.current.0, load));
        role.now += 20;
        let RoleUnderPolicy { policy, window, current, state, now } = &role;
        let moment = Moment::utc(crate::role::seconds(*now));
        let record =
            Record::decide(policy.clone(), window.clone(), *current, state.clone(), moment);
        lines.push(serde_json::to_string(&record).unwrap());
    }
    for line in lines {
        let record: Record = serde_json::from_str(&line).unwrap();
        assert_eq!(record.repeat(), record.decision, "{line}");
    }
}
