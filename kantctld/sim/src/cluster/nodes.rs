//! The machines of a cluster and their connections to the controller: what they report, what they
//! are sent, and what must never run on them.

use super::{Cluster, SimError};
use crate::machine::{Machine, Order};
use common::id::{AttemptId, JobKey, NodeName};
use state::Command;
use state::desired::{desired_for, launch_order};
use std::collections::{BTreeMap, BTreeSet};

impl Cluster {
    /// Adds a machine, or replaces one of the same name, and connects it.
    ///
    /// # Errors
    /// A judge found a fault.
    pub fn add_machine(&mut self, machine: Machine) -> Result<(), SimError> {
        let name = machine.name.clone();
        self.machines.insert(name.clone(), machine);
        self.connect(&name)
    }

    /// Connects a machine. Its Hello reports everything it holds.
    ///
    /// # Errors
    /// A judge found a fault.
    pub fn connect(&mut self, name: &NodeName) -> Result<(), SimError> {
        let Some(machine) = self.machines.get_mut(name) else { return Ok(()) };
        machine.connected = true;
        let steps = machine.steps();
        self.reported.insert(name.clone(), steps.clone());
        let hello = Command::RegisterNode {
            name: name.clone(),
            identity: format!("{name}-identity"),
            address: name.to_string(),
            version: "sim".to_owned(),
            inventory: Box::new(machine.inventory.clone()),
            steps,
        };
        self.command(hello).map(|_| ())
    }

    /// Disconnects a machine. What runs there runs on.
    ///
    /// # Errors
    /// A judge found a fault.
    pub fn cut_off(&mut self, name: &NodeName) -> Result<(), SimError> {
        if let Some(machine) = self.machines.get_mut(name) {
            machine.connected = false;
        }
        self.command(Command::NodeSilent { name: name.clone() }).map(|_| ())
    }

    /// A machine loses power, and comes back at once with nothing.
    ///
    /// # Errors
    /// A judge found a fault.
    pub fn reboot(&mut self, name: &NodeName) -> Result<(), SimError> {
        self.cut_off(name)?;
        if let Some(machine) = self.machines.get_mut(name) {
            machine.reboot();
        }
        self.connect(name)
    }

    /// Connected machines report what changed. Returns whether anything did.
    pub(super) fn apply_reports(&mut self) -> Result<bool, SimError> {
        let mut any = false;
        let names: Vec<NodeName> = self.machines.keys().cloned().collect();
        for name in names {
            self.send_desired(&name);
            let Some(machine) = self.machines.get(&name).filter(|m| m.connected) else { continue };
            let (steps, replicas) = (machine.steps(), machine.replicas());
            let before = self.reported.insert(name.clone(), steps.clone()).unwrap_or_default();
            let changed: Vec<_> = steps.into_iter().filter(|s| !before.contains(s)).collect();
            if !changed.is_empty() {
                any = true;
                self.apply(Command::ReportSteps { node: name.clone(), steps: changed })?;
            }
            self.note_replicas(&name, replicas);
        }
        Ok(any)
    }

    /// Sends a machine its desired state.
    fn send_desired(&mut self, name: &NodeName) {
        let Some(machine) = self.machines.get_mut(name).filter(|machine| machine.connected) else {
            return;
        };
        let desired = desired_for(&self.state, name);
        let (state, behaviours, services) = (&self.state, &self.behaviours, &self.services);
        let order = |id: AttemptId| {
            let launch = launch_order(state, id, name)?;
            let behaviour = match &launch.replica {
                Some(replica) => services.behaviour(replica),
                None => behaviours.get(&id.key.job),
            };
            Some(Order { behaviour: behaviour.cloned().unwrap_or_default(), launch })
        };
        machine.apply_desired(self.now, &desired, order);
    }

    /// Checks that no job runs twice at once on connected nodes, and that no machine runs what is
    /// not desired.
    pub(super) fn check_machines(&self) -> Result<(), SimError> {
        let mut wrong = Vec::new();
        let mut running: BTreeMap<JobKey, BTreeSet<AttemptId>> = BTreeMap::new();
        for machine in self.machines.values().filter(|machine| machine.connected) {
            for id in machine.running() {
                running.entry(id.key).or_default().insert(id);
                if !desired_for(&self.state, &machine.name).iter().any(|step| step.id == id) {
                    wrong.push(format!("{} runs {id}, which is not desired", machine.name));
                }
            }
        }
        for (key, attempts) in running.into_iter().filter(|(_, attempts)| attempts.len() > 1) {
            wrong.push(format!("job {key} runs {} times at once", attempts.len()));
        }
        self.check_judge(wrong)
    }
}
