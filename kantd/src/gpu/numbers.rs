//! The numbers of the node's GPUs, kept in the spool. The controller allocates GPUs by number, so a
//! number belongs to one GPU for ever: a GPU that falls off the bus leaves a gap, and a new one
//! gets a number that no GPU has had. MIG devices have numbers like GPUs, and the same ones again
//! when their GPU is divided as before.

use super::GpuInventory;
use crate::spool::write_durably;
use common::gpu::{Gpu, GpuMatrix, GpuPath};
use common::id::GpuIndex;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// File in the spool with a line for each GPU ever offered, `NUMBER UUID`, numbered from 0; for a
/// MIG device `NUMBER UUID of UUID`, the second being its GPU's.
const FILE: &str = "gpus";

/// Separator between the two ids of a MIG device.
const OF: &str = " of ";

/// The numbers of all GPUs ever offered on this node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpuNumbers {
    path: PathBuf,
    /// By number, as in the file.
    uuids: Vec<String>,
    /// Number of entries that are in the file.
    kept: usize,
}

/// GPU numbers that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum NumbersError {
    #[error(
        "failed to {verb} {}: check kantd's permissions and the free disk space",
        path.display()
    )]
    Io {
        verb: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(
        "failed to parse {}: when no job has a GPU of this node, remove it and restart \
         kantd, which then numbers the GPUs from 0",
        path.display()
    )]
    Garbled { path: PathBuf },
}

impl GpuNumbers {
    /// Reads the numbers in a spool; none if there is no file yet.
    ///
    /// # Errors
    /// [`NumbersError`] when the file exists and cannot be read or parsed.
    pub fn read(spool: &Path) -> Result<Self, NumbersError> {
        let path = spool.join(FILE);
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(source) => return Err(NumbersError::Io { verb: "read", path, source }),
            Ok(text) => text,
        };
        match parse(&text) {
            Some(uuids) => Ok(Self { path, kept: uuids.len(), uuids }),
            None => Err(NumbersError::Garbled { path }),
        }
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives each GPU its number, new ones to unknown GPUs, and sorts the GPUs by number.
    pub fn assign_numbers(&mut self, found: &mut GpuInventory) {
        let old = std::mem::take(&mut found.matrix);
        let positions: Vec<GpuIndex> = found.gpus.iter().map(|gpu| gpu.index).collect();
        for gpu in &mut found.gpus {
            gpu.index = self.number_of(&file_id(gpu));
        }
        let numbered: Vec<(GpuIndex, GpuIndex)> =
            found.gpus.iter().map(|gpu| gpu.index).zip(positions).collect();
        found.matrix = renumber(&old, &numbered);
        found.gpus.sort_by_key(|gpu| gpu.index);
    }

    /// The GPUs that were offered before and are neither found nor healthy but left out. MIG
    /// devices exist as long as their GPU does, since it may be divided differently. A missing GPU
    /// is listed once, by the first number that it or one of its MIG devices had.
    #[must_use]
    pub fn lost(&self, found: Option<&GpuInventory>) -> Vec<(GpuIndex, String)> {
        let offered = found.iter().flat_map(|found| &found.gpus).map(Gpu::whole_gpu_id);
        let well = found.iter().flat_map(|found| &found.skipped);
        let well = well.filter_map(|gpu| gpu.uuid.as_deref());
        let mut seen: BTreeSet<&str> = offered.chain(well).collect();
        let numbered = (0..).map(GpuIndex).zip(self.uuids.iter().take(self.kept));
        let wholes = numbered.map(|(number, id)| (number, whole_gpu_id(id)));
        let lost = wholes.filter(|lost| seen.insert(lost.1));
        lost.map(|(number, whole)| (number, whole.to_owned())).collect()
    }

    fn number_of(&mut self, uuid: &str) -> GpuIndex {
        let known = self.uuids.iter().position(|known| known == uuid);
        let number = known.unwrap_or_else(|| {
            self.uuids.push(uuid.to_owned());
            self.uuids.len() - 1
        });
        // A node sees some dozens of GPUs and some hundreds of MIG devices in its life: the driver
        // decides whether a MIG device gets its id again.
        GpuIndex(u16::try_from(number).unwrap_or(u16::MAX))
    }

