//! Tests of the nodes' table and a node's record.

use super::*;
use common::cpuset::CpuSet;
use common::health::DrainCause;
use common::id::{NodeName, Uid};
use common::node::{Inventory, Resumed};
use common::time::Time;
use common::unit::{Bytes, Cpus, Gpus};

fn node(name: &str, gpus: u16) -> NodeView {
    NodeView {
        name: NodeName::new(name).unwrap(),
        status: NodeStatus::Mixed,
        contact: Contact::Connected,
        drain: None,
        resumed: None,
        inventory: Inventory {
            threads_per_core: 2,
            cores: vec![CpuSet::first_n(2); 8],
            numa: vec![],
            ..testkit::inventory(16, 64, gpus)
        },
        cpus_used: Cpus(4),
        memory_used: Bytes::from_mib(1536),
        gpus_used: Gpus(1),
        jobs: vec!["41".parse().unwrap()],
        address: "g-001.local".to_owned(),
        version: "0.1.0".to_owned(),
        findings: vec![],
        data: Vec::new(),
        revoked_at: None,
    }
}

fn drained() -> NodeView {
    let mut node = node("c-1", 0);
    node.status = NodeStatus::Down;
    node.contact = Contact::Silent { since: Time(1_700_000_000_000) };
    let since = Time(1_700_000_000_000);
    node.drain = Some(Drain {
        reason: "bad fan".to_owned(),
        by: Uid(0),
        since,
        cause: DrainCause::Operator,
    });
    node
}

#[test]
fn the_table_shows_usage_and_why_no_job_starts() {
    let expected = "\
NODE   STATE  CPUS    MEMORY  GPUS  KIND  JOBS  REASON
g-001  mixed  4/16  1.5G/64G   1/2  h100     1
c-1    down*  4/16  1.5G/64G     -  -        1  bad fan; silent since 2023-11-14 22:13:20
";
    let table = table(&[node("g-001", 2), drained()], &TimeZone::UTC);
    assert_eq!(table.render(None, false), expected);
    assert_eq!(table.render(Some(120), false), expected);
    let narrow = table.render(Some(80), false);
    assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
    assert!(narrow.contains("bad fan; silent"), "{narrow}");
}

#[test]
fn a_nodes_record_lists_its_gpus() {
    let text = record(&node("g-001", 1), &TimeZone::UTC);
    let text = anstream::adapter::strip_str(&text).to_string();
    assert!(text.contains("\ncpus        4 of 16 in use: 0-15\n"), "{text}");
    assert!(text.contains("0: h100, NVIDIA H100 80GB HBM3, 80G memory, GPU-0, NUMA node 0"));
}

#[test]
fn a_nodes_record_names_the_operators_who_drained_and_resumed_it() {
    let text =
        |node: &NodeView| anstream::adapter::strip_str(&record(node, &TimeZone::UTC)).to_string();
    let mut node = drained();
    assert!(text(&node).contains("drained     2023-11-14 22:13:20 by root\n"), "{}", text(&node));
    node.resumed = Some(Resumed { by: Uid(4_000_000_123), at: Time(1_700_000_060_000) });
    let resumed = "resumed     2023-11-14 22:14:20 by 4000000123\n";
    assert!(text(&node).contains(resumed), "{}", text(&node));
    // A drain by the controller names no user.
    node.drain.as_mut().unwrap().cause = DrainCause::FailedStarts;
    assert!(text(&node).contains("drained     2023-11-14 22:13:20\n"), "{}", text(&node));
}

#[test]
fn a_revoked_node_is_shown_as_revoked() {
    let mut node = drained();
    node.revoked_at = Some(Time(1_700_000_000_000));
    let text = record(&node, &TimeZone::UTC);
    assert!(text.contains("its certificate was revoked 2023-11-14"), "{text}");
}
