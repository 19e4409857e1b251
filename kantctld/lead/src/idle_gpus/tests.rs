//! Tests of the list of jobs with idle GPUs.

use super::*;
use common::config::Private;
use common::id::Uid;
use common::job::Ask;
use common::resource::{GpuRequest, Request};
use common::unit::{Nodes, Tasks};
use query::viewer::Limits;
use state::{Command, Target};
use std::collections::BTreeSet;
use testkit::{OPERATOR, TestCluster, inventory, name, running, share};

const HOUR: Span = Span::from_seconds(3600);

/// Two nodes of four GPUs, with their reports.
struct World {
    cluster: TestCluster,
    reports: IdleGpuReports,
}

impl World {
    fn new() -> Self {
        let cluster = TestCluster::of_nodes(&["a", "b"], &inventory(8, 64, 4));
        let mut world = Self { cluster, reports: IdleGpuReports::default() };
        world.cluster.wait(100_000);
        world
    }

    /// A job that runs with these GPUs of both nodes.
    fn job(&mut self, gpus: &[u16]) -> AttemptId {
        let gpus_per_node = Gpus(u32::try_from(gpus.len()).unwrap());
        let request = Request {
            tasks: Tasks(2),
            nodes: Some(Nodes(2)),
            gpus: Some(GpuRequest::PerNode(gpus_per_node)),
            ..Request::default()
        };
        let key = self.cluster.job_of(Ask { request, ..Ask::default() });
        let cpu = u32::from(gpus[0]);
        let id = self.cluster.start(key, vec![share("a", cpu, 1, gpus), share("b", cpu, 1, gpus)]);
        ["a", "b"].into_iter().for_each(|node| self.cluster.report(node, id, running()));
        id
    }

    fn report(&mut self, node: &str, id: AttemptId, idle_hours: &[u64]) {
        let idle = idle_hours.iter().map(|hours| Span(HOUR.0 * hours)).collect();
        let report = vec![IdleGpus { id, idle }];
        self.reports.note_report(&self.cluster.state, &name(node), report, self.cluster.now);
    }

    /// Jobs by attempt, with the number of their idle GPUs, the hours, and the nodes.
    fn listed(&self, at_least: Span, viewer: &Viewer) -> Vec<(AttemptId, u32, u64, String)> {
        let (state, now) = (&self.cluster.state, self.cluster.now);
        let jobs = self.reports.jobs((state, viewer), (at_least, now));
        let row = |one: &IdleJob| {
            let nodes: Vec<&str> = one.idle_nodes.iter().map(NodeName::as_str).collect();
            let hours = now.since(one.idle_since).0 / HOUR.0;
            (self.cluster.attempt(one.job.key), one.idle_gpus.0, hours, nodes.join(","))
        };
        jobs.iter().map(row).collect()
    }
}

#[test]
fn gpus_that_were_idle_for_long_enough_are_summed_over_nodes_and_most_come_first() {
    let mut world = World::new();
    let (small, large) = (world.job(&[0]), world.job(&[1, 2]));
    world.report("a", small, &[9]);
    world.report("a", large, &[3, 1]);
    world.report("b", large, &[2, 0]);
    let row = |id, gpus, hours, nodes: &str| (id, gpus, hours, nodes.to_owned());
    assert_eq!(world.listed(HOUR, &Viewer::ALL), [row(large, 3, 1, "a,b"), row(small, 1, 9, "a")]);
    let long = Span(HOUR.0 * 3);
    assert_eq!(world.listed(long, &Viewer::ALL), [row(small, 1, 9, "a"), row(large, 1, 3, "a")]);
    assert_eq!(world.reports.count(&world.cluster.state, (long, world.cluster.now)), 2);
}

#[test]
fn a_report_supersedes_the_last_one_of_its_node_and_a_new_session_all_of_them() {
    let mut world = World::new();
    let id = world.job(&[0, 1]);
    world.report("a", id, &[2, 2]);
    world.report("b", id, &[2]);
    world.report("a", id, &[1]);
    assert_eq!(world.listed(HOUR, &Viewer::ALL), [(id, 2, 1, "a,b".to_owned())]);
    world.report("b", id, &[]);
    world.reports.forget_node(&name("a"));
    assert_eq!(world.reports, IdleGpuReports::default());
}

#[test]
fn a_node_reports_only_gpus_that_the_job_has_there_now() {
    let mut world = World::new();
    let id = world.job(&[0, 1]);
    world.cluster.register("c", inventory(8, 64, 4));
    world.report("c", id, &[5]);
    let later = AttemptId { attempt: common::id::Attempt(id.attempt.0 + 1), ..id };
    world.report("a", later, &[5]);
    assert_eq!(world.reports, IdleGpuReports::default());
    world.report("a", id, &[5; 1000]);
    assert_eq!(world.listed(HOUR, &Viewer::ALL), [(id, 2, 5, "a".to_owned())]);
}

#[test]
fn a_job_that_ends_is_neither_listed_nor_counted_and_is_forgotten() {
    let mut world = World::new();
    let id = world.job(&[0]);
    world.report("a", id, &[5]);
    let (actor, target) = (OPERATOR, Target { key: id.key });
    world.cluster.apply(Command::CancelJob { actor, target });
    assert_eq!(world.listed(HOUR, &Viewer::ALL), []);
    assert_eq!(world.reports.count(&world.cluster.state, (HOUR, world.cluster.now)), 0);
    world.reports.prune(&world.cluster.state);
    assert_eq!(world.reports, IdleGpuReports::default());
}

#[test]
fn jobs_of_other_users_are_not_listed_if_they_are_private() {
    let mut world = World::new();
    let id = world.job(&[0]);
    world.report("a", id, &[5]);
    let viewer = |uid| {
        let (queues, accounts) = (BTreeSet::new(), BTreeSet::new());
        Viewer::limited(Limits { uid, hidden: [Private::Jobs].into(), queues, accounts })
    };
    assert_eq!(world.listed(HOUR, &viewer(Uid(1000))).len(), 1);
    assert_eq!(world.listed(HOUR, &viewer(Uid(1001))).len(), 0);
}
