//! Jobs that ask for the same in the same queue have one shape, and what a round learns about one
//! of them holds for all: where they may run, and that they do not fit. Never remembered longer.

use crate::admit::nodes::candidates;
use crate::cluster::{Cluster, NodeIndex};
use crate::fit::demand::Demand;
use crate::fit::gang::{Layout, fewest_even, lay_out};
use crate::free::{Free, View};
use crate::snapshot::WaitingJob;
use common::gpu::GpuKind;
use common::id::{NodeName, QueueName};
use common::queue::Queue;
use common::resource::Request;
use common::time::Time;
use common::unit::{Gpus, Nodes};
use std::collections::BTreeMap;
use std::rc::Rc;

/// What jobs of one shape have in common.
#[derive(Debug, Clone)]
pub(crate) struct Shape<'a> {
    pub demand: Demand<'a>,
    pub nodes: Rc<Candidates>,
    /// How many nodes a job with GPUs in all, and no number of nodes, is spread over.
    spread: Nodes,
    /// The earliest end of a job of this shape that did not fit. Free resources only shrink in a
    /// round and a later end sees no more of them, so no job that ends then or later fits either.
    no_fit_from: Option<Time>,
    /// A shadow was sought in vain.
    pub has_no_shadow: bool,
}

/// The nodes a job may have.
#[derive(Debug)]
pub(crate) struct Candidates {
    pub all: Vec<NodeIndex>,
    /// Those where jobs may start now.
    pub usable: Vec<NodeIndex>,
}

impl<'a> Shape<'a> {
    pub fn new(
        cluster: &Cluster<'_>,
        whole: &[Free],
        nodes: Rc<Candidates>,
        queue: &Queue,
        request: &'a Request,
    ) -> Self {
        let demand = Demand::new(request, queue);
        let spread = match (request.nodes, demand.gpus_total()) {
            (None, Some(gpus)) => spread(cluster, whole, &nodes, &demand, gpus),
            _ => Nodes(1),
        };
        Self { demand, nodes, spread, no_fit_from: None, has_no_shadow: false }
    }

    /// Where it goes, on these candidates with this much free.
    pub fn lay_out(
        &self,
        cluster: &Cluster<'_>,
        view: &View<'_>,
        candidates: &[NodeIndex],
    ) -> Option<Layout> {
        lay_out(cluster, view, candidates, &self.demand, self.spread)
    }

    /// The number of nodes, where it is not a matter of what is free.
    pub fn nodes_fixed(&self) -> Option<Nodes> {
        self.demand.request.nodes.or_else(|| self.demand.gpus_total().map(|_| self.spread))
    }

    /// Is it known that no job of this shape that ends then fits?
    pub fn cannot_fit(&self, ends: Time) -> bool {
        self.no_fit_from.is_some_and(|from| ends >= from)
    }

    /// A job of this shape that ends then did not fit.
    pub fn did_not_fit(&mut self, ends: Time) {
        self.no_fit_from = Some(self.no_fit_from.map_or(ends, |from| from.min(ends)));
    }
}

/// The fewest nodes the usable part of the idle cluster could do it with, else all of it; if
/// neither can, as many as the GPUs need, for the sentence that says so.
fn spread(
    cluster: &Cluster<'_>,
    whole: &[Free],
    nodes: &Candidates,
    demand: &Demand<'_>,
    gpus: Gpus,
) -> Nodes {
    let view = View::plain(whole);
    let fewest = |candidates: &[NodeIndex]| fewest_even(cluster, &view, candidates, demand, gpus);
    fewest(&nodes.usable).or_else(|| fewest(&nodes.all)).unwrap_or_else(|| {
        let most = nodes.all.iter().map(|at| whole[at.0].gpus.len()).max().unwrap_or(1).max(1);
        let most = u32::try_from(most).unwrap_or(u32::MAX);
        Nodes(gpus.0.div_ceil(most).clamp(1, demand.request.tasks.0.max(1)))
    })
}

/// Where a shape is in [`Shapes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ShapeIndex(usize);

/// What decides which nodes a job may have.
type Filter<'a> = (&'a QueueName, &'a [NodeName], &'a [NodeName], Option<&'a GpuKind>);

/// The shapes met in a round.
#[derive(Debug, Default)]
pub(crate) struct Shapes<'a> {
    shapes: Vec<Shape<'a>>,
    by_request: BTreeMap<(&'a QueueName, &'a Request), ShapeIndex>,
    by_filter: BTreeMap<Filter<'a>, Rc<Candidates>>,
}

impl<'a> Shapes<'a> {
    /// The shape of a job of this queue.
    pub fn of(
        &mut self,
        cluster: &Cluster<'_>,
        whole: &[Free],
        queue: &Queue,
        job: &'a WaitingJob,
    ) -> ShapeIndex {
        let request: &Request = &job.request;
        if let Some(index) = self.by_request.get(&(&job.queue, request)) {
            return *index;
        }
        let filter: Filter<'a> =
            (&job.queue, &request.only_nodes, &request.not_nodes, request.gpu_kind.as_ref());
        let nodes = self.by_filter.entry(filter).or_insert_with(|| {
            let all = candidates(cluster, queue, request);
            let usable = all.iter().copied().filter(|at| cluster.node(*at).usable).collect();
            Rc::new(Candidates { all, usable })
        });
        let shape = Shape::new(cluster, whole, Rc::clone(nodes), queue, request);
        let index = ShapeIndex(self.shapes.len());
        self.shapes.push(shape);
        self.by_request.insert((&job.queue, request), index);
        index
    }

    pub fn get(&self, index: ShapeIndex) -> &Shape<'a> {
        &self.shapes[index.0]
    }

    pub fn get_mut(&mut self, index: ShapeIndex) -> &mut Shape<'a> {
        &mut self.shapes[index.0]
    }
}
