//! Settings with a tree of queues.

use crate::house::{House, queue, settings};
use common::id::QueueName;
use common::job::Ask;
use common::policy::queue::Queue;
use state::{Command, Event, Settings};

fn below(name: &str, parent: &str) -> Queue {
    Queue { parent: QueueName::new(parent).ok(), ..queue(name, false) }
}

fn names(house: &House) -> Vec<&str> {
    house.state.queues().iter().map(|queue| queue.name.as_str()).collect()
}

#[test]
fn a_parent_must_be_a_queue_and_queues_stand_in_no_circle() {
    let mut house = House::new();
    for (queues, word) in [
        (vec![queue("main", true), below("a", "b")], "no queue b"),
        (vec![queue("main", true), below("a", "b"), below("b", "a")], "a -> b -> a"),
        (
            vec![Queue { parent: QueueName::new("main").ok(), ..queue("main", true) }],
            "main -> main",
        ),
    ] {
        let refusal = house.refused(Command::Configure(Settings { queues, ..settings() }));
        assert!(refusal.to_string().contains(word), "{refusal}");
    }
    let queues = vec![queue("main", true), below("a", "main"), below("b", "a")];
    assert_eq!(
        house.apply(Command::Configure(Settings { queues, ..settings() })),
        [Event::Configured]
    );
}

#[test]
fn a_queue_left_out_with_jobs_keeps_the_queues_above_it_whose_bounds_hold_for_them() {
    let mut house = House::new();
    let tree =
        vec![queue("main", true), below("lab", "main"), below("team", "lab"), queue("x", false)];
    house.apply(Command::Configure(Settings { queues: tree, ..settings() }));
    let job = house.submit(Ask { queue: QueueName::new("team").ok(), ..Ask::default() });
    let without = Settings { queues: vec![queue("main", true)], ..settings() };
    house.apply(Command::Configure(without));
    assert_eq!(names(&house), ["main", "lab", "team"]);
    assert_eq!(house.state.queues()[2].parent.as_ref().map(QueueName::as_str), Some("lab"));
    let refused = house.submission(Ask { queue: QueueName::new("lab").ok(), ..Ask::default() });
    assert_eq!(house.refused(refused).code(), "unknown_queue");

    assert_eq!(house.apply(Command::ForgetDone), [], "a job lives below");
    let cancel = house.cancel(common::id::JobKey::single(job));
    house.apply(cancel);
    assert_eq!(house.apply(Command::ForgetDone), [Event::Configured]);
    assert_eq!(names(&house), ["main"]);
}
