//! Tests of the conversion of tables, and of the errors for contradictions.

use super::*;
use crate::config::read;
use crate::gpu::GpuKind;
use crate::id::{Gid, NodeName, Uid};
use crate::policy::{Behind, Order, Placement, QuotaMode, Sandbox, VictimMode};
use crate::time::Span;
use crate::unit::{Bytes, Cpus, Gpus};

struct Two;

impl Names for Two {
    fn user(&self, name: &str) -> Option<Uid> {
        (name == "ada").then_some(Uid(1000))
    }

    fn group(&self, name: &str) -> Option<Gid> {
        (name == "ml").then_some(Gid(50))
    }
}

fn with_topology(text: &str, csv: Option<&str>) -> Result<Policy, String> {
    let config: ControllerConfig = read("kantctld.toml", text).map_err(|e| e.to_string())?;
    let file = csv.map(|csv| TopologyFile::read("topology.csv", csv)).transpose();
    let file = file.map_err(|e| e.to_string())?;
    let topology = file.as_ref();
    let source = PolicySource { file: "kantctld.toml", text, config: &config, topology };
    policy(&source, &Two).map_err(|e| e.to_string())
}

fn made(text: &str) -> Result<Policy, String> {
    with_topology(text, None)
}

const FULL: &str = r#"
topology_file = "topology.csv"

[[queue]]
name = "lab"
nodes = "g[1-4]"
quota = { h100 = 32, cpus = 400, memory = "4T" }

[[queue]]
name = "train"
parent = "lab"
users = ["ada", "1007"]
groups = ["ml", "60"]
accounts = ["vision"]
order = "multifactor"
behind = "wait"
backfill_depth = 0
backfill_reservation = "pinned"
backfill_candidates = "shortest-first"
head_timeout = "2h"
placement = "fgd"
quota = { h100 = 16, gpus = 20 }
borrow_at_most = { h100 = 24 }
limits = { jobs = 10, gpu_minutes = 9000 }
limits_per_user = { gpus = 8 }
limits_per_account = { cpus = 64 }
preempt_by_priority = true
reclaim = false
preemptible = true
victims = "cancel"
runtime_min = "10m"
share_gpus = true
sandbox = "strict"

[[queue]]
name = "serve"
parent = "lab"
nodes = "g[3-4]"
zone = "inference"
zone_overflow = "wait"
placement = "espread"
quota_mode = "isolated"

[[qos]]
name = "urgent"
priority = 7
groups = ["ml"]
preemptible = false
time_limit_max = "4h"
limits = { gpus = 16 }

[[account]]
name = "vision"
users = ["ada", "7"]
groups = ["ml"]
shares = 3

[priority]
size = 100
half_life_hours = 24

[[zone]]
name = "inference"
nodes = "g[3-4]"
"#;

#[test]
fn every_key_arrives_where_it_belongs() {
    let csv = "name,leaf,spine,core\ng1,l1,s1,c1\ng2,l1,s1,c1\ng3,l2,s1,c1\n";
    let policy = with_topology(FULL, Some(csv)).unwrap();
    let [lab, train, serve] = policy.queues.as_slice() else { panic!("{:?}", policy.queues) };
    assert_eq!(lab.quota.amounts.memory, Some(Bytes(4 << 40)));
    assert_eq!(lab.quota.amounts.cpus, Some(Cpus(400)));
    assert_eq!(train.nodes, lab.nodes, "a queue without nodes has those of the one above");
    assert_eq!(train.access.users, [Uid(1000), Uid(1007)].into());
    assert_eq!(train.access.groups, [Gid(50), Gid(60)].into());
    assert_eq!((train.order, train.behind), (Order::Multifactor, Behind::Wait));
    assert_eq!((train.backfill.depth, train.placement), (0, Placement::Fgd));
    assert_eq!(train.backfill.head_timeout, Some(Span::from_minutes(120)));
    assert_eq!(train.quota.amounts.gpus_any, Some(Gpus(20)));
    assert_eq!(train.quota.at_most.gpus.get(&GpuKind("h100".to_owned())), Some(&Gpus(24)));
    assert_eq!((train.limits.jobs, train.limits.gpu_minutes), (Some(10), Some(9000)));
    assert_eq!(train.limits_per_user.gpus, Some(Gpus(8)));
    assert_eq!(train.limits_per_account.cpus, Some(Cpus(64)));
    let preemption = train.preemption;
    assert!(preemption.by_priority && !preemption.reclaim && preemption.preemptible);
    assert_eq!(preemption.victims, VictimMode::Cancel);
    assert_eq!(preemption.runtime_min, Span::from_minutes(10));
    assert_eq!((train.sandbox, serve.sandbox), (Sandbox::Strict, Sandbox::Default));
    assert!(train.share_gpus && train.default, "the first with none below is the default");
    assert_eq!(serve.quota.mode, QuotaMode::Isolated);
    assert_eq!((serve.nodes.len(), serve.zone.as_ref().unwrap().as_str()), (2, "inference"));
    assert_eq!((policy.qos[0].priority, policy.qos[0].preemptible), (7, Some(false)));
    assert_eq!((policy.accounts[0].shares, policy.factors.size), (3, 100));
    let members = &policy.accounts[0].access;
    assert_eq!((members.users.len(), members.groups.first()), (2, Some(&Gid(50))));
    let at = |node: &str| policy.topology.0[&NodeName::new(node).unwrap()].clone();
    assert_eq!(at("g1").superspine.unwrap().as_str(), "c1");
    assert_eq!((at("g3").zone, at("g3").leaf.unwrap().as_str()), (serve.zone.clone(), "l2"));
    assert_eq!(at("g4").leaf, None);
}

