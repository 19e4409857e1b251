//! Messages of nodes: progress of their shares, and Hello messages, true and false.

use super::World;
use super::things::{inventory, node, pick, step_phase};
use common::id::{AttemptId, NodeName};
use common::wire::node::{StepPhase, StepStatus};
use proptest::test_runner::TestCaseError;
use state::Command;
use state::job::SharePhase;

impl World {
    /// A share makes its next step.
    pub(super) fn progress(&mut self, which: u8, how: u8) -> Result<(), TestCaseError> {
        let ledger = self.state.ledger();
        let shares: Vec<(NodeName, AttemptId)> = ledger
            .nodes()
            .flat_map(|(node, held)| held.holders().map(|(id, _)| (node.clone(), id)))
            .collect();
        let Some((node, id)) = pick(&shares, which) else { return Ok(()) };
        let run = self.state.element(id.key).and_then(|(_, element)| element.run.as_ref());
        let share = run.and_then(|run| Some(run.shares[run.rank(&node)?]));
        let phase = match share {
            Some(SharePhase::Unreported) => StepPhase::Ready,
            Some(SharePhase::Preparing | SharePhase::Ready) if how < 200 => step_phase(2),
            _ if how < 128 => step_phase(3 + 24 * (how % 3)),
            _ => step_phase(how),
        };
        let steps = vec![StepStatus { id, phase }];
        self.apply(Command::ReportSteps { node, steps })
    }

    /// A Hello: true, incomplete, false, after a reboot, changed, or from another machine.
    pub(super) fn register(&mut self, which: u8, how: u8) -> Result<(), TestCaseError> {
        let name = node(which);
        let holders: Vec<AttemptId> = self.state.ledger().holders(&name).collect();
        let known = holders.into_iter().filter(|_| how % 3 != 1);
        let lies = pick(&self.attempts, how).into_iter().filter(|_| how % 3 == 2);
        let phase = step_phase(how / 4);
        let steps = known.chain(lies).map(|id| StepStatus { id, phase: phase.clone() }).collect();
        let (cpus, gpus) = if how % 16 == 15 { (4, 1) } else { (8, 2) };
        let machine = if how % 16 == 14 { "other" } else { "first" };
        self.apply(Command::RegisterNode {
            identity: format!("{name}-{machine}"),
            address: name.to_string(),
            version: "1".to_owned(),
            inventory: Box::new(inventory(cpus, gpus, how / 128)),
            steps,
            name,
        })
    }
}
