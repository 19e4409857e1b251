//! The C library that a program needs.

use super::output_of;
use anyhow::Result;
use std::path::Path;
use std::process::Command;

/// The dependency on the C library of these programs; `None` for scripts.
pub fn dependency(programs: &[impl AsRef<Path>]) -> Result<Option<String>> {
    let mut newest = None;
    for program in programs {
        let is_elf = std::fs::read(program.as_ref())?.starts_with(b"\x7fELF");
        if is_elf {
            let mut objdump = Command::new("objdump");
            let symbols = output_of(objdump.arg("-T").arg(program.as_ref()))?;
            newest = newest.max(newest_version(&symbols));
        }
    }
    let version = |(major, minor)| format!("libc6 (>= {major}.{minor}), libgcc-s1");
    Ok(newest.map(version))
}

/// The newest version among the symbols that `objdump -T` lists.
fn newest_version(symbols: &str) -> Option<(u32, u32)> {
    let version = |word: &str| {
        let (major, minor) = word.split_once('.')?;
        let minor: String = minor.chars().take_while(char::is_ascii_digit).collect();
        Some((major.parse().ok()?, minor.parse().ok()?))
    };
    symbols.split("GLIBC_").skip(1).filter_map(version).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        let symbols = "w D *UND* (GLIBC_2.9) a\n*UND* (GLIBC_2.34) b\n*UND* (GLIBC_2.2.5) c\n";
        assert_eq!(newest_version(symbols), Some((2, 34)));
        assert_eq!(newest_version("*UND* (GCC_3.0) _Unwind_Resume"), None);
    }
}
