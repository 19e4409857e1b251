//! MPI programs that srun starts without a server of MPI's beside them: each task is then a world
//! of its own, with one rank, and all of them do the same work. That is said before they start.
//! Source: the ELF specification (System V ABI, chapters 4 and 5).

#[cfg(test)]
#[path = "../../../tests/house/elf.rs"]
mod elf;

use crate::output::screen::warn;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Says so of a program that needs a library of MPI, where it has several tasks.
pub(super) fn warn_of(program: &str, tasks: u32, search: &str) {
    if tasks < 2 {
        return;
    }
    let Some(library) = found(program, search).and_then(|path| mpi_library(&path)) else { return };
    warn(&format!(
        "{program} needs {library}, and srun starts no server for it here: {tasks} singletons \
         would start, each with one rank. Start it with mpirun or mpiexec in a job (kantctl alloc, \
         sbatch), or say that this is meant with --mpi=none"
    ));
}

/// The file that the program's name stands for.
fn found(program: &str, search: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program));
    }
    let all = search.split(':').map(|dir| Path::new(dir).join(program));
    all.into_iter().find(|path| path.is_file())
}

/// The library of MPI that a program is linked with; `None` also for what is no such program.
fn mpi_library(path: &Path) -> Option<String> {
    let needed = File::open(path).and_then(|file| needed(&file)).ok()?;
    let names = ["libmpi.so", "libmpich.so", "libmpi_", "libmpifort", "libpmpi.so"];
    needed.into_iter().find(|library| names.iter().any(|name| library.starts_with(name)))
}

/// The most entries that are looked at, and the longest name: far above any real program's.
const ENTRIES_MAX: u64 = 4096;
const NAME_BYTES_MAX: usize = 256;
/// Bytes of a program header and of an entry of the dynamic section (ELF64).
const HEADER_BYTES: u64 = 56;
const ENTRY_BYTES: u64 = 16;
/// Kinds of program headers, and tags of dynamic entries.
const PT_LOAD: u64 = 1;
const PT_DYNAMIC: u64 = 2;
const DT_NULL: u64 = 0;
const DT_NEEDED: u64 = 1;
const DT_STRTAB: u64 = 5;

/// The libraries that a program names; none of one that is not of 64 bits, the low ones first.
fn needed(file: &File) -> io::Result<Vec<String>> {
    let mut head = [0; 6];
    file.read_exact_at(&mut head, 0)?;
    if head != *b"\x7fELF\x02\x01" {
        return Ok(Vec::new());
    }
    let (start, count) = (number(file, 32, 8)?, number(file, 56, 2)?);
    let mut loads = Vec::new();
    let mut dynamic = None;
    for place in 0..count.min(ENTRIES_MAX) {
        let at = start.saturating_add(place * HEADER_BYTES);
        let (kind, offset) = (number(file, at, 4)?, number(file, at.saturating_add(8), 8)?);
        let (address, size) =
            (number(file, at.saturating_add(16), 8)?, number(file, at.saturating_add(32), 8)?);
        match kind {
            PT_LOAD => loads.push((address, size, offset)),
            PT_DYNAMIC => dynamic = Some((offset, size / ENTRY_BYTES)),
            _ => {}
        }
    }
    let Some((start, count)) = dynamic else { return Ok(Vec::new()) };
    let (mut names, mut table) = (Vec::new(), None);
    for place in 0..count.min(ENTRIES_MAX) {
        let at = start.saturating_add(place * ENTRY_BYTES);
        let value = number(file, at.saturating_add(8), 8)?;
        match number(file, at, 8)? {
            DT_NULL => break,
            DT_NEEDED => names.push(value),
            DT_STRTAB => table = Some(value),
            _ => {}
        }
    }
    let in_file = |address: u64| {
        let load = loads.iter().find(|(from, size, _)| address >= *from && address - from < *size);
        load.map(|(from, _, offset)| offset.saturating_add(address - from))
    };
    let Some(table) = table.and_then(in_file) else { return Ok(Vec::new()) };
    names.into_iter().map(|name| text(file, table.saturating_add(name))).collect()
}

/// A number of `N` bytes, the low ones first.
fn number(file: &File, at: u64, bytes: usize) -> io::Result<u64> {
    let mut all = [0; 8];
    file.read_exact_at(&mut all[..bytes], at)?;
    Ok(u64::from_le_bytes(all))
}

/// A text that ends with a zero.
fn text(file: &File, at: u64) -> io::Result<String> {
    let mut bytes = [0; NAME_BYTES_MAX];
    let read = file.read_at(&mut bytes, at)?;
    let name = bytes[..read].split(|byte| *byte == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(name).into_owned())
}

#[cfg(test)]
mod tests {
    use super::elf::program;
    use super::*;
    use proptest::prelude::*;

    fn library(bytes: &[u8]) -> Option<String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.out");
        std::fs::write(&path, bytes).unwrap();
        mpi_library(&path)
    }

    #[test]
    fn a_program_that_is_linked_with_mpi_is_known_by_its_libraries() {
        for (libraries, expected) in [
            (&["libc.so.6", "libmpi.so.40"][..], Some("libmpi.so.40")),
            (&["libmpich.so.12", "libc.so.6"], Some("libmpich.so.12")),
            (&["libmpi_mpifh.so.40"], Some("libmpi_mpifh.so.40")),
            (&["libc.so.6", "libmpdec.so.3"], None),
            (&[], None),
        ] {
            assert_eq!(library(&program(libraries)).as_deref(), expected, "{libraries:?}");
        }
        assert_eq!(library(b"#!/bin/sh\nexec mpirun libmpi.so\n"), None);
        assert_eq!(mpi_library(Path::new("/nonexistent")), None);
        assert_eq!(mpi_library(&std::env::current_exe().unwrap()), None, "a real program");
    }

    proptest! {
        #[test]
        fn a_broken_program_is_none_of_mpi(at in 0_usize..400, byte: u8, cut in 0_usize..400) {
            let mut bytes = program(&["libc.so.6"]);
            let (at, cut) = (at % bytes.len(), cut % bytes.len());
            bytes[at] = byte;
            prop_assert_eq!(library(&bytes[..cut]), None);
        }
    }
}
