//! One node's session without its connection: the check of the Hello, desired state down in
//! messages of bounded size, reports up. A reconnect restores everything that it holds.

use common::health::Finding;
use common::id::{AttemptId, DataName, NodeName};
use common::node::Contact;
use common::node::DATA_PER_NODE_MAX;
use common::reason::Refusal;
use common::time::Span;
use common::wire::Protocols;
use common::wire::node::{
    DesiredStep, DesiredUpdate, FenceTerms, Hello, LaunchOrder, StepStatus, ToNode, Want,
};
use state::{Command, State};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The approximate size of a message with launch orders.
pub const ORDERS_BYTES: usize = 8 << 20;

/// How often a node asks whether the controller leads, in a cluster of a few thousand nodes.
const ASK_EVERY_MIN: Span = Span::from_seconds(1);

/// In a larger one, all nodes together ask this often in a millisecond.
const ASKS_PER_MS_MAX: u64 = 4;

/// Checks whether a node may start a session. `certified` is the name in its certificate; `ours`
/// are the versions of the protocol that this controller speaks. Returns the version to use.
///
/// # Errors
/// A sentence for the node's log, if it may not.
pub fn check_hello(
    state: &State,
    certified: &NodeName,
    hello: &Hello,
    ours: Protocols,
) -> Result<u32, String> {
    let theirs = Protocols::from_announced(hello.protocol, hello.oldest_protocol);
    let Some(protocol) = ours.newest_common(theirs) else {
        return Err(format!(
            "kantd {} uses protocol {theirs}, this controller {ours}: install the same release",
            hello.version
        ));
    };
    if hello.name != *certified {
        return Err(format!("its certificate is for node {certified}, not {}", hello.name));
    }
    let is_taken = state
        .node(&hello.name)
        .is_some_and(|node| node.contact == Contact::Connected && node.identity != hello.identity);
    if is_taken {
        return Err(Refusal::NodeNameTaken { name: hello.name.clone() }.text_with_hint());
    }
    Ok(protocol)
}

/// The command that registers a node's session. The session may start only once it is applied,
/// because the state then has everything decided before.
#[must_use]
pub fn register_command(hello: &Hello) -> Command {
    Command::RegisterNode {
        name: hello.name.clone(),
        identity: hello.identity.clone(),
        address: hello.address.clone(),
        version: hello.version.clone(),
        inventory: Box::new(hello.inventory.clone()),
        steps: hello.steps.clone(),
    }
}

/// The part of a desired step that can change: what to do with it, whether it is suspended, its
/// time limit, and the number of resizes of its job.
type Sent = (Want, bool, Option<Span>, u32);

fn changeable_part(step: &DesiredStep) -> Sent {
    let resized = step.resized.as_ref().map_or(0, |resized| resized.number);
    (step.want, step.suspended, step.time_limit, resized)
}

/// What a registered session knows about its node.
#[derive(Debug, Clone)]
pub struct NodeSession {
    node: NodeName,
    orders_bytes: usize,
    /// Whether a comparison is due; `true` for all steps.
    comparison_due: Option<bool>,
    /// What was last sent.
    sent: BTreeMap<AttemptId, Sent>,
    /// Attempts whose order the node has.
    known: BTreeSet<AttemptId>,
    /// Desired steps for which the node has no order yet.
    lacking: VecDeque<DesiredStep>,
}

impl NodeSession {
    /// The session of this Hello. `orders_bytes` is about the size of a message with launch orders,
    /// [`ORDERS_BYTES`] except in tests; one order is not split.
    #[must_use]
    pub fn new(hello: &Hello, orders_bytes: usize) -> Self {
        Self {
            node: hello.name.clone(),
            orders_bytes,
            comparison_due: None,
            sent: BTreeMap::new(),
            known: hello.steps.iter().map(|step| step.id).collect(),
            lacking: VecDeque::new(),
        }
    }

    #[must_use]
    pub fn node(&self) -> &NodeName {
        &self.node
    }

    /// The first message, which a full comparison follows. Both sides use this version of the
    /// protocol. The node ends its jobs after this time without a leader; zero means never.
    #[must_use]
    pub fn welcome(state: &State, protocol: u32, fence_after: Span) -> ToNode {
        let settings = state.settings();
        let cluster = settings.map(|settings| settings.cluster.clone()).unwrap_or_default();
        let terms = FenceTerms {
            after: fence_after,
            kill_within: settings.map_or(Span(0), |settings| settings.kill_grace),
            ask_every: ASK_EVERY_MIN.max(Span(state.nodes().count() as u64 / ASKS_PER_MS_MAX)),
        };
        ToNode::Welcome { protocol, cluster, fence: Some(terms) }
    }

