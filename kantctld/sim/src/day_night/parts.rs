//! The cluster, the queues and the service of a run.

use super::{Setup, Sizing};
use crate::hardware::Hardware;
use crate::machine::Machine;
use common::autoscale::{Bounds as PolicyBounds, Days, Hours, Minute, Policy, Replicas, Rule};
use common::blob::BlobHash;
use common::gpu::GpuKind;
use common::id::{Gid, NodeName, PortName, QueueName, RoleName, ServiceName, Uid};
use common::job::{Ask, Owner, Probe, ProbeAction, Probes};
use common::policy::queue::Queue;
use common::policy::{Amounts, Factors, Policy as ClusterPolicy, Preemption, Quota, YieldsFirst};
use common::resource::{GpuRequest, Request};
use common::service::table::{Hold, Protocol};
use common::service::{Base, Bounds, RoleSpec, ServiceSpec, UpdatePolicy};
use common::time::Span;
use common::topology::Topology;
use common::unit::{Bytes, Cpus, Gpus};
use state::{Deployment, Settings};

/// CPUs of a node for each of its GPUs.
const CPUS_PER_GPU: u32 = 8;

const MEMORY_PER_CPU: Bytes = Bytes::from_mib(1024);

/// The time between leaving the discovery and SIGTERM.
const DRAIN_DELAY: Span = Span::from_seconds(5);

const SCRIPT: &str = "#!/bin/sh\nserve\n";

/// The queue of the service.
pub(super) fn serving_queue() -> QueueName {
    "serving".parse().expect("a name of a queue")
}

pub(super) fn service_name() -> ServiceName {
    "chat".parse().expect("a name of a service")
}

pub(super) fn owner() -> Owner {
    Owner { uid: Uid(1000), gid: Gid(1000), name: "ada".to_owned() }
}

/// A request of one task on one node.
pub(super) fn request(gpus: Gpus) -> Request {
    let cpus_per_task = Cpus(gpus.0.saturating_mul(CPUS_PER_GPU));
    Request { gpus: Some(GpuRequest::Total(gpus)), cpus_per_task, ..Request::default() }
}

impl Setup {
    /// The machines, not connected yet.
    pub(super) fn machines(&self) -> Vec<Machine> {
        let cpus = Cpus(u32::from(self.gpus_per_node) * CPUS_PER_GPU);
        let hardware = Hardware {
            cpus,
            threads_per_core: 1,
            memory: MEMORY_PER_CPU.times(cpus.0),
            gpus: self.gpus_per_node,
            gpu_kind: GpuKind("h100".to_owned()),
            gpu_memory: Bytes::from_mib(81_920),
        };
        let name = |number: u32| NodeName::new(format!("g{number:04}")).expect("a name of a node");
        (1..=self.nodes).map(|number| Machine::new(name(number), hardware.inventory())).collect()
    }

    /// The same nodes, for the figures.
    pub(super) fn trace_nodes(&self) -> Vec<trace::Node> {
        let node = |machine: &Machine| trace::Node {
            name: machine.name.to_string(),
            gpus: Gpus(self.gpus_per_node.into()),
            gpu_model: None,
            cpus: None,
            mem_mib: None,
            leaf: None,
            spine: None,
            core: None,
        };
        self.machines().iter().map(node).collect()
    }

    /// A queue for the service and one for each team.
    pub(super) fn policy(&self) -> ClusterPolicy {
        let of_service = Gpus(self.replicas_by_day.saturating_mul(self.gpus_per_replica.0));
        let queue = |name: QueueName, quota: Gpus| Queue {
            quota: Quota {
                amounts: Amounts { gpus_any: Some(quota), ..Amounts::default() },
                ..Quota::default()
            },
            memory_per_cpu: MEMORY_PER_CPU,
            ..Queue::with_defaults(name)
        };
        let team = |(name, quota): &(QueueName, Gpus)| Queue {
            preemption: Preemption { preemptible: true, ..Preemption::default() },
            reclaim_runtime_min: Some(self.protection),
            ..queue(name.clone(), *quota)
        };
        let mut queues = vec![queue(serving_queue(), of_service)];
        queues.extend(self.teams.iter().map(team));
        // Every job names its queue, but there must be a default.
        queues[0].default = true;
        ClusterPolicy { queues, fair_sharing: true, moves: self.moves, ..ClusterPolicy::default() }
    }

    pub(super) fn settings(&self) -> Settings {
        Settings {
            cluster: "sim".to_owned(),
            queues: self.policy().queues,
            allow_root_jobs: false,
            kill_grace: Span::from_seconds(30),
            done_jobs_kept: Span(0),
            user_bounds: state::UserBounds::NONE,
            qos: Vec::new(),
            accounts: Vec::new(),
            fair_sharing: true,
            yields_first: YieldsFirst::default(),
            factors: Factors::default(),
            moves: self.moves,
            topology: Topology::default(),
        }
    }

    /// The service, whose size follows this.
    pub(super) fn deployment(&self, sizing: Sizing) -> Deployment {
        let (day, night) = (self.replicas_by_day, self.replicas_by_night);
        let min = if sizing == Sizing::Fixed { day } else { night };
        let port: PortName = "http".parse().expect("a name of a port");
        let health = ProbeAction::Http { port: port.clone(), path: "/health".to_owned() };
        let role = RoleSpec {
            name: "worker".parse::<RoleName>().expect("a name of a role"),
            ask: Ask {
                request: request(self.gpus_per_replica),
                queue: Some(serving_queue()),
                ..Ask::default()
            },
            script: BlobHash::of(SCRIPT.as_bytes()),
            environment: BlobHash::of(b""),
            replicas: Bounds { min, max: day },
            ports: vec![port],
            probes: Probes { readiness: Some(Probe::new(health)), ..Probes::default() },
            metrics: None,
            autoscale: self.autoscale(sizing),
        };
        let spec = ServiceSpec {
            roles: vec![role],
            port: None,
            entry: None,
            ratio: None,
            near: None,
            protocol: Protocol::default(),
            affinity: None,
            base: Base::default(),
            hold: Hold::default(),
            token: None,
            drain_delay: DRAIN_DELAY,
            update: UpdatePolicy::default(),
        };
        Deployment {
            owner: owner(),
            groups: Vec::new(),
            operator: false,
            via: None,
            name: service_name(),
            spec,
            texts: vec![SCRIPT.to_owned(), String::new()],
        }
    }

    fn autoscale(&self, sizing: Sizing) -> Option<Policy> {
        let bounds = PolicyBounds {
            min: Replicas(self.replicas_by_night),
            max: Replicas(self.replicas_by_day),
        };
        match sizing {
            Sizing::Fixed => None,
            Sizing::Hours => {
                let minute = |hour: u32| Minute::of_day(u64::from(hour) * 60);
                let by_day = Hours {
                    from: minute(self.day.0),
                    to: minute(self.day.1),
                    days: Days::ALL,
                    min: Some(Replicas(self.replicas_by_day)),
                    max: None,
                };
                Some(Policy { schedule: vec![by_day], ..Policy::new(bounds, Rule::Fixed) })
            }
            Sizing::Load => {
                let rule = serde_json::json!({
                    "target": self.concurrency,
                    "down_delay_seconds": self.down_delay.seconds(),
                });
                let rule = serde_json::from_value(rule).map(Rule::Concurrency);
                Some(Policy::new(bounds, rule.expect("a number and a span make a rule")))
            }
        }
    }
}
