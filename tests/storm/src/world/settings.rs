//! The settings of the cluster in all histories: its queues, and its network.

use common::id::{NodeName, QueueName, SwitchName};
use common::policy::queue::Queue;
use common::policy::{Factors, Order, Preemption};
use common::time::Span;
use common::topology::{Position, Topology};
use common::unit::Bytes;
use state::Settings;

/// More than any history has.
const NODES_MAX: usize = 32;

/// Three queues: a plain one, one whose jobs preempt others, and one whose jobs are preemptible.
pub(super) fn three_queues() -> Settings {
    let queue = |name: &str| Queue {
        memory_per_cpu: Bytes::from_mib(256),
        ..Queue::with_defaults(QueueName::new(name).expect("a valid name"))
    };
    let main = Queue { default: true, order: Order::default(), ..queue("main") };
    let by_priority = Preemption { by_priority: true, ..Preemption::default() };
    let urgent = Queue { priority: 10, preemption: by_priority, ..queue("urgent") };
    let yields = Preemption { preemptible: true, by_priority: true, ..Preemption::default() };
    let spare = Queue { priority: -10, preemption: yields, ..queue("spare") };
    Settings {
        cluster: "storm".to_owned(),
        queues: vec![main, urgent, spare],
        allow_root_jobs: false,
        kill_grace: Span::from_seconds(1),
        done_jobs_kept: Span::from_minutes(48 * 60),
        user_bounds: state::UserBounds::default(),
        qos: Vec::new(),
        accounts: Vec::new(),
        fair_sharing: false,
        yields_first: common::policy::YieldsFirst::default(),
        factors: Factors::default(),
        moves: common::policy::Moves::default(),
        topology: two_leafs(),
    }
}

/// Nodes are below two leaf switches in turn, in all histories.
fn two_leafs() -> Topology {
    let position = |place: usize| {
        let name = NodeName::new(format!("n{place}")).expect("a valid name");
        let leaf = SwitchName::new(format!("leaf-{}", place % 2)).ok();
        (name, Position { leaf, ..Position::default() })
    };
    Topology((0..NODES_MAX).map(position).collect())
}
