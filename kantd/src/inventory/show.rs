//! The human-readable inventory: `kantd inventory`.

use common::gpu::{Gpu, GpuMatrix};
use common::node::Inventory;
use std::fmt::Write;

/// The inventory as text.
#[must_use]
pub fn show(inventory: &Inventory) -> String {
    let mut text = String::new();
    write_heading(&mut text, inventory);
    let numa = inventory
        .numa
        .iter()
        .map(|node| vec![node.id.to_string(), node.memory.to_string(), node.cpus.to_string()]);
    write_table(&mut text, &["NUMA", "MEMORY", "CPUS"], numa.collect());
    if !inventory.gpus.is_empty() {
        let names = ["GPU", "KIND", "MEMORY", "NUMA", "PCI", "MINOR", "UUID", "MODEL"];
        write_table(&mut text, &names, inventory.gpus.iter().map(gpu_row).collect());
        write_links(&mut text, &inventory.gpus, &inventory.gpu_matrix);
    }
    if !inventory.nics.is_empty() {
        write_nics(&mut text, inventory);
    }
    if !inventory.limits_missing.is_empty() {
        text.push_str("\nNot enforced or not offered here:\n");
        inventory.limits_missing.iter().for_each(|sentence| {
            text.push_str(&format!("- {sentence}\n"));
        });
    }
    text
}

fn write_heading(text: &mut String, inventory: &Inventory) {
    let driver = match &inventory.gpu_driver {
        None => "no driver".to_owned(),
        Some(version) => format!("driver {version}"),
    };
    let lines = [
        ("CPUs", format!("{} offered: {}", inventory.cpu_count(), inventory.cpus)),
        (
            "Cores",
            format!(
                "{} on {} {}, {} {} each",
                inventory.cores.len(),
                inventory.sockets,
                noun_for_count(inventory.sockets, "socket"),
                inventory.threads_per_core,
                noun_for_count(inventory.threads_per_core, "thread"),
            ),
        ),
        ("Memory", format!("{} offered", inventory.memory)),
        ("GPUs", format!("{} ({driver})", inventory.gpus.len())),
        ("Boot", inventory.boot_id.clone()),
    ];
    for (name, value) in lines {
        text.push_str(&format!("{name:<7} {value}\n"));
    }
}

fn noun_for_count(count: u32, noun: &str) -> String {
    format!("{noun}{}", if count == 1 { "" } else { "s" })
}

fn gpu_row(gpu: &Gpu) -> Vec<String> {
    vec![
        gpu.index.to_string(),
        gpu.kind.to_string(),
        gpu.memory.to_string(),
        gpu.numa.map_or_else(|| "-".to_owned(), |node| node.to_string()),
        gpu.pci_bus_id.clone(),
        gpu.minor.to_string(),
        gpu.uuid.clone(),
        gpu.model.clone(),
    ]
}

/// The paths between GPUs, in the layout of `nvidia-smi topo -m`.
fn write_links(text: &mut String, gpus: &[Gpu], matrix: &GpuMatrix) {
    let names: Vec<String> = gpus.iter().map(|gpu| format!("GPU{}", gpu.index)).collect();
    let mut columns = vec![""];
    columns.extend(names.iter().map(String::as_str));
    columns.extend(["CPUS", "NUMA"]);
    let rows = gpus.iter().zip(&names).map(|(gpu, name)| {
        let mut row = vec![name.clone()];
        row.extend(gpus.iter().map(|other| matrix.path(gpu.index, other.index).to_string()));
        row.push(if gpu.cpus.is_empty() { "-".to_owned() } else { gpu.cpus.to_string() });
        row.push(gpu.numa.map_or_else(|| "-".to_owned(), |node| node.to_string()));
        row
    });
    write_table(text, &columns, rows.collect());
    text.push_str(LEGEND);
}

/// Network cards and their distances from each GPU.
fn write_nics(text: &mut String, inventory: &Inventory) {
    let names: Vec<String> = inventory.gpus.iter().map(|gpu| format!("GPU{}", gpu.index)).collect();
    let mut columns = vec!["NIC", "INFINIBAND", "GBIT/S", "NUMA", "PCI"];
    columns.extend(names.iter().map(String::as_str));
    let rows = inventory.nics.iter().map(|nic| {
        let gbit = nic.speed_mbit.map(|speed| match (speed / 1000, speed % 1000 / 100) {
            (whole, 0) => whole.to_string(),
            (whole, tenth) => format!("{whole}.{tenth}"),
        });
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let mut row = vec![
            nic.name.clone(),
            or_dash(nic.infiniband.clone()),
            or_dash(gbit),
            or_dash(nic.numa.map(|node| node.to_string())),
            nic.pci_bus_id.clone(),
        ];
        let paths = nic.gpu_paths.iter().map(ToString::to_string);
        row.extend(paths.chain(std::iter::repeat("-".to_owned())).take(names.len()));
        row
    });
    write_table(text, &columns, rows.collect());
}

const LEGEND: &str = "
NV# = # NVLinks, PIX = one PCIe switch, PXB = several, PHB = a host bridge,
NODE = host bridges of one NUMA node, SYS = across NUMA nodes
";

/// Appends an empty line and a table with columns two spaces apart.
fn write_table(text: &mut String, names: &[&str], rows: Vec<Vec<String>>) {
    let header = names.iter().map(|name| (*name).to_owned()).collect();
    let lines: Vec<Vec<String>> = std::iter::once(header).chain(rows).collect();
    let width = |column: usize| lines.iter().map(|line| line[column].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..names.len()).map(width).collect();
    text.push('\n');
    for line in &lines {
        let mut row = String::new();
        for (cell, width) in line.iter().zip(&widths) {
            // Writing to a String cannot fail.
            let _ = write!(row, "{cell:<width$}  ");
        }
        text.push_str(row.trim_end());
        text.push('\n');
    }
}