    /// Requests a comparison with the desired state; `full` sends all steps instead of the
    /// difference. [`Self::next_message`] returns the messages.
    pub fn request_comparison(&mut self, full: bool) {
        self.comparison_due = Some(full || self.comparison_due == Some(true));
    }

    /// The next message; `None` if everything was sent. Steps that the node has come first, then
    /// those that it lacks with their orders, a few at a time, because messages are bounded and
    /// scripts are large. A full update may leave out attempts that the node does not have: there
    /// is nothing to end or forget.
    pub fn next_message(&mut self, state: &State) -> Option<ToNode> {
        if let Some(full) = self.comparison_due.take() {
            let update = self.comparison_update(state, full);
            if full || !update.steps.is_empty() || !update.gone.is_empty() {
                return Some(ToNode::Desired(update));
            }
        }
        let steps = self.next_orders(state);
        let update = DesiredUpdate { full: false, steps, gone: Vec::new() };
        (!update.steps.is_empty()).then_some(ToNode::Desired(update))
    }

    /// Compares and returns all messages at once, for callers without flow control.
    pub fn compare_at_once(&mut self, state: &State, full: bool) -> Vec<ToNode> {
        self.request_comparison(full);
        std::iter::from_fn(|| self.next_message(state)).collect()
    }

    /// The command for a node's report.
    #[must_use]
    pub fn report_command(&self, steps: Vec<StepStatus>) -> Command {
        Command::ReportSteps { node: self.node.clone(), steps }
    }

    /// The command for a node's health findings; `None` if the state has them already.
    #[must_use]
    pub fn health_command(&self, state: &State, findings: Vec<Finding>) -> Option<Command> {
        let known = state.node(&self.node).is_some_and(|node| node.findings == findings);
        (!known).then(|| Command::ReportHealth { node: self.node.clone(), findings })
    }

    /// The command for a node's data; `None` if the state has it already.
    #[must_use]
    pub fn data_command(&self, state: &State, mut data: Vec<DataName>) -> Option<Command> {
        data.truncate(DATA_PER_NODE_MAX);
        data.sort_unstable();
        data.dedup();
        let known = state.node(&self.node).is_some_and(|node| *node.data == *data);
        (!known).then(|| Command::ReportData { node: self.node.clone(), data })
    }

    /// The command for a node whose last session ended.
    #[must_use]
    pub fn silence_command(&self) -> Command {
        Command::NodeSilent { name: self.node.clone() }
    }

    /// The update for attempts that the node has; the others are lacking from here on.
    fn comparison_update(&mut self, state: &State, full: bool) -> DesiredUpdate {
        let steps = state::desired::desired_for(state, &self.node);
        let wanted: BTreeMap<_, _> =
            steps.iter().map(|step| (step.id, changeable_part(step))).collect();
        let gone = self.sent.keys().filter(|id| !wanted.contains_key(id)).copied();
        let gone = if full { Vec::new() } else { gone.collect() };
        self.known.retain(|id| wanted.contains_key(id));
        let (held, lacking): (Vec<_>, Vec<_>) =
            steps.into_iter().partition(|step| self.known.contains(&step.id));
        self.lacking = lacking.into();
        let has_changed =
            |step: &DesiredStep| full || self.sent.get(&step.id) != Some(&changeable_part(step));
        let steps = held.into_iter().filter(has_changed).collect();
        self.sent = wanted;
        DesiredUpdate { full, steps, gone }
    }

    /// As many lacking steps as fit into a message, with their orders.
    fn next_orders(&mut self, state: &State) -> Vec<DesiredStep> {
        let (mut steps, mut bytes) = (Vec::new(), 0);
        while bytes < self.orders_bytes {
            let Some(mut step) = self.lacking.pop_front() else { break };
            // It has ended already; the next comparison says so.
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

/// The approximate size of an order in a message.
fn order_bytes(order: &LaunchOrder) -> usize {
    let environment: usize = order.environment.iter().map(|(k, v)| k.len() + v.len() + 2).sum();
    let arguments: usize = order.args.iter().map(|argument| argument.len() + 2).sum();
    order.script.len() + environment + arguments + (order.allocation.shares().len() << 7)
}

#[cfg(test)]
mod tests;