    /// Writes new numbers durably, before they are used: a crash could otherwise reuse one.
    ///
    /// # Errors
    /// [`NumbersError::Io`] when the file cannot be written.
    pub fn save(&mut self) -> Result<(), NumbersError> {
        if self.kept == self.uuids.len() {
            return Ok(());
        }
        let line = |(number, uuid): (usize, &String)| format!("{number} {uuid}\n");
        let text: String = self.uuids.iter().enumerate().map(line).collect();
        let path = self.path.clone();
        write_durably(&path, &text).map_err(|source| NumbersError::Io {
            verb: "write",
            path,
            source,
        })?;
        self.kept = self.uuids.len();
        Ok(())
    }
}

/// A GPU's id in the file. A MIG device's includes its GPU's, to be known when both are gone.
fn file_id(gpu: &Gpu) -> String {
    match &gpu.mig {
        None => gpu.uuid.clone(),
        Some(mig) => format!("{}{OF}{}", gpu.uuid, mig.of),
    }
}

/// The GPU's id in an id in the file.
fn whole_gpu_id(id: &str) -> &str {
    id.split_once(OF).map_or(id, |(_, whole)| whole)
}

/// The ids by number; `None` for a text that [`GpuNumbers::save`] does not write.
fn parse(text: &str) -> Option<Vec<String>> {
    let mut uuids: Vec<String> = Vec::new();
    for line in text.lines() {
        let (number, uuid) = line.split_once(' ')?;
        let is_next = number.parse() == Ok(uuids.len());
        if !is_next || uuid.trim().is_empty() || uuids.iter().any(|known| known == uuid) {
            return None;
        }
        uuids.push(uuid.to_owned());
    }
    Some(uuids)
}

