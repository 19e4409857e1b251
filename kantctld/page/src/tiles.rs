//! Nodes as tiles: a square for each GPU, in the colour of its job.

use crate::words::{escape_invisible, percent_encode};
use common::id::{JobId, JobKey};
use common::node::NodeStatus;
use common::wire::api::{MapJob, MapNode};
use maud::{Markup, html};

/// The number of colours in the style sheet, `j0` to `j11`.
const COLOURS: u32 = 12;

/// The class of a job's colour. Tasks of an array have one colour.
pub fn colour(key: JobKey) -> String {
    format!("j{}", key.job.0 % COLOURS)
}

/// The tile of a node.
pub fn tile(node: &MapNode, jobs: &[MapJob]) -> Markup {
    let name = node.name.to_string();
    let (path, title) = (format!("/nodes/{}", percent_encode(&name)), tooltip(node, jobs));
    html! {
        a.tile.(class(node.status)) href=(path) title=(title) {
            span.name { (name) }
            span.gpus {
                @for of_gpu in &node.gpus {
                    @match of_gpu.first().and_then(|place| jobs.get(*place as usize)) {
                        Some(job) => i.(colour(job.key)).part[of_gpu.len() > 1] {},
                        None => i {},
                    }
                }
                @if node.gpus.is_empty() { i.cpu.used[node.cpus_used.0 > 0] {} }
            }
        }
    }
}

/// The class of a state, also for the legend.
pub const fn class(status: NodeStatus) -> &'static str {
    match status {
        NodeStatus::Idle | NodeStatus::Mixed | NodeStatus::Allocated => "up",
        NodeStatus::Draining | NodeStatus::Drained => "drained",
        NodeStatus::Down => "down",
    }
}

/// The tooltip, which screen readers read as well.
fn tooltip(node: &MapNode, jobs: &[MapJob]) -> String {
    let mut text = format!("{}: {}", node.name, node.status.word());
    if let Some(problem) = &node.problem {
        text.push_str(&format!(", {}", escape_invisible(problem)));
    }
    let free = node.gpus.iter().filter(|of_gpu| of_gpu.is_empty()).count();
    match node.gpus.len() {
        0 => text.push_str(&format!("; {} of {} CPUs used", node.cpus_used, node.cpus)),
        all => text.push_str(&format!("; {free} of {all} GPUs free")),
    }
    let mut places: Vec<u32> = node.gpus.iter().flatten().chain(&node.others).copied().collect();
    places.sort_unstable();
    places.dedup();
    for job in places.iter().filter_map(|place| jobs.get(*place as usize)) {
        text.push_str(&match job.key.job {
            JobId(0) => "\njobs of other users".to_owned(),
            _ => format!(
                "\njob {} {} of {}",
                job.key,
                escape_invisible(&job.name),
                escape_invisible(&job.user)
            ),
        });
    }
    text
}
