//! The hardware of an emulated node: a short description in TOML, or a real node's inventory as
//! JSON.

use common::cpuset::CpuSet;
use common::gpu::{Gpu, GpuKind, GpuMatrix, GpuPath};
use common::id::{FeatureName, GpuIndex, NodeName};
use common::node::{EMULATED, Inventory, Numa};
use common::unit::{Bytes, BytesError};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

/// The largest number of sockets, cores and threads, far above any real machine.
const PARTS_MAX: u32 = 4096;

/// An invalid machine description.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    #[error("failed to read the machine {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("failed to read the machine {}: docs/operating/emulation.md lists the keys",
        path.display())]
    Toml {
        path: PathBuf,
        #[source]
        source: Box<toml::de::Error>,
    },
    #[error("failed to read the machine {}: it must be the output of `kantd inventory --json`",
        path.display())]
    Json {
        path: PathBuf,
        #[source]
        source: serde_json::Error,
    },
    #[error("failed to use `{key}` of the machine: {source}")]
    Memory { key: &'static str, source: BytesError },
    #[error("failed to use `{key}` of the machine: write 1 to {PARTS_MAX} (gpus: 0 to 64)")]
    Amount { key: &'static str },
}

/// A machine description; missing keys default to a DGX H100's.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct MachineFile {
    /// Packages, each a NUMA node.
    sockets: u32,
    cores_per_socket: u32,
    threads_per_core: u32,
    memory: String,
    gpus: u32,
    /// The vendor's name of the model.
    gpu_model: String,
    gpu_memory: String,
    /// Number of links between each two GPUs; with 0 they are connected by PCIe.
    nvlinks: u8,
    /// Names that jobs may request.
    features: Vec<FeatureName>,
}

impl Default for MachineFile {
    fn default() -> Self {
        Self {
            sockets: 2,
            cores_per_socket: 56,
            threads_per_core: 2,
            memory: "2T".to_owned(),
            gpus: 8,
            gpu_model: "NVIDIA H100 80GB HBM3".to_owned(),
            gpu_memory: "80G".to_owned(),
            nvlinks: 18,
            features: Vec::new(),
        }
    }
}

/// The machine that a file describes, or a DGX H100 without a file.
///
/// # Errors
/// [`MachineError`].
pub fn load_machine(file: Option<&Path>) -> Result<Inventory, MachineError> {
    let Some(path) = file else { return build_inventory(&MachineFile::default()) };
    let text = std::fs::read_to_string(path)
        .map_err(|source| MachineError::Read { path: path.to_owned(), source })?;
    if path.extension().is_some_and(|extension| extension == "json") {
        let inventory = serde_json::from_str(&text);
        return inventory.map_err(|source| MachineError::Json { path: path.to_owned(), source });
    }
    let words = toml::from_str(&text)
        .map_err(|source| MachineError::Toml { path: path.to_owned(), source: Box::new(source) })?;
    build_inventory(&words)
}

/// Sets what is unique to each node, and marks it as emulated.
pub(super) fn set_identity(inventory: &mut Inventory, node: &NodeName, boot: u32) {
    inventory.boot_id = format!("emulated {boot}");
    for gpu in &mut inventory.gpus {
        gpu.uuid = format!("GPU-{node}-{}", gpu.index);
    }
    let named: BTreeSet<FeatureName> =
        inventory.features.drain(..).chain(FeatureName::new(EMULATED)).collect();
    inventory.features =
        crate::features::node_features(&named.into_iter().collect::<Vec<_>>(), inventory);
    inventory.limits_missing = vec!["the node is emulated: no process of a job runs".to_owned()];
}

