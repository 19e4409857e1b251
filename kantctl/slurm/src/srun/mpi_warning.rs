//! The warning about MPI programs that srun starts without an MPI launcher: each task would be an
//! MPI job of its own with one rank, and all tasks would do the same work.
//! Source: the ELF specification (System V ABI, chapters 4 and 5).

#[cfg(test)]
#[path = "../../../tests/support/elf.rs"]
mod elf;

use cli::output::screen;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Warns if several tasks are to run a program that is linked with an MPI library.
pub(super) fn warn(program: &str, tasks: u32, search: &str) {
    if tasks < 2 {
        return;
    }
    let Some(library) = program_path(program, search).and_then(|path| mpi_library(&path)) else {
        return;
    };
    screen::warn(&format!(
        "{program} is linked with {library}, and srun does not start an MPI launcher: {tasks} \
         singletons would start, each with one rank. Start it with mpirun or mpiexec in a job \
         (kantctl alloc, sbatch), or use --mpi=none if this is intended"
    ));
}

/// The path of the program, searched for in `PATH` unless it contains a slash.
fn program_path(program: &str, search: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program));
    }
    let all = search.split(':').map(|dir| Path::new(dir).join(program));
    all.into_iter().find(|path| path.is_file())
}

/// The MPI library that a program is linked with; `None` also if it is not an ELF program.
fn mpi_library(path: &Path) -> Option<String> {
    let needed = File::open(path).and_then(|file| needed_libraries(&file)).ok()?;
    let names = ["libmpi.so", "libmpich.so", "libmpi_", "libmpifort", "libpmpi.so"];
    needed.into_iter().find(|library| names.iter().any(|name| library.starts_with(name)))
}

/// Bounds on the number of entries and on the length of a name, far above those of real programs.
const ENTRIES_MAX: u64 = 4096;
const NAME_BYTES_MAX: usize = 256;
/// Sizes of a program header and of an entry of the dynamic section (ELF64).
const HEADER_BYTES: u64 = 56;
const ENTRY_BYTES: u64 = 16;
/// Types of program headers, and tags of dynamic entries.
const PT_LOAD: u64 = 1;
const PT_DYNAMIC: u64 = 2;
const DT_NULL: u64 = 0;
const DT_NEEDED: u64 = 1;
const DT_STRTAB: u64 = 5;

/// The libraries that a program needs; empty unless it is a 64-bit little-endian ELF file.
fn needed_libraries(file: &File) -> io::Result<Vec<String>> {
    let mut head = [0; 6];
    file.read_exact_at(&mut head, 0)?;
    if head != *b"\x7fELF\x02\x01" {
        return Ok(Vec::new());
    }
    let (start, count) = (read_number(file, 32, 8)?, read_number(file, 56, 2)?);
    let mut loads = Vec::new();
    let mut dynamic = None;
    for place in 0..count.min(ENTRIES_MAX) {
        let at = start.saturating_add(place * HEADER_BYTES);
        let (kind, offset) =
            (read_number(file, at, 4)?, read_number(file, at.saturating_add(8), 8)?);
        let (address, size) = (
            read_number(file, at.saturating_add(16), 8)?,
            read_number(file, at.saturating_add(32), 8)?,
        );
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
        let value = read_number(file, at.saturating_add(8), 8)?;
        match read_number(file, at, 8)? {
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
    names.into_iter().map(|name| read_string(file, table.saturating_add(name))).collect()
}

/// A little-endian number of `bytes` bytes.
fn read_number(file: &File, at: u64, bytes: usize) -> io::Result<u64> {
    let mut all = [0; 8];
    file.read_exact_at(&mut all[..bytes], at)?;
    Ok(u64::from_le_bytes(all))
}

/// A zero-terminated string.
fn read_string(file: &File, at: u64) -> io::Result<String> {
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
    fn a_program_linked_with_mpi_is_recognized_by_its_libraries() {
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
        fn a_corrupt_program_is_not_taken_for_mpi(
            at in 0_usize..400,
            byte: u8,
            cut in 0_usize..400,
        ) {
            let mut bytes = program(&["libc.so.6"]);
            let (at, cut) = (at % bytes.len(), cut % bytes.len());
            bytes[at] = byte;
            prop_assert_eq!(library(&bytes[..cut]), None);
        }
    }
}
