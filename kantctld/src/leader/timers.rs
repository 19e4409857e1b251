//! What follows from time alone: a node without a session is silent, one silent for too long is
//! lost, old finished jobs are forgotten. Never acts on a clock the log has not stamped: it only
//! proposes, and `apply` judges by the stamp.

use crate::core::Core;
use crate::hub::Nudge;
use common::id::NodeName;
use common::node::Contact;
use common::time::Span;
use state::Command;
use std::sync::Arc;
use std::time::Duration;

/// Between two looks.
const LOOK_PERIOD: Duration = Duration::from_secs(1);
/// Between two clean-ups of finished jobs, in looks.
const FORGET_EVERY_LOOKS: u32 = 60;

/// The bounds that time is held against.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// A node silent for so long is lost.
    pub node_lost_after: Span,
}

/// Runs until the log ends.
pub async fn run(core: Arc<Core>, limits: Limits) {
    let mut leading = core.leading.clone();
    let mut looks = 0_u32;
    loop {
        if leading.wait_for(|leads| *leads).await.is_err() {
            return;
        }
        for command in due(&core, limits) {
            if let Err(error) = core.command(command).await {
                tracing::debug!("a timer's command came to nothing: {error}");
            }
        }
        looks = looks.wrapping_add(1);
        if looks.is_multiple_of(FORGET_EVERY_LOOKS) {
            let _ = core.command(Command::ForgetDone).await;
        }
        tokio::time::sleep(LOOK_PERIOD).await;
    }
}

/// What the state says of nodes against who is in session, and for how long.
fn due(core: &Core, limits: Limits) -> Vec<Command> {
    let now = core.now();
    let in_session = core.hub.nodes();
    let contacts: Vec<(NodeName, Contact)> =
        core.state.read().nodes().map(|(name, node)| (name.clone(), node.contact)).collect();
    let mut commands = Vec::new();
    for (name, contact) in contacts {
        match (contact, in_session.contains(&name)) {
            (Contact::Connected, false) => commands.push(Command::NodeSilent { name }),
            (Contact::Silent { since }, false) if now.since(since) > limits.node_lost_after => {
                tracing::warn!("node {name} is lost: silent since {since}");
                commands.push(Command::NodeLost { name });
            }
            // Its end and a new beginning crossed: let it say hello again.
            (Contact::Silent { .. } | Contact::Lost { .. }, true) => {
                core.hub.nudge(&name, Nudge::Replaced);
            }
            _ => {}
        }
    }
    commands
}
