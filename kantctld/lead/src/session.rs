//! One node's session, without its connection: judging the Hello, desired state down in messages
//! of bounded size, reports up. Never remembers anything that a reconnect would not bring back.

use common::health::Finding;
use common::id::{AttemptId, NodeName};
use common::node::Contact;
use common::reason::Refusal;
use common::time::Span;
use common::wire::node::{
    DesiredStep, DesiredUpdate, Hello, LaunchOrder, NODE_PROTOCOL, StepStatus, ToNode, Want,
};
use state::{Command, State};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Orders are sent in messages of about this many bytes.
pub const ORDERS_BYTES: usize = 8 << 20;

/// May this node begin a session? `certified` is the name its certificate proves.
///
/// # Errors
/// A sentence for the node's log, when it may not.
pub fn check_hello(state: &State, certified: &NodeName, hello: &Hello) -> Result<(), String> {
    if hello.protocol != NODE_PROTOCOL {
        return Err(format!(
            "kantd {} speaks protocol {}, this controller {NODE_PROTOCOL}: install one release",
            hello.version, hello.protocol
        ));
    }
    if hello.name != *certified {
        return Err(format!("its certificate is for node {certified}, not {}", hello.name));
    }
    let is_taken = state
        .node(&hello.name)
        .is_some_and(|node| node.contact == Contact::Connected && node.identity != hello.identity);
    if is_taken {
        return Err(Refusal::NodeNameTaken { name: hello.name.clone() }.to_string());
    }
    Ok(())
}

/// The command that begins a node's session in the state. Only once it is applied may the session
/// speak: whoever then reads the state knows everything decided before.
#[must_use]
pub fn register(hello: &Hello) -> Command {
    Command::RegisterNode {
        name: hello.name.clone(),
        identity: hello.identity.clone(),
        address: hello.address.clone(),
        version: hello.version.clone(),
        inventory: Box::new(hello.inventory.clone()),
        steps: hello.steps.clone(),
    }
}

/// What a node is told of a step: what to make of it, whether to let it stand still, its time
/// limit, and how often its job was given another size.
type Said = (Want, bool, Option<Span>, u32);

fn said(step: &DesiredStep) -> Said {
    let resized = step.resized.as_ref().map_or(0, |resized| resized.number);
    (step.want, step.suspended, step.time_limit, resized)
}

/// What a session that the state has registered knows of its node.
#[derive(Debug, Clone)]
pub struct NodeSession {
    node: NodeName,
    orders_bytes: usize,
    /// A look is due; true: at everything.
    asked: Option<bool>,
    /// What the node was last told.
    sent: BTreeMap<AttemptId, Said>,
    /// Attempts whose order the node has.
    known: BTreeSet<AttemptId>,
    /// Wanted by the last look, and the node has no order for them yet.
    lacking: VecDeque<DesiredStep>,
}

impl NodeSession {
    /// The session that this Hello began. `orders_bytes` is about how large a message with launch
    /// orders may be, [`ORDERS_BYTES`] but in tests; one order is never split.
    #[must_use]
    pub fn new(hello: &Hello, orders_bytes: usize) -> Self {
        Self {
            node: hello.name.clone(),
            orders_bytes,
            asked: None,
            sent: BTreeMap::new(),
            known: hello.steps.iter().map(|step| step.id).collect(),
            lacking: VecDeque::new(),
        }
    }

    /// Whose session it is.
    #[must_use]
    pub fn node(&self) -> &NodeName {
        &self.node
    }

    /// The first message. After it comes a full look.
    #[must_use]
    pub fn welcome(state: &State) -> ToNode {
        let cluster = state.settings().map(|settings| settings.cluster.clone()).unwrap_or_default();
        ToNode::Welcome { protocol: NODE_PROTOCOL, cluster, hears_health: true }
    }