/// A matrix with these pairs of new and old index. Unused numbers are far from all others.
fn renumber(old: &GpuMatrix, numbered: &[(GpuIndex, GpuIndex)]) -> GpuMatrix {
    let size = numbered.iter().map(|(new, _)| usize::from(new.0) + 1).max().unwrap_or(0);
    let mut paths = vec![vec![GpuPath::Sys; size]; size];
    for (number, row) in paths.iter_mut().enumerate() {
        row[number] = GpuPath::Own;
    }
    for (a, old_a) in numbered {
        for (b, old_b) in numbered {
            paths[usize::from(a.0)][usize::from(b.0)] = old.path(*old_a, *old_b);
        }
    }
    GpuMatrix { paths }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::SkippedGpu;
    use common::cpuset::CpuSet;
    use common::gpu::GpuKind;
    use common::gpu::mig::{DeviceNumber, MigDevice};
    use common::unit::Bytes;

    #[test]
    fn written_numbers_are_read_and_never_reused() {
        let spool = tempfile::tempdir().unwrap();
        let mut numbers = GpuNumbers::read(spool.path()).unwrap();
        assert_eq!(
            [numbers.number_of("GPU-a"), numbers.number_of("GPU-b")],
            [GpuIndex(0), GpuIndex(1)]
        );
        numbers.save().unwrap();
        let mut again = GpuNumbers::read(spool.path()).unwrap();
        assert_eq!(again, numbers);
        // The first was replaced by another.
        assert_eq!(
            [again.number_of("GPU-b"), again.number_of("GPU-c")],
            [GpuIndex(1), GpuIndex(2)]
        );
        again.save().unwrap();
        let text = fs::read_to_string(spool.path().join(FILE)).unwrap();
        assert_eq!(text, "0 GPU-a\n1 GPU-b\n2 GPU-c\n");
    }

    /// A discovery result with whole GPUs, and MIG devices with their GPU's id.
    fn found(gpus: &[(&str, Option<&str>)]) -> GpuInventory {
        let devices = [0, 1].map(|minor| DeviceNumber { major: 509, minor });
        let mig = |of: &str| MigDevice { of: of.to_owned(), capabilities: devices };
        let gpu = |(place, (uuid, of)): (u16, &(&str, Option<&str>))| Gpu {
            index: GpuIndex(place),
            uuid: (*uuid).to_owned(),
            model: String::new(),
            kind: GpuKind("h100".to_owned()),
            memory: Bytes(1),
            minor: 0,
            pci_bus_id: String::new(),
            numa: None,
            cpus: CpuSet::new(),
            mig: of.map(mig),
        };
        let paths = vec![vec![GpuPath::Sys; gpus.len()]; gpus.len()];
        GpuInventory {
            driver: String::new(),
            gpus: (0..).zip(gpus).map(gpu).collect(),
            matrix: GpuMatrix { paths },
            skipped: Vec::new(),
        }
    }

    #[test]
    fn a_mig_device_keeps_its_id_and_the_file_names_its_gpu() {
        let spool = tempfile::tempdir().unwrap();
        let mut numbers = GpuNumbers::read(spool.path()).unwrap();
        let mut both = found(&[("GPU-a", None), ("MIG-1", Some("GPU-b"))]);
        numbers.assign_numbers(&mut both);
        numbers.save().unwrap();
        assert_eq!(both.gpus[1].uuid, "MIG-1");
        let text = fs::read_to_string(spool.path().join(FILE)).unwrap();
        assert_eq!(text, "0 GPU-a\n1 MIG-1 of GPU-b\n");
        assert_eq!(GpuNumbers::read(spool.path()).unwrap(), numbers);
        // Divided differently, and then as before.
        let mut other = found(&[("MIG-2", Some("GPU-b"))]);
        numbers.assign_numbers(&mut other);
        let mut again = found(&[("MIG-1", Some("GPU-b"))]);
        numbers.assign_numbers(&mut again);
        assert_eq!([other.gpus[0].index, again.gpus[0].index], [GpuIndex(2), GpuIndex(1)]);
    }

    #[test]
    fn mig_devices_are_lost_with_their_gpu_and_not_when_it_is_divided_differently() {
        let spool = tempfile::tempdir().unwrap();
        let text = "0 GPU-a\n1 MIG-1 of GPU-b\n2 MIG-2 of GPU-b\n3 GPU-b\n4 GPU-c\n";
        fs::write(spool.path().join(FILE), text).unwrap();
        let numbers = GpuNumbers::read(spool.path()).unwrap();
        let whole = found(&[("GPU-a", None), ("GPU-b", None), ("GPU-c", None)]);
        assert_eq!(numbers.lost(Some(&whole)), []);
        let cut = found(&[("MIG-1", Some("GPU-a")), ("MIG-9", Some("GPU-b")), ("GPU-c", None)]);
        assert_eq!(numbers.lost(Some(&cut)), []);
        let skipped = SkippedGpu { driver_index: 1, uuid: Some("GPU-b".into()), reason: "".into() };
        let left_out =
            GpuInventory { skipped: vec![skipped], ..found(&[("GPU-a", None), ("GPU-c", None)]) };
        assert_eq!(numbers.lost(Some(&left_out)), []);
        let gone = found(&[("GPU-a", None)]);
        let lost = [(GpuIndex(1), "GPU-b".to_owned()), (GpuIndex(4), "GPU-c".to_owned())];
        assert_eq!(numbers.lost(Some(&gone)), lost);
    }

    #[test]
    fn a_node_without_gpus_writes_no_file() {
        let spool = tempfile::tempdir().unwrap();
        GpuNumbers::read(spool.path()).unwrap().save().unwrap();
        assert!(!spool.path().join(FILE).exists());
    }

    #[test]
    fn a_garbled_file_is_named_and_not_replaced_silently() {
        let spool = tempfile::tempdir().unwrap();
        for garbled in ["GPU-a\n", "1 GPU-a\n", "0 \n", "0 GPU-a\n1 GPU-a\n", "0 GPU-a\n\n"] {
            fs::write(spool.path().join(FILE), garbled).unwrap();
            let error = GpuNumbers::read(spool.path()).unwrap_err();
            assert!(matches!(error, NumbersError::Garbled { .. }), "{garbled:?}: {error}");
        }
    }
}