#[test]
fn without_queues_there_is_one_named_default_for_all_users() {
    let queues = made("").unwrap().queues;
    assert_eq!(queues.len(), 1);
    assert!(queues[0].default && queues[0].name.as_str() == "default");
    assert!(queues[0].access.is_open());
}

const TREE: &str = "[[queue]]\nname = \"a\"\nnodes = \"g[1-2]\"\n[[queue]]\nname = \"b\"\n";

#[test]
fn contradictions_are_refused_with_line_table_key_and_mend() {
    for (text, words) in [
        ("[[queue]]\n", &["line 1", "[[queue]] number 1", "no name"][..]),
        ("[[queue]]\nname = \"b\"\nparent = \"c\"\n", &["line 3", "no queue c", "one of b"]),
        ("[[queue]]\nname = \"b\"\nusers = [\"eve\"]\n", &["line 3, [[queue]] b, users", "eve"]),
        ("[[queue]]\nname = \"b\"\ngroups = [\"x\"]\n", &["no group `x`"]),
        ("[[queue]]\nname = \"b\"\nplaceemnt = \"fgd\"\n", &["line 3", "placeemnt", "placement"]),
        ("[[queue]]\nname = \"b\"\nplacement = \"tight\"\n", &["line 3", "tight", "ebinpack"]),
        ("[[queue]]\nname = \"b\"\nlimits = { job = 1 }\n", &["line 3", "`job`", "`jobs`"]),
        ("[[queue]]\nname = \"b\"\nquota = { cpu = 1 }\n", &["line 3", "write `cpus`"]),
        ("[[queue]]\nname = \"b\"\ntime_limit_max = \"soon\"\n", &["line 3", "`soon`"]),
        ("[[queue]]\nname = \"b\"\nhead_timeout = \"x\"\n", &["line 3", "head_timeout", "`x`"]),
        ("[[queue]]\nname = \"b\"\nnodes = \"g[\"\n", &["line 3", "nodes", "not a list of nodes"]),
        ("[[queue]]\nname = \"b\"\nmemory_per_cpu = \"x\"\n", &["line 3", "memory_per_cpu"]),
        (
            "[[queue]]\nname=\"b\"\ntime_limit_default=\"9\"\ntime_limit_max=\"5\"\n",
            &["line 3", "longer"],
        ),
        ("[[queue]]\nname = \"b\"\nzone = \"z\"\n", &["line 3", "no zone z", "[[zone]]"]),
        (
            "[[queue]]\nname=\"b\"\nquota={gpus=9}\nborrow_at_most={gpus=8}\n",
            &["line 4", "gpus = 8 is below"],
        ),
        (
            "[[queue]]\nname=\"b\"\nquota_mode=\"isolated\"\nborrow_at_most={gpus=8}\n",
            &["line 4", "cannot borrow"],
        ),
        (
            "[[queue]]\nname=\"b\"\naccounts=[\"x\"]\n[[account]]\nname=\"y\"\n",
            &["line 3", "no [[account]] x"],
        ),
        ("[[account]]\nname=\"x\"\nusers=[\"eve\"]\n", &["line 3, [[account]] x, users", "eve"]),
        ("[[qos]]\nname = \"u\"\n[[qos]]\nname = \"u\"\n", &["line 4, [[qos]] u", "the same name"]),
        (
            "[priority]\nhalf_life_hours = 0\n",
            &["line 2, [priority], half_life_hours", "1 or more"],
        ),
        ("[[leaf]]\nname = \"l\"\n", &["line 1, [[leaf]] l", "no nodes"]),
        (
            "[[leaf]]\nname=\"l\"\nnodes=\"g1\"\n[[leaf]]\nname=\"m\"\nnodes=\"g[1-2]\"\n",
            &["line 6", "g1 is already in leaf l"],
        ),
    ] {
        let error = made(text).unwrap_err();
        assert!(error.contains("kantctld.toml"), "{error}");
        assert!(words.iter().all(|word| error.contains(word)), "{text}\n{error}");
    }
}

#[test]
fn contradictions_between_queues_are_refused_by_name() {
    for (more, words) in [
        ("[[queue]]\nname = \"a\"\n", &["line 7, [[queue]] a, name", "the same name"][..]),
        ("default = true\n[[queue]]\nname=\"c\"\ndefault=true\n", &["line 9", "queue b has"]),
        ("parent = \"a\"\nnodes = \"g[2-4]\"\n", &["line 7", "its parent queue a", "g[3-4]"]),
        (
            "parent = \"c\"\n[[queue]]\nname = \"c\"\nparent = \"b\"\n",
            &["line 6", "form a cycle, b -> c -> b"],
        ),
        ("parent = \"b\"\n", &["b -> b"]),
    ] {
        let error = made(&format!("{TREE}{more}")).unwrap_err();
        assert!(words.iter().all(|word| error.contains(word)), "{more}\n{error}");
    }
}

