//! The files of a package as a tree in a temporary directory, as dpkg-deb reads it.

use super::contents::{COMPLETIONS, MANUAL, Package};
use super::{glibc, output_of};
use crate::tree;
use anyhow::{Context, Result};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// The scripts of the package manager, each of which a package may have.
const SCRIPTS: [&str; 4] = ["preinst", "postinst", "prerm", "postrm"];

pub struct Staging {
    dir: TempDir,
    programs: Vec<PathBuf>,
}

impl Staging {
    /// Copies the files of a package, with the programs from this directory.
    pub fn fill(package: &Package, programs: &Path) -> Result<Self> {
        let dir = tempfile::tempdir().context("failed to create a directory")?;
        let mut staging = Self { dir, programs: Vec::new() };
        for name in package.programs {
            staging.put_program(&programs.join(name), name)?;
        }
        for (from, to) in package.files {
            copy(&tree::root().join(from), &staging.root().join(to))?;
        }
        if package.has_manual {
            staging.put_manual(&programs.join("kantctl"))?;
        }
        Ok(staging)
    }

    pub fn root(&self) -> &Path {
        self.dir.path()
    }

    /// Copies a program without its symbols; a script as it is.
    fn put_program(&mut self, from: &Path, name: &str) -> Result<()> {
        let to = self.root().join("usr/bin").join(name);
        let bytes = fs::read(from).with_context(|| format!("failed to read {}", from.display()))?;
        write(&to, &bytes, 0o755)?;
        if bytes.starts_with(b"\x7fELF") {
            output_of(Command::new("strip").arg(&to))?;
        }
        self.programs.push(to);
        Ok(())
    }

    /// Lets kantctl write its manual and its completions.
    fn put_manual(&self, kantctl: &Path) -> Result<()> {
        let manual = self.root().join(MANUAL);
        output_of(Command::new(kantctl).arg("man").arg(&manual))?;
        for page in fs::read_dir(&manual).context("failed to read the manual")? {
            // Neither name nor time in its head.
            output_of(Command::new("gzip").args(["-9", "--no-name"]).arg(page?.path()))?;
        }
        for (shell, path) in COMPLETIONS {
            let text = output_of(Command::new(kantctl).args(["completions", shell]))?;
            write(&self.root().join(path), text.as_bytes(), 0o644)?;
        }
        Ok(())
    }

    /// Writes the control file, the scripts and the list of configuration files, and gives
    /// directories and files the modes that they have on every build machine.
    pub fn write_control(&self, package: &Package, version: &str, arch: &str) -> Result<()> {
        let from = tree::root().join("packaging").join(package.name);
        let bytes = set_modes(self.root())?;
        let control = fs::read_to_string(from.join("control"))
            .with_context(|| format!("failed to read {}", from.join("control").display()))?;
        let libraries = glibc::dependency(&self.programs)?;
        let size = bytes.div_ceil(1024);
        let text = control_text(&control, version, arch, size, libraries.as_deref());
        let control_dir = self.root().join("DEBIAN");
        write(&control_dir.join("control"), text.as_bytes(), 0o644)?;
        for name in SCRIPTS {
            if let Ok(script) = fs::read(from.join(name)) {
                write(&control_dir.join(name), &script, 0o755)?;
            }
        }
        if let Ok(list) = fs::read(from.join("conffiles")) {
            write(&control_dir.join("conffiles"), &list, 0o644)?;
        }
        set_mode(&control_dir, 0o755)
    }
}

/// Fills in the fields of a control file that depend on the build.
fn control_text(
    control: &str,
    version: &str,
    arch: &str,
    size_kib: u64,
    libraries: Option<&str>,
) -> String {
    let mut text = String::new();
    let mut is_named = false;
    for line in control.lines() {
        text += &line.replace("${version}", version);
        if let (true, Some(libraries)) = (line.starts_with("Depends:"), libraries) {
            text += &format!(", {libraries}");
            is_named = true;
        }
        text.push('\n');
        if line.starts_with("Package:") {
            text += &format!("Version: {version}\nArchitecture: {arch}\n");
            text += &format!("Installed-Size: {size_kib}\n");
        }
    }
    match libraries.filter(|_| !is_named) {
        // Fields come before the description's lines.
        Some(libraries) => {
            text.replace("Description:", &format!("Depends: {libraries}\nDescription:"))
        }
        None => text,
    }
}

/// Copies a file, or the files of a directory.
fn copy(from: &Path, to: &Path) -> Result<()> {
    let failed = || format!("failed to read {}", from.display());
    if !from.is_dir() {
        return write(to, &fs::read(from).with_context(failed)?, 0o644);
    }
    for entry in fs::read_dir(from).with_context(failed)? {
        let entry = entry.with_context(failed)?;
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

fn write(path: &Path, bytes: &[u8], mode: u32) -> Result<()> {
    let failed = || format!("failed to write {}", path.display());
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).with_context(failed)?;
    }
    fs::write(path, bytes).with_context(failed)?;
    set_mode(path, mode)
}

fn set_mode(path: &Path, mode: u32) -> Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
        .with_context(|| format!("failed to change the mode of {}", path.display()))
}

/// Sets the modes of a tree, and returns the size of its files: programs are those in a `bin`.
fn set_modes(dir: &Path) -> Result<u64> {
    set_mode(dir, 0o755)?;
    let is_bin = dir.ends_with("usr/bin");
    let mut bytes = 0;
    for entry in fs::read_dir(dir).with_context(|| format!("failed to read {}", dir.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            bytes += set_modes(&path)?;
        } else {
            set_mode(&path, if is_bin { 0o755 } else { 0o644 })?;
            bytes += path.metadata()?.len();
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_control_file_gets_version_size_and_libraries() {
        let control = "Package: a\nDepends: b (= ${version})\nDescription: c\n d\n";
        assert_eq!(
            control_text(control, "1.0", "amd64", 7, Some("libc6 (>= 2.36)")),
            "Package: a\nVersion: 1.0\nArchitecture: amd64\nInstalled-Size: 7\n\
             Depends: b (= 1.0), libc6 (>= 2.36)\nDescription: c\n d\n"
        );
        let alone = control_text("Package: a\nDescription: c\n", "1", "all", 1, Some("libc6"));
        assert!(alone.contains("\nDepends: libc6\nDescription: c\n"), "{alone}");
    }
}
