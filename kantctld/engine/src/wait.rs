//! Step 6: why a job that may start does not, in numbers. Never changes what was decided.

use crate::backfill::endings::{Endings, NEVER};
use crate::cluster::{Cluster, NodeIndex};
use crate::fit::demand::Part;
use crate::fit::room::{free_gpus, holds, room};
use crate::free::{Free, View};
use crate::shape::Shape;
use crate::trial::Trial;
use common::reason::{Nearest, Need, WaitReason};
use common::time::Time;
use common::unit::{Bytes, Cpus, Gpus, Nodes, Tasks};

/// What there is to look at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sight<'a> {
    pub cluster: &'a Cluster<'a>,
    /// Every node as if idle and up.
    pub whole: &'a [Free],
}

impl Sight<'_> {
    /// Why a job of this shape has no room on the nodes that may be used, if they were idle:
    /// because there are none such, or because they are down or drained. `None`: it has.
    pub fn why_never(&self, shape: &Shape<'_>) -> Option<WaitReason> {
        let whole = View::plain(self.whole);
        let fits = |on: &[NodeIndex]| shape.lay_out(self.cluster, &whole, on).is_some();
        let nodes = &shape.nodes;
        if fits(&nodes.usable) {
            return None;
        }
        let (need, part) = self.need(shape);
        let large_enough = |at: &&NodeIndex| self.holds(shape, &whole, **at, part);
        let down = |at: &&NodeIndex| !self.cluster.node(**at).usable;
        let mut unavailable = nodes.all.iter().filter(down).filter(large_enough);
        if fits(&nodes.all)
            && let Some(first) = unavailable.next()
        {
            let example = self.cluster.node(*first).name.clone();
            let unavailable = count(1 + unavailable.count());
            return Some(WaitReason::NodesUnavailable { need, unavailable, example });
        }
        Some(WaitReason::NeverFits {
            nodes_fit: count(nodes.all.iter().filter(large_enough).count()),
            largest: self.nearest(shape, &whole, &nodes.all, &need),
            need,
        })
    }

    /// Why a job of this shape, which has room on idle nodes, has none now. `None`: it has.
    pub fn why_not_now(
        &self,
        shape: &Shape<'_>,
        trial: &mut Trial,
        endings: Option<&Endings>,
        now: Time,
    ) -> Option<WaitReason> {
        let usable = &shape.nodes.usable;
        if shape.lay_out(self.cluster, &trial.view(), usable).is_some() {
            return None;
        }
        let expected = endings.and_then(|e| e.make_room(self.cluster, trial, shape, &[], now));
        let (need, part) = self.need(shape);
        let view = trial.view();
        let free_now = usable.iter().filter(|at| self.holds(shape, &view, **at, part));
        Some(WaitReason::Resources {
            nodes_free: count(free_now.count()),
            nearest: self.nearest(shape, &view, usable, &need),
            expected_at: expected.map(|(at, _)| at).filter(|at| *at < NEVER),
            need,
        })
    }

    fn holds(&self, shape: &Shape<'_>, view: &View<'_>, at: NodeIndex, part: Part) -> bool {
        holds(&shape.demand, self.cluster.node(at), view.on(at), part)
    }

    /// What the job needs on the node that carries most of it, and on how many nodes. Where the
    /// number of nodes is open it is the fewest, were all nodes like the roomiest.
    fn need(&self, shape: &Shape<'_>) -> (Need, Part) {
        let (demand, request) = (&shape.demand, shape.demand.request);
        let nodes = shape.nodes_fixed().unwrap_or_else(|| {
            let rooms = shape.nodes.all.iter();
            let rooms = rooms.map(|at| room(demand, self.cluster.node(*at), &self.whole[at.0]));
            match rooms.max().unwrap_or_default() {
                Tasks(0) => Nodes(request.tasks.0),
                Tasks(most) => Nodes(request.tasks.0.div_ceil(most)),
            }
        });
        let part = demand.even_part(nodes, 0);
        let inventories = || shape.nodes.all.iter().map(|at| self.cluster.node(*at).inventory);
        let all_memory = inventories().map(|i| i.memory).min().unwrap_or_default();
        let all_cpus = inventories().map(|i| i.cpu_count()).min().unwrap_or_default();
        let amounts = demand.amounts_of(part, all_memory);
        let whole_nodes = if request.exclusive { all_cpus } else { Cpus::ZERO };
        let need = Need {
            nodes,
            cpus: amounts.cpus.max(whole_nodes),
            memory: amounts.memory,
            gpus: amounts.gpus,
            gpu_kind: request.gpu_kind.clone(),
        };
        (need, part)
    }

    /// The node that has most of what is needed: GPUs first, then CPUs, then memory.
    fn nearest(
        &self,
        shape: &Shape<'_>,
        view: &View<'_>,
        on: &[NodeIndex],
        need: &Need,
    ) -> Option<Nearest> {
        let has = |at: &NodeIndex| -> (Gpus, Cpus, Bytes) {
            let free = view.on(*at);
            if free.closed {
                return Default::default();
            }
            let gpus = free_gpus(&shape.demand, self.cluster.node(*at), free);
            (gpus, free.core_cpus, free.memory)
        };
        let useful = |at: &&NodeIndex| {
            let (gpus, cpus, memory) = has(at);
            let useful = (gpus.min(need.gpus), cpus.min(need.cpus), memory.min(need.memory));
            (useful, std::cmp::Reverse(**at))
        };
        let best = on.iter().max_by_key(useful)?;
        let (gpus, cpus, memory) = has(best);
        Some(Nearest { node: self.cluster.node(*best).name.clone(), cpus, memory, gpus })
    }
}

fn count(nodes: usize) -> Nodes {
    Nodes(u32::try_from(nodes).unwrap_or(u32::MAX))
}
