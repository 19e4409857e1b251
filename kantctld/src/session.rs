//! One node's session: its Hello, then desired state down and reports up, until it ends.
//! Never remembers anything that a reconnect would not bring back.

use crate::core::{CommandError, Core};
use crate::hub::{Nudge, SessionId};
use common::id::{AttemptId, NodeName};
use common::node::Contact;
use common::reason::Refusal;
use common::wire::node::{
    DesiredStep, DesiredUpdate, FromNode, Hello, LaunchOrder, NODE_PROTOCOL, OutputChunk,
    StepStatus, ToNode, Want,
};
use net::{Channel, ChannelError, ChannelReceiver, ChannelSender};
use state::Command;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// A node that connects must say who it is within this time.
const HELLO_LIMIT: Duration = Duration::from_secs(10);

/// Orders are sent in messages of about this many bytes.
const ORDERS_BYTES: usize = 8 << 20;
/// The most reports of one node that wait for the log.
const REPORTS_MAX: usize = 1024;

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
    core.hub.note_registered(&name, id);
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
        let welcome = ToNode::Welcome { protocol: NODE_PROTOCOL, cluster: self.core.cluster() };
        if let Err(error) = self.down.send(&welcome).await {
            return error.to_string();
        }
        if let Err(error) = self.send_desired(true).await {
            return error.to_string();
        }
        // Apart from the rest: a full disk must stop reports, not the reading of output.
        let (reports, inbox) = mpsc::channel(REPORTS_MAX);
        let reporter = report(self.core.clone(), self.name.clone(), self.id, inbox);
        let mut reporter = std::pin::pin!(reporter);
        let mut reads: BTreeMap<u64, oneshot::Sender<OutputChunk>> = BTreeMap::new();
        let mut questions = 0_u64;
        loop {
            tokio::select! {
                end = &mut reporter => return end,
                message = up.recv() => match message {
                    Some(Ok(FromNode::Report(steps))) => {
                        if reports.try_send(steps).is_err() {
                            return "more reports wait than the log takes in".to_owned();
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
                        if let Err(error) = self.send_desired(false).await {
                            return error.to_string();
                        }
                    }
                    Some(Nudge::Read(mut question, answer)) => {
                        questions += 1;
                        question.question = questions;
                        reads.retain(|_, reader| !reader.is_closed());
                        reads.insert(questions, answer);
                        if let Err(error) = self.down.send(&ToNode::ReadOutput(question)).await {
                            return error.to_string();
                        }
                    }
                    Some(Nudge::Replaced) | None => return "it connected anew".to_owned(),
                },
            }
        }
    }

    /// Sends everything, or the difference to what was last sent. First what concerns attempts that
    /// the node holds, then, each with its order, those it lacks: a few at a time, for one message
    /// has a bound and scripts are large. An attempt that a node does not hold may be left out of
    /// "everything": there is nothing it could end or forget.
    async fn send_desired(&mut self, full: bool) -> Result<(), ChannelError> {
        let mut update = self.desired_update(full);
        let (held, lacking): (Vec<_>, Vec<_>) =
            update.steps.into_iter().partition(|step| self.known.contains(&step.id));
        update.steps = held;
        if full || !update.steps.is_empty() || !update.gone.is_empty() {
            self.down.send(&ToNode::Desired(update)).await?;
        }
        let mut chunk = Vec::new();
        let mut chunk_bytes = 0;
        for mut step in lacking {
            let order = state::desired::launch_order(&self.core.state.read(), step.id);
            // Over already: the next nudge says that it is gone.
            let Some(order) = order else { continue };
            chunk_bytes += order_bytes(&order);
            self.known.insert(step.id);
            step.order = Some(Box::new(order));
            chunk.push(step);
            if chunk_bytes >= ORDERS_BYTES {
                self.send_orders(std::mem::take(&mut chunk)).await?;
                chunk_bytes = 0;
            }
        }
        self.send_orders(chunk).await
    }

    async fn send_orders(&self, steps: Vec<DesiredStep>) -> Result<(), ChannelError> {
        if steps.is_empty() {
            return Ok(());
        }
        let update = DesiredUpdate { full: false, steps, gone: Vec::new() };
        self.down.send(&ToNode::Desired(update)).await
    }

    /// What is wanted, without orders.
    fn desired_update(&mut self, full: bool) -> DesiredUpdate {
        let steps = state::desired::desired_for(&self.core.state.read(), &self.name);
        let wanted: BTreeMap<AttemptId, Want> = steps.iter().map(|s| (s.id, s.want)).collect();
        let changed = |step: &DesiredStep| full || self.sent.get(&step.id) != Some(&step.want);
        let steps = steps.into_iter().filter(changed).collect();
        let gone = self.sent.keys().filter(|id| !wanted.contains_key(id)).copied();
        let gone = if full { Vec::new() } else { gone.collect() };
        self.known.retain(|id| wanted.contains_key(id));
        self.sent = wanted;
        DesiredUpdate { full, steps, gone }
    }
}

/// Roughly what an order takes in a message.
fn order_bytes(order: &LaunchOrder) -> usize {
    let environment: usize = order.environment.iter().map(|(k, v)| k.len() + v.len() + 2).sum();
    let arguments: usize = order.args.iter().map(|argument| argument.len() + 2).sum();
    order.script.len() + environment + arguments + (order.allocation.shares().len() << 7)
}

/// Puts a node's reports into the log, in their order; ends with the reason it cannot.
async fn report(
    core: Arc<Core>,
    node: NodeName,
    id: SessionId,
    mut inbox: mpsc::Receiver<Vec<StepStatus>>,
) -> String {
    while let Some(steps) = inbox.recv().await {
        if !core.hub.is_seated(&node, id) {
            return "it connected anew".to_owned();
        }
        if let Err(error) = core.command(Command::ReportSteps { node: node.clone(), steps }).await {
            // The node says it again on its next connect.
            return format!("its report was not taken: {error}");
        }
    }
    "the session ended".to_owned()
}