    /// What the node should run may have changed; `full`: tell it everything, not the difference
    /// to what it was last told. What to send, [`Self::next_message`] answers.
    pub fn look(&mut self, full: bool) {
        self.asked = Some(full || self.asked == Some(true));
    }

    /// The next message to send; `None`: the node was told everything. First what concerns attempts
    /// that the node holds, then, each with its order, those it lacks: a few at a time, for one
    /// message has a bound and scripts are large. An attempt that a node does not hold may be left
    /// out of "everything": there is nothing it could end or forget.
    pub fn next_message(&mut self, state: &State) -> Option<ToNode> {
        if let Some(full) = self.asked.take() {
            let update = self.update(state, full);
            if full || !update.steps.is_empty() || !update.gone.is_empty() {
                return Some(ToNode::Desired(update));
            }
        }
        let steps = self.next_orders(state);
        let update = DesiredUpdate { full: false, steps, gone: Vec::new() };
        (!update.steps.is_empty()).then_some(ToNode::Desired(update))
    }

    /// A look, and all its messages at once: for who has no need to hold back.
    pub fn desired(&mut self, state: &State, full: bool) -> Vec<ToNode> {
        self.look(full);
        std::iter::from_fn(|| self.next_message(state)).collect()
    }

    /// What a node reported, for the log.
    #[must_use]
    pub fn report(&self, steps: Vec<StepStatus>) -> Command {
        Command::ReportSteps { node: self.node.clone(), steps }
    }

    /// All that the node finds wrong with itself; `None` if the state knows that already.
    #[must_use]
    pub fn health(&self, state: &State, findings: Vec<Finding>) -> Option<Command> {
        let known = state.node(&self.node).is_some_and(|node| node.findings == findings);
        (!known).then(|| Command::ReportHealth { node: self.node.clone(), findings })
    }

    /// The session ended, and the node has no other.
    #[must_use]
    pub fn silent(&self) -> Command {
        Command::NodeSilent { name: self.node.clone() }
    }

    /// What is wanted of attempts that the node holds. The others are lacking from here on.
    fn update(&mut self, state: &State, full: bool) -> DesiredUpdate {
        let steps = state::desired::desired_for(state, &self.node);
        let wanted: BTreeMap<_, _> = steps.iter().map(|step| (step.id, said(step))).collect();
        let gone = self.sent.keys().filter(|id| !wanted.contains_key(id)).copied();
        let gone = if full { Vec::new() } else { gone.collect() };
        self.known.retain(|id| wanted.contains_key(id));
        let (held, lacking): (Vec<_>, Vec<_>) =
            steps.into_iter().partition(|step| self.known.contains(&step.id));
        self.lacking = lacking.into();
        let is_news = |step: &DesiredStep| full || self.sent.get(&step.id) != Some(&said(step));
        let steps = held.into_iter().filter(is_news).collect();
        self.sent = wanted;
        DesiredUpdate { full, steps, gone }
    }

    /// As many of the lacking as fit one message, each with its order.
    fn next_orders(&mut self, state: &State) -> Vec<DesiredStep> {
        let (mut steps, mut bytes) = (Vec::new(), 0);
        while bytes < self.orders_bytes {
            let Some(mut step) = self.lacking.pop_front() else { break };
            // Over already: the next look says that it is gone.
            let Some(order) = state::desired::launch_order(state, step.id, &self.node) else {
                continue;
            };
            bytes += order_bytes(&order);
            self.known.insert(step.id);
            step.order = Some(Box::new(order));
            steps.push(step);
        }
        steps
    }
}

/// Roughly what an order takes in a message.
fn order_bytes(order: &LaunchOrder) -> usize {
    let environment: usize = order.environment.iter().map(|(k, v)| k.len() + v.len() + 2).sum();
    let arguments: usize = order.args.iter().map(|argument| argument.len() + 2).sum();
    order.script.len() + environment + arguments + (order.allocation.shares().len() << 7)
}

#[cfg(test)]
mod tests;
