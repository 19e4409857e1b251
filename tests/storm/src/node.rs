//! One simulated node: the machine with its steps and their journals, and kantd on it: the real
//! `node::reconcile` with a small shell that follows the daemon's rules. Steps outlive kantd; none
//! outlives the machine. Never knows more of the cluster than it is told.

mod course;
mod kantd;
mod step;

pub use course::{Course, Ending};
pub use kantd::Kantd;
pub use step::{Stage, Step};

use crate::dice::Dice;
use crate::judge::nodes::NodeJudge;
use crate::judge::users::UserJudge;
use crate::message::{NodeOutput, StepChange};
use crate::sabotage::Sabotage;
use common::cpuset::CpuSet;
use common::gpu::{Gpu, GpuKind, GpuMatrix, GpuPath};
use common::health::Finding;
use common::id::{AttemptId, GpuIndex, NodeName};
use common::job::{EndCause, ExitStatus};
use common::node::{Inventory, Numa};
use common::time::Time;
use common::unit::Bytes;
use state::State;
use std::collections::BTreeMap;

/// A node's machine, and what is on it.
pub struct Node {
    pub name: NodeName,
    /// kantd's, as long as it runs.
    pub kantd: Option<Kantd>,
    /// How often kantd was started.
    pub life: u64,
    /// Of this installation; another one after its disk was lost.
    pub identity: String,
    pub inventory: Inventory,
    /// What is wrong with the machine.
    findings: Vec<Finding>,
    boots: u32,
    steps: BTreeMap<AttemptId, Step>,
}

/// What a node meets when it does something.
pub struct Surroundings<'a> {
    /// Virtual time, in milliseconds.
    pub now_ms: u64,
    pub clock: Time,
    pub seed: u64,
    pub nodes: &'a mut NodeJudge,
    /// Watches what users were told.
    pub users: &'a mut UserJudge,
    /// The state of the highest index that was applied anywhere.
    pub frontier: &'a State,
    /// What the node does to others.
    pub outputs: Vec<NodeOutput>,
}

impl Node {
    /// A machine of this place in the cluster.
    pub fn new(place: usize, dice: &mut Dice) -> Self {
        let name = NodeName::new(format!("n{place}")).expect("a valid name");
        let gpus = u16::try_from(dice.between(1, 4)).unwrap_or(1);
        let cpus = u32::try_from(dice.between(4, 8)).unwrap_or(4);
        let inventory = inventory(&name, cpus, if place == 0 { 4 } else { gpus });
        Self {
            identity: format!("{name}-1"),
            name,
            kantd: None,
            life: 0,
            inventory,
            findings: Vec::new(),
            boots: 1,
            steps: BTreeMap::new(),
        }
    }

    /// kantd starts and reads the journals.
    pub fn start_kantd(&mut self, sabotage: Option<Sabotage>) {
        self.life += 1;
        let journals = self.steps.iter().map(|(id, step)| step.status(*id));
        let held = match sabotage {
            Some(Sabotage::NodeForgetsJournal) => Vec::new(),
            _ => journals.collect(),
        };
        self.kantd = Some(Kantd::new(held));
    }

    /// kantd is killed; its steps are not.
    pub fn kill_kantd(&mut self) {
        self.kantd = None;
    }

    /// The machine boots anew. Its steps are gone; their journals stay, unless its disk is new too.
    pub fn reboot(&mut self, has_new_disk: bool, around: &mut Surroundings<'_>) {
        self.kantd = None;
        self.boots += 1;
        self.inventory.boot_id = format!("boot-{}", self.boots);
        around.nodes.machine_lost(&self.name);
        if has_new_disk {
            self.steps.clear();
            self.identity = format!("{}-{}", self.name, self.boots);
        }
        for step in self.steps.values_mut() {
            step.lose(around.clock);
        }
    }

    /// Something is wrong with the machine from now on, or nothing any more.
    pub fn find(&mut self, finding: Option<Finding>, around: &mut Surroundings<'_>) {
        self.findings = finding.into_iter().collect();
        if let Some(kantd) = &self.kantd {
            kantd.tell_health(self, around);
        }
    }

    /// Something happens to a step by itself.
    pub fn step_changes(
        &mut self,
        id: AttemptId,
        change: StepChange,
        around: &mut Surroundings<'_>,
    ) {
        let Some(step) = self.steps.get_mut(&id) else { return };
        if !step.change(change, around) {
            return;
        }
        if let Stage::Ended(end) = &step.stage {
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

    /// Has it a step that lives?
    pub fn is_busy(&self) -> bool {
        self.steps.values().any(|step| !matches!(step.stage, Stage::Ended(_)))
    }
}

fn inventory(name: &NodeName, cpu_count: u32, gpu_count: u16) -> Inventory {
    let (cpus, memory) = (CpuSet::first(cpu_count), Bytes::from_mib(64 << 10));
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
