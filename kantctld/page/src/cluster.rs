//! The cluster as a map: nodes by leaf group, GPUs in the colour of their job.

use crate::frame::{Frame, Section, figure};
use crate::tiles::{class, colour, tile};
use crate::words::{count_with_noun, escape_invisible, job_link};
use common::node::NodeStatus;
use common::wire::api::{ClusterMap, MapGroup, MapNode};
use maud::{Markup, html};

/// The most nodes on one page of the map.
pub(crate) const PAGE_NODES: usize = 1024;
/// The most jobs in the legend.
const LEGEND_JOBS: usize = 24;

/// The map; `page` counts from 0.
#[must_use]
pub fn cluster(frame: &Frame<'_>, map: &ClusterMap, page: usize) -> String {
    let total: usize = map.groups.iter().map(|group| group.nodes.len()).sum();
    let first = page.saturating_mul(PAGE_NODES).min(total);
    let live = html! {
        (figures(map))
        @if total == 0 {
            p.empty { "No node has connected yet: start kantd on one." }
        }
        @for (group, nodes) in groups_on_page(map, first) { (leaf(group, nodes, map)) }
        (pager(first, total))
        (legend(map))
    };
    frame.page(Some(Section::Cluster), "Cluster", Some(map.as_of), &live)
}

fn figures(map: &ClusterMap) -> Markup {
    let nodes = || map.groups.iter().flat_map(|group| &group.nodes);
    let with = |name| nodes().filter(|node| class(node.status) == name).count();
    let up = || nodes().filter(|node| class(node.status) == "up").flat_map(|node| &node.gpus);
    let (gpus, used) = (up().count(), up().filter(|of_gpu| !of_gpu.is_empty()).count());
    html! {
        div.figures {
            (figure(&with("up").to_string(), "nodes up"))
            (figure(&with("drained").to_string(), "drained"))
            (figure(&with("down").to_string(), "down"))
            (figure(&format!("{used} / {gpus}"), "GPUs in use"))
            (figure(&whole_free(nodes()).to_string(), "nodes with all GPUs free"))
            (figure(&map.jobs.len().to_string(), "running jobs"))
        }
    }
}

fn whole_free<'a>(nodes: impl Iterator<Item = &'a MapNode>) -> usize {
    let is_free = |node: &&MapNode| {
        let is_up = matches!(node.status, NodeStatus::Idle | NodeStatus::Mixed);
        is_up && !node.gpus.is_empty() && node.gpus.iter().all(Vec::is_empty)
    };
    nodes.filter(is_free).count()
}

/// The groups with their nodes from the one at `first` on, up to a page.
fn groups_on_page(map: &ClusterMap, first: usize) -> Vec<(&MapGroup, &[MapNode])> {
    let (mut before, mut shown) = (first, PAGE_NODES);
    let mut groups = Vec::new();
    for group in &map.groups {
        let skipped = before.min(group.nodes.len());
        let taken = shown.min(group.nodes.len() - skipped);
        before -= skipped;
        shown -= taken;
        if taken > 0 {
            groups.push((group, &group.nodes[skipped..skipped + taken]));
        }
    }
    groups
}

fn leaf(group: &MapGroup, nodes: &[MapNode], map: &ClusterMap) -> Markup {
    let name = group
        .leaf
        .as_ref()
        .map_or("No leaf switch known".to_owned(), |leaf| format!("Leaf {leaf}"));
    let gpus = || group.nodes.iter().flat_map(|node| &node.gpus);
    // No job gets the GPUs of a drained node.
    let up = group.nodes.iter().filter(|node| class(node.status) == "up");
    let free = up.flat_map(|node| &node.gpus).filter(|of_gpu| of_gpu.is_empty()).count();
    html! {
        section.leaf aria-label=(name) {
            h2 {
                (name)
                @if let Some(spine) = &group.spine { span.dim { " below " (spine) } }
                span.dim { " " (count_with_noun(group.nodes.len(), "node")) ", "
                    (free) " of " (gpus().count()) " GPUs free" }
            }
            div.tiles { @for node in nodes { (tile(node, &map.jobs)) } }
        }
    }
}

