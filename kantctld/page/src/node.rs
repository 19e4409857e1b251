//! Nodes: a table of all, and a page for each.

use crate::frame::{Frame, Section, meter};
use crate::words::{ago, count_with_noun, escape_invisible, job_link, percent_encode};
use common::time::Time;
use common::wire::api::{ClusterMap, MapNode, NodeView};
use maud::{Markup, html};

/// The most nodes on one page.
const PAGE_NODES: usize = 500;

/// All nodes, those with problems first; `page` counts from 0.
#[must_use]
pub fn nodes(frame: &Frame<'_>, map: &ClusterMap, page: usize) -> String {
    let all = map.groups.iter().flat_map(|group| {
        let leaf = group.leaf.as_ref().map(ToString::to_string).unwrap_or_default();
        group.nodes.iter().map(move |node| (node, leaf.clone()))
    });
    let mut all: Vec<(&MapNode, String)> = all.collect();
    all.sort_by_key(|(node, _)| (node.problem.is_none(), node.name.clone()));
    let first = page.saturating_mul(PAGE_NODES).min(all.len());
    let live = html! {
        div.scroll tabindex="0" role="region" aria-label="Nodes" {
            table {
                thead { tr {
                    th scope="col" { "Node" }
                    th scope="col" { "State" }
                    th scope="col" { "Leaf" }
                    th scope="col" { "GPUs" }
                    th scope="col" { "CPUs" }
                    th scope="col" { "Problem" }
                } }
                tbody {
                    @for (node, leaf) in all.iter().skip(first).take(PAGE_NODES) {
                        (row(node, leaf))
                    }
                }
            }
        }
        (pager(page, first, all.len()))
    };
    let title = count_with_noun(all.len(), "node");
    frame.page(Some(Section::Nodes), &title, Some(map.as_of), &live)
}

fn row(node: &MapNode, leaf: &str) -> Markup {
    let gpus = node.gpus.len() as u64;
    let used = node.gpus.iter().filter(|of_gpu| !of_gpu.is_empty()).count() as u64;
    let (cpus, cpus_used) = (u64::from(node.cpus.0), u64::from(node.cpus_used.0));
    html! {
        tr {
            td { (node_link(&node.name.to_string())) }
            td { span.state.(crate::tiles::class(node.status)) { (node.status.word()) } }
            td { (leaf) }
            td { @if gpus > 0 { (used_of_all(used, gpus)) } }
            td { (used_of_all(cpus_used, cpus)) }
            td.why { @if let Some(problem) = &node.problem { (escape_invisible(problem)) } }
        }
    }
}

fn used_of_all(used: u64, all: u64) -> Markup {
    let text = format!("{used} of {all}");
    html! { (meter(used, all, &text)) " " span.dim { (text) } }
}

fn node_link(name: &str) -> Markup {
    html! { a href={ "/nodes/" (percent_encode(name)) } { (name) } }
}

fn pager(page: usize, first: usize, total: usize) -> Markup {
    let end = (first + PAGE_NODES).min(total);
    html! {
        @if total > PAGE_NODES {
            nav.pager aria-label="Parts of the list" {
                @if page > 0 { a rel="prev" href={ "/nodes?page=" (page - 1) } { "Previous" } }
                span { "Nodes " (first + 1) " to " (end) " of " (total) }
                @if first + PAGE_NODES < total {
                    a rel="next" href={ "/nodes?page=" (page + 1) } { "Next" }
                }
            }
        }
    }
}

/// One node.
#[must_use]
pub fn node(frame: &Frame<'_>, node: &NodeView, as_of: Time) -> String {
    let inventory = &node.inventory;
    let live = html! {
        p.lead { (node.status.word())
            @if let Some(drain) = &node.drain {
                ": " (escape_invisible(&drain.reason)) " (" (ago(drain.since, as_of)) ")"
            } }
        dl.facts {
            dt { "GPUs" }
            dd { (used_of_all(u64::from(node.gpus_used.0), inventory.gpus.len() as u64)) }
            dt { "CPUs" }
            dd { (used_of_all(u64::from(node.cpus_used.0), u64::from(inventory.cpu_count().0))) }
            dt { "Memory" } dd { (node.memory_used) " of " (inventory.memory) }
            dt { "Address" } dd { (escape_invisible(&node.address)) }
            dt { "kantd" } dd { (escape_invisible(&node.version)) }
            @if let Some(driver) = &inventory.gpu_driver {
                dt { "Driver" } dd { (escape_invisible(driver)) }
            }
        }
        @if !node.findings.is_empty() {
            section {
                h2 { "Health" }
                ul { @for finding in &node.findings { li { (escape_invisible(&finding.says)) } } }
            }
        }
        section {
            h2 { (count_with_noun(node.jobs.len(), "job")) }
            ul.tasks { @for key in &node.jobs { li { (job_link(*key)) } } }
        }
        @if !inventory.gpus.is_empty() { (gpu_table(node)) }
    };
    frame.page(Some(Section::Nodes), &format!("Node {}", node.name), Some(as_of), &live)
}

fn gpu_table(node: &NodeView) -> Markup {
    html! {
        section {
            h2 { "GPUs" }
            div.scroll tabindex="0" role="region" aria-label="GPUs of the node" {
                table {
                    thead { tr {
                        th.number scope="col" { "No." }
                        th scope="col" { "Model" }
                        th.number scope="col" { "Memory" }
                        th scope="col" { "PCI" }
                    } }
                    tbody {
                        @for gpu in &node.inventory.gpus {
                            tr {
                                td.number { (gpu.index) }
                                td { (escape_invisible(&gpu.model)) }
                                td.number { (gpu.memory) }
                                td { (escape_invisible(&gpu.pci_bus_id)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::FRAME;
    use common::node::NodeStatus;
    use common::unit::Cpus;
    use common::wire::api::MapGroup;

    #[test]
    fn nodes_with_problems_come_first_and_their_reason_is_text() {
        let node = |name: &str, problem: Option<&str>| MapNode {
            name: name.parse().unwrap(),
            status: if problem.is_some() { NodeStatus::Down } else { NodeStatus::Idle },
            problem: problem.map(str::to_owned),
            cpus: Cpus(4),
            cpus_used: Cpus(1),
            gpus: vec![vec![], vec![0]],
            others: Vec::new(),
        };
        let nodes = vec![node("a", None), node("b", Some("<i>fan</i>"))];
        let group = MapGroup { leaf: None, spine: None, nodes };
        let map = ClusterMap { as_of: Time(0), groups: vec![group], jobs: Vec::new() };
        let page = super::nodes(&FRAME, &map, 0);
        assert!(page.find("/nodes/b") < page.find("/nodes/a"), "{page}");
        assert!(page.contains("&lt;i&gt;fan&lt;/i&gt;") && page.contains("1 of 2"), "{page}");
        assert!(!super::nodes(&FRAME, &map, 7).contains("/nodes/a\""));
    }
}
