//! The trace and the nodes of a simulation, read from files. A name with `.swf` means the Standard
//! Workload Format, anything else CSV.

use super::{Arguments, SimulateError};
use common::unit::Gpus;
use std::path::Path;
use trace::{Job, Node, read_jobs, read_nodes, read_swf};

pub(super) struct Input {
    /// The trace file's name up to the first dot.
    pub name: String,
    pub jobs: Vec<Job>,
    pub nodes: Vec<Node>,
}

pub(super) fn read(arguments: &Arguments) -> Result<Input, SimulateError> {
    let factor = |option, value: f64, example| {
        let is_good = value.is_finite() && value > 0.0;
        is_good.then_some(value).ok_or(SimulateError::Factor { option, value, example })
    };
    let divisor = factor("--submit-scale", arguments.submit_scale, "1.2")?;
    factor("--arrivals", arguments.arrivals, "1.3")?;
    let nodes = read_nodes(&path_text(&arguments.nodes), &bytes(&arguments.nodes)?)?;
    let file = path_text(&arguments.jobs);
    let content = bytes(&arguments.jobs)?;
    let is_swf = file.ends_with(".swf") || file.ends_with(".swf.gz");
    let mut jobs = if is_swf {
        let log = read_swf(&file, &content, slots(&file, &nodes)?)?;
        if let Some(first) = log.left_out.first() {
            let (count, line) = (log.left_out.len(), first.line);
            eprintln!("{file}: {count} lines are left out, the first {line}: {}", first.reason);
        }
        log.jobs
    } else {
        read_jobs(&file, &content)?
    };
    if (divisor - 1.0).abs() > 0.0 {
        jobs.iter_mut().for_each(|job| job.scale_submit(1.0 / divisor));
    }
    Ok(Input { name: trace_name(&arguments.jobs), jobs, nodes })
}

/// The slots of each node, if all nodes have the same number.
fn slots(file: &str, nodes: &[Node]) -> Result<Gpus, SimulateError> {
    let first = nodes.first().map_or(Gpus::ZERO, |node| node.gpus);
    if first == Gpus::ZERO || nodes.iter().any(|node| node.gpus != first) {
        return Err(SimulateError::SlotsDiffer { file: file.to_owned() });
    }
    Ok(first)
}

fn bytes(file: &Path) -> Result<Vec<u8>, SimulateError> {
    std::fs::read(file).map_err(|source| SimulateError::Read { file: path_text(file), source })
}

pub(super) fn read_text(file: &Path) -> Result<String, SimulateError> {
    let read = std::fs::read_to_string(file);
    read.map_err(|source| SimulateError::Read { file: path_text(file), source })
}

pub(super) fn path_text(file: &Path) -> String {
    file.display().to_string()
}

fn trace_name(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    name.split('.').next().unwrap_or_default().to_owned()
}
