//! The judge on how near the components of a set are to each other.

use super::*;

#[test]
fn components_are_as_near_to_each_other_as_required() {
    let faults_with = |required, nodes: [&str; 2]| {
        let mut snapshot = cluster();
        set_leaf_groups(&mut snapshot, &[("l", "a"), ("m", "b g")]);
        change_policy(&mut snapshot, |policy| policy.fair_sharing = true);
        let near_all = Some(Nearness { level: Level::Leaf, required });
        for job in [1, 2] {
            let one = waiting(job, request(1, 1), 10);
            snapshot.set_waiting(WaitingJob { together: Some(key(1)), near_all, ..one });
        }
        let part = |job, node| match start(job, vec![share(node, 1, "0")]) {
            Decision::Start { key: own, attempt, allocation, .. } => {
                Decision::Start { key: own, attempt, allocation, group: Some(key(1)) }
            }
            other => other,
        };
        faults(&snapshot, &[part(1, nodes[0]), part(2, nodes[1])])
    };
    assert_eq!(faults_with(true, ["b", "g"]), "");
    let apart = "job 1 and its other components get nodes further apart than they allow";
    assert_eq!(faults_with(true, ["a", "b"]), apart);
    assert_eq!(faults_with(false, ["a", "b"]), "", "a preference is not checked");
}
