//! One node's session: its Hello, then desired state down and reports up, until it ends.
//! Never remembers anything that a reconnect would not bring back.

use crate::core::{CommandError, Core};
use crate::hub::{Nudge, SessionId};
use common::id::{AttemptId, NodeName};
use common::node::Contact;
use common::reason::Refusal;
use common::wire::node::{
    DesiredUpdate, FromNode, Hello, NODE_PROTOCOL, OutputChunk, ToNode, Want,
};
use net::{Channel, ChannelReceiver, ChannelSender};
use state::Command;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// A node that connects must say who it is within this time.
const HELLO_LIMIT: Duration = Duration::from_secs(10);

type Down = ChannelSender<ToNode>;
type Up = ChannelReceiver<FromNode>;

/// Serves one connection of the node that its certificate names.
pub async fn serve(core: Arc<Core>, certified: NodeName, channel: Channel<ToNode, FromNode>) {
    let (down, mut up) = channel.split();
    let hello = match tokio::time::timeout(HELLO_LIMIT, up.recv()).await {
        Ok(Some(Ok(FromNode::Hello(hello)))) => hello,
        _ => return down.close("the first message must be a hello").await,
    };
    let name = hello.name.clone();
    if let Err(reason) = check_hello(&core, &certified, &hello) {
        return refuse(&name, &down, reason).await;
    }
    // Seated before it is registered: from here on an older session of this node says nothing more.
    let (id, nudges) = core.hub.join(&name);
    if let Err(reason) = register(&core, &hello).await {
        core.hub.leave(&name, id);
        return refuse(&name, &down, reason).await;
    }
    tracing::info!("node {name} is in session (kantd {})", hello.version);
    let known = hello.steps.iter().map(|s| s.id).collect();
    let mut session = Session { core: core.clone(), id, name, down, sent: BTreeMap::new(), known };
    let end = session.run(&mut up, nudges).await;
    if core.hub.leave(&session.name, id) {
        tracing::info!("node {} is silent: {end}", session.name);
        let silent = Command::NodeSilent { name: session.name.clone() };
        // A controller that stops leaves this to the next start.
        let _ = core.command(silent).await;
    }
    session.down.close(&end).await;
}

async fn refuse(name: &NodeName, down: &Down, reason: String) {
    tracing::warn!("node {name} refused: {reason}");
    let _ = down.send(&ToNode::Refused { reason: reason.clone() }).await;
    down.close(&reason).await;
}

fn check_hello(core: &Core, certified: &NodeName, hello: &Hello) -> Result<(), String> {
    if hello.protocol != NODE_PROTOCOL {
        return Err(format!(
            "kantd {} speaks protocol {}, this controller {NODE_PROTOCOL}: install one release",
            hello.version, hello.protocol
        ));
    }
    if hello.name != *certified {
        return Err(format!("its certificate is for node {certified}, not {}", hello.name));
    }
    let state = core.state.read();
    let taken = state
        .node(&hello.name)
        .is_some_and(|node| node.contact == Contact::Connected && node.identity != hello.identity);
    match taken {
        true => Err(Refusal::NodeNameTaken { name: hello.name.clone() }.to_string()),
        false => Ok(()),
    }
}

async fn register(core: &Core, hello: &Hello) -> Result<(), String> {
    let command = Command::RegisterNode {
        name: hello.name.clone(),
        identity: hello.identity.clone(),
        address: hello.address.clone(),
        version: hello.version.clone(),
        inventory: Box::new(hello.inventory.clone()),
        steps: hello.steps.clone(),
    };
    match core.command(command).await {
        Ok(_) => Ok(()),
        Err(CommandError::Refused(refusal)) => Err(refusal.to_string()),
        Err(CommandError::NotTaken(error)) => Err(error.to_string()),
    }
}

struct Session {
    core: Arc<Core>,
    id: SessionId,
    name: NodeName,
    down: Down,
    /// What the node was last told.
    sent: BTreeMap<AttemptId, Want>,
    /// Attempts whose order the node has.
    known: BTreeSet<AttemptId>,
}

impl Session {
    /// Runs until the connection ends or is taken over; says why.
    async fn run(&mut self, up: &mut Up, mut nudges: mpsc::UnboundedReceiver<Nudge>) -> String {
        let cluster = self.core.cluster();
        let welcome = ToNode::Welcome { protocol: NODE_PROTOCOL, cluster };
        if self.down.send(&welcome).await.is_err() || !self.send_desired(true).await {
            return "the connection broke".to_owned();
        }
        let mut reads: BTreeMap<u64, oneshot::Sender<OutputChunk>> = BTreeMap::new();
        let mut questions = 0_u64;
        loop {
            tokio::select! {
                message = up.recv() => match message {
                    Some(Ok(FromNode::Report(steps))) => {
                        if !self.core.hub.is_seated(&self.name, self.id) {
                            return "it connected anew".to_owned();
                        }
                        let report = Command::ReportSteps { node: self.name.clone(), steps };
                        if let Err(error) = self.core.command(report).await {
                            // The node says it again on its next connect.
                            return format!("its report was not taken: {error}");
                        }
                    }
                    Some(Ok(FromNode::Output(chunk))) => {
                        if let Some(reader) = reads.remove(&chunk.question) {
                            let _ = reader.send(chunk);
                        }
                    }
                    Some(Ok(FromNode::Hello(_))) => return "it said hello twice".to_owned(),
                    Some(Err(error)) => return error.to_string(),
                    None => return "the connection ended".to_owned(),
                },
                nudge = nudges.recv() => match nudge {
                    Some(Nudge::Desired) => {
                        if !self.send_desired(false).await {
                            return "the connection broke".to_owned();
                        }
                    }
                    Some(Nudge::Read(mut question, answer)) => {
                        questions += 1;
                        question.question = questions;
                        reads.retain(|_, reader| !reader.is_closed());
                        reads.insert(questions, answer);
                        if self.down.send(&ToNode::ReadOutput(question)).await.is_err() {
                            return "the connection broke".to_owned();
                        }
                    }
                    Some(Nudge::Replaced) | None => return "it connected anew".to_owned(),
                },
            }
        }
    }

    /// Sends everything, or the difference to what was last sent; false if the connection broke.
    async fn send_desired(&mut self, full: bool) -> bool {
        let update = self.desired_update(full);
        if !full && update.steps.is_empty() && update.gone.is_empty() {
            return true;
        }
        self.down.send(&ToNode::Desired(update)).await.is_ok()
    }

    fn desired_update(&mut self, full: bool) -> DesiredUpdate {
        let state = self.core.state.read();
        let mut wanted = BTreeMap::new();
        let mut steps = Vec::new();
        for mut step in state::desired::desired_for(&state, &self.name) {
            wanted.insert(step.id, step.want);
            if !full && self.sent.get(&step.id) == Some(&step.want) {
                continue;
            }
            if self.known.insert(step.id) {
                step.order = state::desired::launch_order(&state, step.id).map(Box::new);
            }
            steps.push(step);
        }
        let gone: Vec<AttemptId> =
            self.sent.keys().filter(|id| !wanted.contains_key(id)).copied().collect();
        self.known.retain(|id| wanted.contains_key(id));
        self.sent = wanted;
        DesiredUpdate { full, steps, gone: if full { Vec::new() } else { gone } }
    }
}
