//! One simulated node: its machine, the steps on it with their journals, and kantd. kantd is the
//! real `node::reconcile` in a small shell that follows the daemon's rules. Steps outlive kantd,
//! but not the machine.

mod course;
mod kantd;
mod replica;
mod step;

pub use course::{Course, Ending};
pub use kantd::Kantd;
pub use step::{Stage, Step, ended};

use crate::judge::nodes::NodeJudge;
use crate::judge::services::ServiceJudge;
use crate::judge::users::UserJudge;
use crate::message::{NodeOutput, StepChange};
use crate::mutants::Mutant;
use crate::rng::Rng;
use common::cpuset::CpuSet;
use common::gpu::{Gpu, GpuKind, GpuMatrix, GpuPath};
use common::health::Finding;
use common::id::{AttemptId, GpuIndex, NodeName};
use common::job::{EndCause, ExitStatus};
use common::node::{Inventory, Numa};
use common::time::Time;
use common::unit::Bytes;
use common::wire::node::{FenceTerms, RouteOrder};
use state::State;
use std::collections::BTreeMap;

pub struct Node {
    pub name: NodeName,
    /// kantd, while it runs.
    pub kantd: Option<Kantd>,
    /// Number of starts of kantd.
    pub life: u64,
    /// Identity of the installation, which changes with a new disk.
    pub identity: String,
    pub inventory: Inventory,
    /// A router runs on it, and has this table.
    pub has_router: bool,
    pub table: Vec<RouteOrder>,
    /// The number of the enrolment in its certificate; 0 if it has none yet.
    pub enrolment: u32,
    /// The step of the replacements of the cluster key in which the certificate was issued.
    pub key_generation: u32,
    /// When it joins if it has no valid certificate, in milliseconds.
    pub joins_at_ms: u64,
    findings: Vec<Finding>,
    boots: u32,
    steps: BTreeMap<AttemptId, Step>,
    /// When the node sent the last request that a leader confirmed, in milliseconds, with the terms
    /// of the fence. It is on the disk: supervisors know it while kantd does not run.
    contact: Option<(u64, FenceTerms)>,
}

/// The parts of the world that a node needs while it acts.
pub struct Surroundings<'a> {
    /// Virtual time, in milliseconds.
    pub now_ms: u64,
    pub clock: Time,
    pub seed: u64,
    pub nodes: &'a mut NodeJudge,
    /// The judge of the answers to users.
    pub users: &'a mut UserJudge,
    pub services: &'a mut ServiceJudge,
    /// All faults have ended.
    pub is_calm: bool,
    pub mutant: Option<Mutant>,
    /// The state at the highest index that any replica has applied.
    pub frontier: &'a State,
    /// The node's outputs.
    pub outputs: Vec<NodeOutput>,
}

impl Node {
    /// A machine with this index in the cluster.
    pub fn new(place: usize, rng: &mut Rng) -> Self {
        let name = NodeName::new(format!("n{place}")).expect("a valid name");
        let gpus = u16::try_from(rng.between(1, 4)).unwrap_or(1);
        let cpus = u32::try_from(rng.between(4, 8)).unwrap_or(4);
        let inventory = inventory(&name, cpus, if place == 0 { 4 } else { gpus });
        Self {
            identity: format!("{name}-1"),
            name,
            kantd: None,
            life: 0,
            inventory,
            has_router: place == 0,
            table: Vec::new(),
            enrolment: 1,
            key_generation: 0,
            joins_at_ms: 0,
            findings: Vec::new(),
            boots: 1,
            steps: BTreeMap::new(),
            contact: None,
        }
    }

    /// Records that a leader confirmed a request that was sent at this time.
    pub fn note_contact(&mut self, at_ms: u64, terms: Option<FenceTerms>) {
        let Some(terms) = terms else { return };
        if self.contact.is_none_or(|(last_ms, _)| last_ms < at_ms) {
            self.contact = Some((at_ms, terms));
        }
    }

    /// Asks whether there is a leader, and ends the jobs that may run elsewhere if none confirmed
    /// it for too long.
    pub fn look_at_fence(&mut self, around: &mut Surroundings<'_>) {
        if let Some(kantd) = &mut self.kantd {
            kantd.ask_leader(around);
        }
        let Some((at_ms, terms)) = self.contact.filter(|(_, terms)| !terms.after.is_zero()) else {
            return;
        };
        if around.mutant == Some(Mutant::NoFence) {
            return;
        }
        for (id, step) in &mut self.steps {
            step.look_at_fence(*id, at_ms, terms, around);
        }
    }