fn build_inventory(words: &MachineFile) -> Result<Inventory, MachineError> {
    let amounts = [
        ("sockets", words.sockets),
        ("cores_per_socket", words.cores_per_socket),
        ("threads_per_core", words.threads_per_core),
    ];
    let count = amounts.iter().fold(1, |all: u32, (_, amount)| all.saturating_mul(*amount));
    let bad = amounts.iter().find(|(_, amount)| !(1..=PARTS_MAX).contains(amount));
    if let Some((key, _)) = bad.or((count > PARTS_MAX).then_some(&amounts[1])) {
        return Err(MachineError::Amount { key });
    }
    let gpus = u16::try_from(words.gpus).ok().filter(|gpus| *gpus <= 64);
    let gpus = gpus.ok_or(MachineError::Amount { key: "gpus" })?;
    let memory = parse_bytes("memory", &words.memory)?;
    let gpu_memory = parse_bytes("gpu_memory", &words.gpu_memory)?;
    let in_socket = count / words.sockets;
    let cpus_of = |socket: u32| (socket * in_socket..(socket + 1) * in_socket).collect::<CpuSet>();
    let socket_of = |gpu: u16| u32::from(gpu) * words.sockets / words.gpus.max(1);
    let gpu = |index: u16| Gpu {
        index: GpuIndex(index),
        uuid: String::new(),
        model: words.gpu_model.clone(),
        kind: GpuKind::from_model(&words.gpu_model),
        memory: gpu_memory,
        minor: index.into(),
        pci_bus_id: format!("0000:{index:02x}:00.0"),
        numa: u16::try_from(socket_of(index)).ok(),
        cpus: cpus_of(socket_of(index)),
        mig: None,
    };
    let far = if words.nvlinks == 0 { GpuPath::Sys } else { GpuPath::NvLink(words.nvlinks) };
    let path = |a: u16, b: u16| if a == b { GpuPath::Own } else { far };
    let threads = words.threads_per_core;
    let numa = |socket: u32| Numa {
        id: u16::try_from(socket).unwrap_or(u16::MAX),
        cpus: cpus_of(socket),
        memory: Bytes(memory.0 / u64::from(words.sockets)),
    };
    Ok(Inventory {
        sockets: words.sockets,
        threads_per_core: threads,
        cpus: CpuSet::first_n(count),
        cores: (0..count / threads).map(|c| (c * threads..(c + 1) * threads).collect()).collect(),
        numa: (0..words.sockets).map(numa).collect(),
        memory,
        gpus: (0..gpus).map(gpu).collect(),
        gpu_matrix: GpuMatrix {
            paths: (0..gpus).map(|a| (0..gpus).map(|b| path(a, b)).collect()).collect(),
        },
        nics: Vec::new(),
        features: words.features.clone(),
        boot_id: String::new(),
        gpu_driver: None,
        limits_missing: Vec::new(),
    })
}

fn parse_bytes(key: &'static str, text: &str) -> Result<Bytes, MachineError> {
    text.parse().map_err(|source| MachineError::Memory { key, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, text: &str) -> Result<Inventory, MachineError> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        load_machine(Some(&path))
    }

    #[test]
    fn missing_keys_default_to_a_dgx_h100() {
        let made = read("m.toml", "gpus = 4\nmemory = \"256G\"\nfeatures = [\"ib\"]\n").unwrap();
        assert_eq!((made.cpu_count().0, made.cores.len(), made.numa.len()), (224, 112, 2));
        assert_eq!(
            (made.gpus.len(), made.gpus[3].numa, made.memory),
            (4, Some(1), Bytes(256 << 30))
        );
        assert_eq!(made.gpus[0].kind.0, "h100");
        for (text, key) in [
            ("sockets = 0", "sockets"),
            ("cores_per_socket = 4096", "cores_per_socket"),
            ("gpus = 65", "gpus"),
            ("memory = \"lots\"", "memory"),
        ] {
            let error = read("m.toml", text).unwrap_err().to_string();
            assert!(error.contains(&format!("`{key}`")), "{text}: {error}");
        }
        let error = read("m.toml", "gpu = 4").unwrap_err().to_string();
        assert!(error.contains("emulation.md"), "{error}");
    }

    #[test]
    fn a_real_nodes_inventory_is_accepted() {
        let real = load_machine(None).unwrap();
        let text = serde_json::to_string(&real).unwrap();
        assert_eq!(read("m.json", &text).unwrap(), real);
        assert!(read("m.json", "{}").is_err());
    }

    #[test]
    fn an_emulated_node_is_marked_in_every_boot() {
        let mut made = load_machine(None).unwrap();
        assert!(!made.is_emulated());
        for boot in 1..=2 {
            set_identity(&mut made, &NodeName::new("em1").unwrap(), boot);
            assert!(made.is_emulated());
            let features: Vec<&str> = made.features.iter().map(FeatureName::as_str).collect();
            assert_eq!(features, ["emulated", "h100"]);
            assert_eq!(made.boot_id, format!("emulated {boot}"));
        }
    }
}
