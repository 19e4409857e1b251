//! Slurm's programs: the installed ones, or those of Debian's packages, unpacked in the build
//! directory. Nothing is installed, and no service is started.

use anyhow::{Context as _, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The packages needed, including those that a plain Debian lacks.
const PACKAGES: [&str; 8] = [
    "slurmctld",
    "slurmd",
    "slurm-client",
    "slurm-wlm-basic-plugins",
    "munge",
    "libmunge2",
    "libhwloc15",
    "liblua5.1-0",
];
/// Debian adds -wlm to these names where no alternative provides the plain name.
const DAEMONS: [&str; 3] = ["slurmctld", "slurmd", "slurmstepd"];

#[derive(Clone)]
pub struct Programs {
    root: PathBuf,
}

impl Programs {
    fn under(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Names of programs that are missing.
    fn missing(&self) -> Vec<&'static str> {
        let daemons = DAEMONS.into_iter().filter(|name| self.daemon(name).is_none());
        let others = [("munged", "usr/sbin/munged"), ("sbatch", "usr/bin/sbatch")];
        let others = others.into_iter().filter(|(_, path)| !self.root.join(path).exists());
        daemons.chain(others.map(|(name, _)| name)).collect()
    }

    /// The path of one of Slurm's daemons.
    pub fn daemon(&self, name: &str) -> Option<PathBuf> {
        let named = [format!("usr/sbin/{name}"), format!("usr/sbin/{name}-wlm")];
        named.into_iter().map(|path| self.root.join(path)).find(|path| path.is_file())
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// The directory of Slurm's plugins.
    pub fn plugins(&self) -> PathBuf {
        self.libraries().join("slurm-wlm")
    }

    fn libraries(&self) -> PathBuf {
        self.root.join("usr/lib").join(format!("{}-linux-gnu", std::env::consts::ARCH))
    }

    /// A command whose program finds its libraries where they were unpacked.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        let path = format!("{}:{}", self.libraries().display(), self.plugins().display());
        command.env("LD_LIBRARY_PATH", path);
        command
    }
}

/// Slurm's programs: in a named directory, installed, or downloaded.
pub fn programs(named: Option<&Path>) -> anyhow::Result<Programs> {
    let needed = PACKAGES.join(" ");
    if let Some(dir) = named {
        let found = Programs::under(dir);
        let missing = found.missing().join(", ");
        ensure!(missing.is_empty(), "no {missing} in {}: unpack {needed} there", dir.display());
        return Ok(found);
    }
    let installed = Programs::under(Path::new("/"));
    if installed.missing().is_empty() {
        return Ok(installed);
    }
    let dir = unpacked_dir()?;
    let unpacked = Programs::under(&dir);
    if !unpacked.missing().is_empty() {
        download_packages(&dir).with_context(|| {
            format!(
                "failed to get Slurm: this needs Debian's packages {needed}; `apt-get update` and \
                 run it again, or unpack them (dpkg -x) and name the directory with --slurm"
            )
        })?;
    }
    let missing = unpacked.missing().join(", ");
    ensure!(missing.is_empty(), "no {missing} in Debian's packages {needed}");
    Ok(unpacked)
}

/// A directory in the build directory, so that packages are downloaded only once.
fn unpacked_dir() -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe()?;
    let target = program.ancestors().nth(2).context("this program lies nowhere")?;
    Ok(target.join("slurm"))
}

fn download_packages(dir: &Path) -> anyhow::Result<()> {
    let packages = dir.join("packages");
    std::fs::create_dir_all(&packages)?;
    let fetched = Command::new("apt-get")
        .args(["--quiet", "--quiet", "download"])
        .args(PACKAGES)
        .current_dir(&packages)
        .output()
        .context("failed to run apt-get: is this Debian?")?;
    if !fetched.status.success() {
        bail!("apt-get says: {}", String::from_utf8_lossy(&fetched.stderr).trim());
    }
    for package in std::fs::read_dir(&packages)? {
        let package = package?.path();
        let unpacked = Command::new("dpkg").arg("-x").arg(&package).arg(dir).status()?;
        ensure!(unpacked.success(), "dpkg does not unpack {}", package.display());
    }
    Ok(())
}
