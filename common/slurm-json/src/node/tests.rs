//! Nodes in Slurm's fields.

use super::*;
use crate::field::check_table;
use common::id::{QueueName, Uid};
use common::node::{Contact, Drain, NodeStatus};
use common::time::Time;
use common::unit::{Cpus, Gpus};
use testkit::{inventory, name};

fn view() -> NodeView {
    NodeView {
        name: name("g-1"),
        status: NodeStatus::Mixed,
        contact: Contact::Connected,
        drain: None,
        resumed: None,
        inventory: inventory(16, 64, 2),
        cpus_used: Cpus(4),
        memory_used: Bytes::from_mib(8192),
        gpus_used: Gpus(1),
        jobs: Vec::new(),
        address: "10.0.0.1".to_owned(),
        version: "0.1.0".to_owned(),
        findings: Vec::new(),
        data: Vec::new(),
        revoked_at: None,
    }
}

fn shown(view: &NodeView, version: Version) -> Value {
    let queue = Queue::with_defaults(QueueName::new("main").unwrap());
    let queues = QueueList { queues: vec![queue], ..QueueList::default() };
    let drained_by = view.drain.as_ref().map(|_| "root");
    node(&NodeContext { node: view, queues: &queues, cluster: "c", drained_by }, version)
}

#[test]
fn no_field_stands_in_the_way_of_another() {
    check_table(ROWS);
}

#[test]
fn a_node_has_plain_values_in_0_0_38() {
    let mut drained = view();
    drained.status = NodeStatus::Draining;
    drained.drain = Some(Drain {
        reason: "fan".to_owned(),
        since: Time(90_000),
        by: Uid(0),
        cause: common::health::DrainCause::default(),
    });
    let node = shown(&drained, Version::V38);
    let expected = json!({
        "name": "g-1", "state": "mixed", "state_flags": ["DRAIN"], "free_memory": 57344,
        "real_memory": 65536, "alloc_memory": 8192, "cpus": 16, "alloc_cpus": 4, "idle_cpus": 12,
        "features": "", "gres": "gpu:h100:2", "gres_used": "gpu:h100:1", "reason": "fan",
        "reason_changed_at": 90, "reason_set_by_user": "root", "slurmd_version": "0.1.0",
        "boot_time": 0, "owner": null, "partitions": ["main"], "tres": "cpu=16,mem=64G,gres/gpu=2",
        "tres_used": "cpu=4,mem=8G,gres/gpu=1", "weight": 1,
    });
    for (field, value) in expected.as_object().unwrap() {
        assert_eq!(node[field], *value, "{field}");
    }
    for absent in ["free_mem", "version", "effective_cpus"] {
        assert_eq!(node.get(absent), None, "{absent}");
    }
}

#[test]
fn a_node_has_states_and_lists_from_0_0_40_on() {
    let mut silent = view();
    silent.status = NodeStatus::Down;
    silent.contact = Contact::Silent { since: Time(0) };
    for version in Version::all().filter(|version| *version > Version::V38) {
        let node = shown(&silent, version);
        let number = |set, number| json!({ "set": set, "infinite": false, "number": number });
        let expected = json!({
            "state": ["DOWN", "NOT_RESPONDING"], "features": [], "active_features": [],
            "free_mem": number(true, 57344), "boot_time": number(true, 0),
            "next_state_after_reboot": ["INVALID"], "owner": "", "reason": "Not responding",
            "reason_set_by_user": "", "version": "0.1.0", "alloc_idle_cpus": 12,
            "effective_cpus": 16, "cluster_name": "c", "resume_after": number(false, 0),
        });
        for (field, value) in expected.as_object().unwrap() {
            assert_eq!(node[field], *value, "{version} {field}");
        }
        for absent in ["free_memory", "slurmd_version", "state_flags", "idle_cpus"] {
            assert_eq!(node.get(absent), None, "{version} {absent}");
        }
        let has = |field: &str| node.get(field).is_some();
        assert_eq!(has("gpu_spec"), version >= Version::V41, "{version}");
        assert_eq!(has("topology"), version >= Version::V43, "{version}");
        assert_eq!(has("suspend_time"), version >= Version::V45, "{version}");
    }
}
