//! Sentences on nodes that could hold a job but are silent or drained: what is wrong with each, and
//! what an operator can do.

use super::waiting::Waiting;
use common::hostlist;
use common::id::NodeName;
use common::node::Contact;
use common::reason::Need;
use common::unit::GpuMilli;
use state::node::NodeRecord;

/// The maximum number of nodes that are described one by one.
const DESCRIBED_MAX: usize = 4;

/// What is wrong with each of the nodes; `None` if none of them is silent or drained any more.
pub(super) fn sentence(waiting: &Waiting<'_>, need: &Need) -> Option<String> {
    let nodes = unusable_nodes(waiting, need);
    let each = |node: &&NodeRecord| {
        let name = &node.name;
        match (node.contact, &node.drain) {
            (Contact::Connected, None) => format!("{name} is back"),
            (Contact::Connected, Some(drain)) => format!("{name} is drained ({})", drain.reason),
            (_, None) => format!("{name} does not answer"),
            (_, Some(drain)) => format!("{name} does not answer and is drained ({})", drain.reason),
        }
    };
    if let ([only], 0) = (nodes.as_slice(), usable_count(waiting, need)) {
        let rest = each(only);
        let rest = rest.strip_prefix(&only.name.to_string()).unwrap_or_default().to_owned();
        return Some(format!("{}, the only node that could hold it,{rest}", only.name));
    }
    let mut parts: Vec<String> = nodes.iter().take(DESCRIBED_MAX).map(each).collect();
    match nodes.len().checked_sub(DESCRIBED_MAX).filter(|more| *more > 0) {
        Some(more) => parts.push(format!("{more} more do not answer or are drained")),
        None if nodes.is_empty() => return None,
        None => {}
    }
    let last = parts.pop()?;
    let each = if parts.is_empty() { last } else { format!("{} and {last}", parts.join(", ")) };
    Some(format!("of the nodes that could hold it, {each}"))
}

/// Advice: in most cases, what to ask an operator for.
pub(super) fn advice(waiting: &Waiting<'_>, need: &Need) -> String {
    let nodes = unusable_nodes(waiting, need);
    let named = |is_it: &dyn Fn(&NodeRecord) -> bool| -> Vec<&NodeName> {
        nodes.iter().filter(|node| is_it(node)).map(|node| &node.name).collect()
    };
    let is_silent = |node: &NodeRecord| node.contact != Contact::Connected;
    let silent = named(&|node| is_silent(node) && node.drain.is_none());
    let drained = named(&|node| !is_silent(node) && node.drain.is_some());
    let both = named(&|node| is_silent(node) && node.drain.is_some());
    let mut asks = Vec::new();
    if !silent.is_empty() {
        let names = hostlist::compress(silent);
        asks.push(format!("to bring back {names} (is kantd running there?)"));
    }
    if !drained.is_empty() {
        let names = hostlist::compress(drained);
        asks.push(format!("when jobs may start on {names} again (`kantctl resume {names}`)"));
    }
    if !both.is_empty() {
        let names = hostlist::compress(both);
        asks.push(format!(
            "to bring back {names} (is kantd running there?), and when jobs may start there again \
             (`kantctl resume {names}`)"
        ));
    }
    if asks.is_empty() {
        return "nothing: the node is back, and the next look at it comes soon".to_owned();
    }
    // The number of nodes that have to come back.
    let missing = (need.nodes.0 as usize).saturating_sub(usable_count(waiting, need));
    let join = if missing >= nodes.len() { " and " } else { " or " };
    format!("ask an operator {}", asks.join(join))
}

/// What is wrong with all the nodes that the job named; `None` if one of them is up, or it named
/// none.
pub(super) fn named_nodes_sentence(waiting: &Waiting<'_>) -> Option<String> {
    let named = &waiting.job.ask.request.only_nodes;
    let is_up = |name: &NodeName| waiting.state.node(name).is_some_and(NodeRecord::is_usable);
    (!named.is_empty() && !named.iter().any(is_up)).then(|| match named.len() {
        1 => format!("{}, the only node it may use, is down or drained", hostlist::compress(named)),
        _ => format!("{}, the nodes it may use, are down or drained", hostlist::compress(named)),
    })
}

/// The number of usable nodes that could hold a part of the job.
fn usable_count(waiting: &Waiting<'_>, need: &Need) -> usize {
    suitable_nodes(waiting, need).filter(|node| node.is_usable()).count()
}

/// The unusable nodes that could hold a part of the job.
fn unusable_nodes<'a>(waiting: &Waiting<'a>, need: &Need) -> Vec<&'a NodeRecord> {
    suitable_nodes(waiting, need).filter(|node| !node.is_usable()).collect()
}

/// The nodes that could hold a part of the job if they were idle.
fn suitable_nodes<'a>(waiting: &Waiting<'a>, need: &Need) -> impl Iterator<Item = &'a NodeRecord> {
    let ask = &waiting.job.ask;
    let mut queue = ask.queue.as_ref().and_then(|name| waiting.state.queue(name));
    let mut allowed = Vec::new();
    while let Some(at) = queue {
        allowed.push(&at.nodes);
        queue = at.parent.as_ref().and_then(|name| waiting.state.queue(name));
    }
    let is_open = |name: &NodeName| {
        let request = &ask.request;
        allowed.iter().all(|nodes| nodes.is_empty() || nodes.contains(name))
            && (request.only_nodes.is_empty() || request.only_nodes.contains(name))
            && !request.not_nodes.contains(name)
    };
    let holds = |node: &NodeRecord| {
        let has = &node.inventory;
        let asked = waiting.job.ask.request.constraint.as_ref();
        if !asked.is_none_or(|asked| asked.holds(&has.features)) {
            return false;
        }
        if ask.request.gpu_part_on(&has.gpus).is_some_and(|part| part > GpuMilli::WHOLE) {
            return false;
        }
        let gpus = has.gpus.iter().filter(|gpu| ask.request.accepts(&gpu.kind)).count();
        gpus >= need.gpus.0 as usize && has.cpu_count() >= need.cpus && has.memory >= need.memory
    };
    let all = waiting.state.nodes().map(|(_, node)| node);
    all.filter(|node| is_open(&node.name) && holds(node)).collect::<Vec<_>>().into_iter()
}