    /// Starts kantd, which reads the journals.
    pub fn start_kantd(&mut self, mutant: Option<Mutant>) {
        self.life += 1;
        let journals = self.steps.iter().map(|(id, step)| step.status(*id));
        let held = match mutant {
            Some(Mutant::NodeForgetsJournal) => Vec::new(),
            _ => journals.collect(),
        };
        self.kantd = Some(Kantd::new(held));
    }

    /// Kills kantd, but not its steps.
    pub fn kill_kantd(&mut self) {
        self.kantd = None;
    }

    /// Reboots the machine. Its steps end; their journals stay unless its disk is new too.
    pub fn reboot(&mut self, has_new_disk: bool, around: &mut Surroundings<'_>) {
        self.kantd = None;
        self.boots += 1;
        self.inventory.boot_id = format!("boot-{}", self.boots);
        around.nodes.machine_lost(&self.name);
        if has_new_disk {
            self.steps.keys().for_each(|id| around.services.gone(*id));
            self.steps.clear();
            self.identity = format!("{}-{}", self.name, self.boots);
        }
        for (id, step) in &mut self.steps {
            step.lose(around.clock);
            around.services.gone(*id);
        }
    }

    /// Replaces the machine's health findings by this one, or by none.
    pub fn find(&mut self, finding: Option<Finding>, around: &mut Surroundings<'_>) {
        self.findings = finding.into_iter().collect();
        if let Some(kantd) = &self.kantd {
            kantd.send_health(self, around);
        }
    }

    /// Applies a change that happens to a step by itself.
    pub fn step_changes(
        &mut self,
        id: AttemptId,
        change: StepChange,
        around: &mut Surroundings<'_>,
    ) {
        if self.replica_changes(id, change, around) {
            return;
        }
        let Some(step) = self.steps.get_mut(&id) else { return };
        if !step.change(id, change, around) {
            return;
        }
        if let Stage::Ended(end) = &step.stage {
            around.services.gone(id);
            around.nodes.ended(&self.name, id);
            let by_itself = end.cause == EndCause::Exited && end.exit == ExitStatus::default();
            if by_itself && step.decides {
                around.nodes.succeeded(id);
            }
        }
        let status = step.status(id);
        if let Some(mut kantd) = self.kantd.take() {
            kantd.note(status);
            kantd.act(self, around);
            self.kantd = Some(kantd);
        }
    }

    /// Does it have a step that has not ended?
    pub fn is_busy(&self) -> bool {
        self.steps.values().any(|step| !matches!(step.stage, Stage::Ended(_)))
    }
}

fn inventory(name: &NodeName, cpu_count: u32, gpu_count: u16) -> Inventory {
    let (cpus, memory) = (CpuSet::first_n(cpu_count), Bytes::from_mib(64 << 10));
    let gpus = (0..gpu_count).map(|index| Gpu {
        index: GpuIndex(index),
        uuid: format!("GPU-{name}-{index}"),
        model: "NVIDIA H100 80GB HBM3".to_owned(),
        kind: GpuKind("h100".to_owned()),
        memory: Bytes::from_mib(80 << 10),
        minor: u32::from(index),
        pci_bus_id: format!("0000:{index:02x}:00.0"),
        numa: Some(0),
        cpus: CpuSet::new(),
        mig: None,
    });
    let path = |a, b| if a == b { GpuPath::Own } else { GpuPath::Sys };
    let row = |a| (0..gpu_count).map(|b| path(a, b)).collect();
    Inventory {
        sockets: 1,
        threads_per_core: 1,
        cores: (0..cpu_count).map(|cpu| CpuSet::from_iter([cpu])).collect(),
        numa: vec![Numa { id: 0, cpus: cpus.clone(), memory }],
        cpus,
        memory,
        gpus: gpus.collect(),
        gpu_matrix: GpuMatrix { paths: (0..gpu_count).map(row).collect() },
        boot_id: "boot-1".to_owned(),
        gpu_driver: None,
        nics: Vec::new(),
        features: Vec::new(),
        limits_missing: Vec::new(),
    }
}
