//! What follows from time alone: a node without a session is silent, one silent for too long is
//! lost, an attempt that does not start is given up, a job ends at its deadline, old finished jobs
//! and bookings are forgotten. Never acts
//! on a clock the log has not stamped: it only proposes, and `apply` judges by the stamp.

use crate::core::Core;
use crate::hub::{Nudge, Standing};
use common::id::NodeName;
use common::node::Contact;
use futures_util::future::join_all;
use state::Command;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Between two looks.
const LOOK_PERIOD: Duration = Duration::from_secs(1);
/// Between two clean-ups of finished jobs, in looks.
const FORGET_EVERY_LOOKS: u32 = 60;
/// A new leader looks for attempts that do not start only after so many looks: until its nodes have
/// said hello, the state does not know what runs by now.
const OVERDUE_AFTER_LOOKS: u32 = 60;
/// A session whose node the state calls silent is ended after this time: its end and its beginning
/// crossed, and it must say hello again.
const CROSSED_AFTER: Duration = Duration::from_secs(2);

/// The bounds that time is held against.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// A node silent for so long is lost.
    pub node_lost_after: Duration,
}

/// Runs until the log ends.
pub async fn run(core: Arc<Core>, limits: Limits) {
    let mut leading = core.leading.clone();
    let mut watch = Watch::new(limits);
    let mut looks = 0_u32;
    loop {
        if !*leading.borrow_and_update() {
            // What was seen in an earlier term says nothing about the time between.
            (watch, looks) = (Watch::new(limits), 0);
            if leading.wait_for(|leads| *leads).await.is_err() {
                return;
            }
        }
        let mut due = watch.look(&core, Instant::now());
        due.extend(missed(&core));
        if looks >= OVERDUE_AFTER_LOOKS {
            due.extend(overdue(&core));
        }
        // At once, so that they share entries; one by one would take an fsync each.
        join_all(due.into_iter().map(|command| propose(&core, command))).await;
        looks = looks.saturating_add(1);
        if looks.is_multiple_of(FORGET_EVERY_LOOKS) {
            propose(&core, Command::ForgetDone).await;
        }
        tokio::time::sleep(LOOK_PERIOD).await;
    }
}

/// Attempts that should run by now and do not.
fn overdue(core: &Core) -> Vec<Command> {
    let now = core.now();
    let ids = state::overdue(&core.state.read(), now);
    ids.into_iter()
        .map(|id| {
            tracing::warn!("job {id} does not get off the ground: its nodes have a fault");
            Command::StartOverdue { id }
        })
        .collect()
}

/// Jobs that should be over by now, by their deadlines.
fn missed(core: &Core) -> Vec<Command> {
    let now = core.now();
    let keys = state::missed(&core.state.read(), now);
    keys.into_iter().map(|key| Command::DeadlineOver { key }).collect()
}

async fn propose(core: &Core, command: Command) {
    if let Err(error) = core.command(command).await {
        tracing::debug!("a timer's command came to nothing: {error}");
    }
}

/// Since when things are as they are, by this process's own monotonic clock: a controller that was
/// away itself knows nothing of how long a node was silent, so each start grants the full time.
struct Watch {
    limits: Limits,
    silent: BTreeMap<NodeName, Instant>,
    crossed: BTreeMap<NodeName, Instant>,
}

impl Watch {
    fn new(limits: Limits) -> Self {
        Self { limits, silent: BTreeMap::new(), crossed: BTreeMap::new() }
    }

    /// What the state says of nodes against who is in session, and for how long.
    fn look(&mut self, core: &Core, now: Instant) -> Vec<Command> {
        let contacts: Vec<(NodeName, Contact)> =
            core.state.read().nodes().map(|(name, node)| (name.clone(), node.contact)).collect();
        let mut due = Vec::new();
        for (name, contact) in contacts {
            match (contact, core.hub.standing(&name)) {
                (Contact::Connected, Standing::Absent) => {
                    due.push(Command::NodeSilent { name });
                }
                (Contact::Silent { .. }, Standing::Absent) => {
                    self.crossed.remove(&name);
                    let since = *self.silent.entry(name.clone()).or_insert(now);
                    if now.duration_since(since) >= self.limits.node_lost_after {
                        tracing::warn!("node {name} is lost: silent for too long");
                        due.push(Command::NodeLost { name });
                    }
                }
                (Contact::Silent { .. } | Contact::Lost { .. }, Standing::InSession) => {
                    self.silent.remove(&name);
                    let since = *self.crossed.entry(name.clone()).or_insert(now);
                    if now.duration_since(since) >= CROSSED_AFTER {
                        self.crossed.remove(&name);
                        core.hub.nudge(&name, Nudge::Replaced);
                    }
                }
                (Contact::Connected, _) | (_, Standing::Arriving | Standing::Absent) => {
                    self.silent.remove(&name);
                    self.crossed.remove(&name);
                }
            }
        }
        due
    }
}