#[test]
fn a_topology_file_that_does_not_read_is_refused_with_its_line() {
    for (csv, words) in [
        ("", &["line 1", "empty"][..]),
        ("leaf,spine\n", &["line 1", "no column `name`"]),
        ("name,rack\n", &["line 1", "no column `rack`"]),
        ("name,leaf,leaf\n", &["line 1", "`leaf` occurs twice"]),
        ("name,leaf\n# a word\ng1\n", &["line 3", "1 fields, the header 2"]),
        ("name,leaf\ng1,l1\n\ng1,l2\n", &["line 4", "g1 is already in line 2"]),
        ("name,leaf\ng 1,l1\n", &["line 2", "`g 1` is not a valid node name"]),
        ("name,leaf,spine\ng1,l1,s1\ng2,l1,s2\n", &["line 3", "l1 is below s1"]),
    ] {
        let error = with_topology("", Some(csv)).unwrap_err();
        assert!(error.contains("topology topology.csv"), "{error}");
        assert!(words.iter().all(|word| error.contains(word)), "{csv}\n{error}");
    }
}

#[test]
fn a_topology_file_may_be_the_simulators_node_file() {
    let csv = "name,gpus,gpu_model,cpus,mem_mib,leaf,spine,core\nh0,8,,,,l1,s1,c1\n";
    let policy = with_topology("", Some(csv)).unwrap();
    assert_eq!(policy.topology.0.len(), 1);
}

#[test]
fn a_node_of_the_file_that_the_cluster_does_not_have_is_found_with_its_line() {
    let file = TopologyFile::read("t.csv", "name,leaf\ng2,l1\ng1,l1\ng0,l1\n").unwrap();
    let known = |node: &NodeName| node.as_str() == "g2";
    let error = file.check_known(known).unwrap_err().to_string();
    assert!(error.contains("line 3") && error.contains("no node g1"), "{error}");
    assert_eq!(file.check_known(|_| true), Ok(()));

    let named = "[[zone]]\nname = \"z\"\nnodes = \"g2\"\n\
                 [[nvlink_domain]]\nname = \"d\"\nnodes = \"g[1-2]\"\n";
    let config: ControllerConfig = read("k.toml", named).unwrap();
    let source = |topology| PolicySource { file: "k.toml", text: named, config: &config, topology };
    let of_file = check_nodes(&source(Some(&file)), known).unwrap_err().to_string();
    assert!(of_file.contains("t.csv: line 3"), "{of_file}");
    let of_table = check_nodes(&source(None), known).unwrap_err().to_string();
    let words =
        ["k.toml", "line 6, [[nvlink_domain]] d, nodes: there is no node g1", "remove it here"];
    assert!(words.iter().all(|word| of_table.contains(word)), "{of_table}");
    assert_eq!(check_nodes(&source(None), |_| true), Ok(()));
}

#[test]
fn quotas_over_capacity_are_allowed_with_a_warning() {
    let text = "[[queue]]\nname = \"a\"\nquota = { h100 = 8, gpus = 9 }\nnodes = \"g[1-2]\"\n\
                [[queue]]\nname = \"b\"\nquota = { h100 = 4, v100 = 1, memory = \"2T\" }\n\
                [[queue]]\nname = \"c\"\nparent = \"b\"\nquota = { h100 = 5 }\n\
                [[leaf]]\nname = \"l\"\nnodes = \"g[1-3]\"\n";
    let policy = made(text).unwrap();
    let capacity = Capacity {
        nodes: [NodeName::new("g1").unwrap()].into(),
        gpus: [(GpuKind("h100".to_owned()), Gpus(8))].into(),
        cpus: Cpus(64),
        memory: Bytes(1 << 40),
    };
    let warned = warnings(&policy, &capacity);
    for sentence in [
        "queue a: the cluster has no node g2 yet",
        "queue b, quota: no node has GPUs of kind v100; the kinds are: h100",
        "quotas of a, b: 12 h100 GPUs in all, more than the 8 that the cluster has",
        "quotas of a, b: 9 GPUs in all, more than the 8 that the cluster has",
        "quotas of a, b: 2T of memory in all, more than the 1T that the cluster has",
        "quotas of c: 5 h100 GPUs in all, more than the 4 that their parent queue b has",
        "topology: the cluster has no node g[2-3] yet",
    ] {
        assert!(warned.iter().any(|one| one == sentence), "{sentence}\nin {warned:#?}");
    }
    assert_eq!(warned.len(), 7);
    let of_file =
        ["quotas of c: 5 h100 GPUs in all, more than the 4 that their parent queue b has"];
    assert_eq!(warnings(&policy, &Capacity::default()), of_file, "no node is known");
}