fn pager(first: usize, total: usize) -> Markup {
    let (page, end) = (first / PAGE_NODES, (first + PAGE_NODES).min(total));
    html! {
        @if total > PAGE_NODES {
            nav.pager aria-label="Parts of the map" {
                @if page > 0 { a rel="prev" href={ "/?page=" (page - 1) } { "Previous nodes" } }
                span { "Nodes " (first + 1) " to " (end) " of " (total) }
                @if first + PAGE_NODES < total {
                    a rel="next" href={ "/?page=" (page + 1) } { "More nodes" }
                }
            }
        }
    }
}

fn legend(map: &ClusterMap) -> Markup {
    html! {
        section.legend aria-label="Legend" {
            span { i {} "free" }
            span { i.j0.part {} "shared by jobs" }
            span.drained { i {} "drained" }
            span.down { i {} "down" }
            @for job in map.jobs.iter().take(LEGEND_JOBS) {
                span {
                    i.(colour(job.key)) {} (job_link(job.key)) " " (escape_invisible(&job.name))
                }
            }
            @if map.jobs.len() > LEGEND_JOBS {
                a href="/jobs" { "and " (map.jobs.len() - LEGEND_JOBS) " more" }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use common::id::{JobId, JobKey, NodeName, SwitchName};
    use common::time::Time;
    use common::unit::Cpus;
    use common::wire::api::MapJob;

    const FRAME: Frame<'_> = Frame { csrf: "c", ..sample::FRAME };

    fn node(number: usize, status: NodeStatus, gpus: Vec<Vec<u32>>) -> MapNode {
        MapNode {
            name: NodeName::new(format!("g-{number:05}")).unwrap(),
            status,
            problem: (status == NodeStatus::Drained).then(|| "fan <3>".to_owned()),
            cpus: Cpus(64),
            cpus_used: Cpus(0),
            gpus,
            others: Vec::new(),
        }
    }

    fn map(nodes: Vec<MapNode>) -> ClusterMap {
        let leaf = SwitchName::new("leaf-1").ok();
        let key = JobKey::single(JobId(25));
        let name = "<script>alert(1)</script>\u{202e}".to_owned();
        let job = MapJob { key, name, user: "bob".to_owned(), queue: None };
        let groups = vec![MapGroup { leaf, spine: None, nodes }];
        ClusterMap { as_of: Time(0), groups, jobs: vec![job] }
    }

    #[test]
    fn a_gpu_has_the_colour_of_its_job_and_a_drained_node_its_reason() {
        let busy = node(1, NodeStatus::Mixed, vec![vec![0], vec![0, 0], vec![]]);
        let drained = node(2, NodeStatus::Drained, vec![vec![]]);
        let page = cluster(&FRAME, &map(vec![busy, drained]), 0);
        assert!(page.contains("Leaf leaf-1"), "{page}");
        for part in [
            r#"<i class="j1"></i><i class="j1 part"></i><i></i>"#,
            r#"class="tile drained""#,
            "fan &lt;3&gt;",
            "1 of 3 GPUs free",
            "1 of 4 GPUs free",
            "2 / 3",
        ] {
            assert!(page.contains(part), "no {part} in {page}");
        }
        assert!(!page.contains("<script>alert") && !page.contains('\u{202e}'), "{page}");
    }

    #[test]
    fn a_large_map_has_pages() {
        let nodes: Vec<_> =
            (0..PAGE_NODES + 1).map(|n| node(n, NodeStatus::Idle, vec![])).collect();
        let map = map(nodes);
        let first = cluster(&FRAME, &map, 0);
        assert_eq!(first.matches("class=\"tile ").count(), PAGE_NODES);
        assert!(first.contains("/?page=1") && !first.contains("rel=\"prev\""));
        let second = cluster(&FRAME, &map, 1);
        assert_eq!(second.matches("class=\"tile ").count(), 1);
        assert!(second.contains("g-01024") && second.contains("/?page=0"));
        assert!(!cluster(&FRAME, &map, usize::MAX).contains("class=\"tile "));
    }
}
