//! Which GPU has which number on this node, kept in the spool. The controller gives GPUs to jobs by
//! number, so a number is one GPU's for ever: a GPU that falls off the bus leaves a hole, and a new
//! one gets a number that no GPU had. A MIG device has a number as GPUs have, and has it again when
//! its GPU is cut as before. Never asks a driver.

use super::GpuInventory;
use crate::spool::write_durably;
use common::gpu::{Gpu, GpuMatrix, GpuPath};
use common::id::GpuIndex;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// In the spool: a line for each GPU that was ever offered here, `NUMBER UUID`, numbers from 0; of
/// a MIG device `NUMBER UUID of UUID`, the second the whole GPU's.
const FILE: &str = "gpus";

/// What stands between the two ids of a MIG device.
const OF: &str = " of ";

/// The numbers of all GPUs that were ever offered on this node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpuNumbers {
    path: PathBuf,
    /// By number, as in the file.
    uuids: Vec<String>,
    /// How many of them are in the file.
    kept: usize,
}

/// Why GPUs cannot be told apart from those that were here before.
#[derive(Debug, thiserror::Error)]
pub enum NumbersError {
    /// The system does not let us.
    #[error("failed to {verb} {}: may kantd do that, and is there room?", path.display())]
    Io {
        verb: &'static str,
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The file holds something else.
    #[error(
        "failed to understand {}: once no job has a GPU of this node, remove it and restart \
         kantd, and the GPUs are numbered anew",
        path.display()
    )]
    Garbled { path: PathBuf },
}

impl GpuNumbers {
    /// Those of a spool; none if there is no file yet.
    ///
    /// # Errors
    /// [`NumbersError`] when there is a file and it cannot be read or understood.
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

    /// Gives every GPU found its number, a new one to those never seen, and orders them by it.
    pub fn number(&mut self, found: &mut GpuInventory) {
        let old = std::mem::take(&mut found.matrix);
        let positions: Vec<GpuIndex> = found.gpus.iter().map(|gpu| gpu.index).collect();
        for gpu in &mut found.gpus {
            gpu.index = self.of(&id(gpu));
        }
        let numbered: Vec<(GpuIndex, GpuIndex)> =
            found.gpus.iter().map(|gpu| gpu.index).zip(positions).collect();
        found.matrix = renumbered(&old, &numbered);
        found.gpus.sort_by_key(|gpu| gpu.index);
    }

    /// The GPUs that were offered before and are not among these, nor left out though well. MIG
    /// devices are there as long as their GPU is: it may have been cut anew. If that is gone, it is
    /// told once, by the first number that it or a MIG device of it had.
    #[must_use]
    pub fn lost(&self, found: Option<&GpuInventory>) -> Vec<(GpuIndex, String)> {
        let offered = found.iter().flat_map(|found| &found.gpus).map(Gpu::whole);
        let well = found.iter().flat_map(|found| &found.skipped);
        let well = well.filter_map(|gpu| gpu.uuid.as_deref());
        let mut told: BTreeSet<&str> = offered.chain(well).collect();
        let numbered = (0..).map(GpuIndex).zip(self.uuids.iter().take(self.kept));
        let wholes = numbered.map(|(number, id)| (number, whole(id)));
        let lost = wholes.filter(|lost| told.insert(lost.1));
        lost.map(|(number, whole)| (number, whole.to_owned())).collect()
    }

    fn of(&mut self, uuid: &str) -> GpuIndex {
        let known = self.uuids.iter().position(|known| known == uuid);
        let number = known.unwrap_or_else(|| {
            self.uuids.push(uuid.to_owned());
            self.uuids.len() - 1
        });
        // A node sees some dozens of GPUs in its life, and some hundreds of MIG devices: whether
        // one that is cut as before has its id again is the driver's.
        GpuIndex(u16::try_from(number).unwrap_or(u16::MAX))
    }

    /// Makes new numbers durable. Before anybody hears of them, or a crash could give one twice.
    ///
    /// # Errors
    /// [`NumbersError::Io`] when the file cannot be written.
    pub fn keep(&mut self) -> Result<(), NumbersError> {
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

/// A GPU's id in the file. A MIG device's says whose it is, to be known when both are gone.
fn id(gpu: &Gpu) -> String {
    match &gpu.mig {
        None => gpu.uuid.clone(),
        Some(mig) => format!("{}{OF}{}", gpu.uuid, mig.of),
    }
}

/// The whole GPU's id, of an id in the file.
fn whole(id: &str) -> &str {
    id.split_once(OF).map_or(id, |(_, whole)| whole)
}

/// The ids by number; `None` for anything but what [`GpuNumbers::keep`] writes.
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

/// A matrix with these pairs of new and old index. Numbers that no GPU has are far from all.
fn renumbered(old: &GpuMatrix, numbered: &[(GpuIndex, GpuIndex)]) -> GpuMatrix {
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
    use common::mig::{DeviceNumber, MigDevice};
    use common::unit::Bytes;

    #[test]
    fn what_was_kept_is_read_and_a_number_is_never_given_twice() {
        let spool = tempfile::tempdir().unwrap();
        let mut numbers = GpuNumbers::read(spool.path()).unwrap();
        assert_eq!([numbers.of("GPU-a"), numbers.of("GPU-b")], [GpuIndex(0), GpuIndex(1)]);
        numbers.keep().unwrap();
        let mut again = GpuNumbers::read(spool.path()).unwrap();
        assert_eq!(again, numbers);
        // The first was replaced by another.
        assert_eq!([again.of("GPU-b"), again.of("GPU-c")], [GpuIndex(1), GpuIndex(2)]);
        again.keep().unwrap();
        let text = fs::read_to_string(spool.path().join(FILE)).unwrap();
        assert_eq!(text, "0 GPU-a\n1 GPU-b\n2 GPU-c\n");
    }

    /// What was found on a node: GPUs that are whole, and MIG devices, each with its GPU's id.
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
    fn a_mig_device_keeps_its_own_id_and_the_file_says_whose_it_is() {
        let spool = tempfile::tempdir().unwrap();
        let mut numbers = GpuNumbers::read(spool.path()).unwrap();
        let mut both = found(&[("GPU-a", None), ("MIG-1", Some("GPU-b"))]);
        numbers.number(&mut both);
        numbers.keep().unwrap();
        assert_eq!(both.gpus[1].uuid, "MIG-1");
        let text = fs::read_to_string(spool.path().join(FILE)).unwrap();
        assert_eq!(text, "0 GPU-a\n1 MIG-1 of GPU-b\n");
        assert_eq!(GpuNumbers::read(spool.path()).unwrap(), numbers);
        // Cut anew, and then as before.
        let mut other = found(&[("MIG-2", Some("GPU-b"))]);
        numbers.number(&mut other);
        let mut again = found(&[("MIG-1", Some("GPU-b"))]);
        numbers.number(&mut again);
        assert_eq!([other.gpus[0].index, again.gpus[0].index], [GpuIndex(2), GpuIndex(1)]);
    }

    #[test]
    fn mig_devices_are_lost_with_their_gpu_and_not_when_it_is_cut_anew() {
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
    fn a_node_without_gpus_keeps_no_file() {
        let spool = tempfile::tempdir().unwrap();
        GpuNumbers::read(spool.path()).unwrap().keep().unwrap();
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
