//! A minimal ELF program that needs libraries: a header, a segment and the names. It cannot run.

/// The load address of the segment.
const BASE: u64 = 0x40_0000;

/// A program with one segment that needs these libraries (System V ABI, chapters 4 and 5).
pub fn program(libraries: &[&str]) -> Vec<u8> {
    let mut names = vec![0];
    let mut dynamic: Vec<u64> = Vec::new();
    for library in libraries {
        // DT_NEEDED
        dynamic.extend([1, names.len() as u64]);
        names.extend(library.bytes().chain([0]));
    }
    let headers = 64 + 2 * 56;
    let size = (dynamic.len() as u64 + 4) * 8;
    // DT_STRTAB, DT_NULL
    dynamic.extend([5, BASE + headers + size, 0, 0]);
    let mut file = vec![0; 64];
    file[..6].copy_from_slice(b"\x7fELF\x02\x01");
    file[32..40].copy_from_slice(&64_u64.to_le_bytes());
    file[56..58].copy_from_slice(&2_u16.to_le_bytes());
    let whole = headers + size + names.len() as u64;
    // PT_LOAD, PT_DYNAMIC
    for (kind, offset, size) in [(1, 0, whole), (2, headers, size)] {
        for value in [kind, offset, BASE + offset, BASE + offset, size, size, 8] {
            file.extend(u64::to_le_bytes(value));
        }
    }
    file.extend(dynamic.iter().flat_map(|value| value.to_le_bytes()));
    file.extend(names);
    file
}
