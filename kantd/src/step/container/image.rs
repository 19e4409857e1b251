//! What a job brings as its container: an OCI bundle (a directory with `config.json` and a root
//! file system; OCI runtime specification, config.md), or a root file system alone.
//! Only its variables, its bind mounts and whether it may be written are taken from a bundle: whom
//! it runs as, what it runs and what it may do are never the bundle's to say.

use super::Bind;
use crate::opening;
use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;
use serde::{Deserialize, Serialize};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// The largest `config.json` that is read, in bytes.
const CONFIG_BYTES_MAX: u64 = 1 << 20;

/// The most that is taken from one, in bytes of JSON: it must fit into a message.
const TAKEN_BYTES_MAX: usize = 48 << 10;

/// What was found, beside the root file system itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Image {
    /// Variables, each `NAME=value`.
    pub environment: Vec<String>,
    /// What it wants to see of the machine, as its user finds it.
    pub binds: Vec<Bind>,
    /// Nothing in it may be changed.
    pub read_only: bool,
}

/// `config.json`, as far as it is taken.
#[derive(Deserialize)]
struct Config {
    root: Option<Root>,
    process: Option<Process>,
    #[serde(default)]
    mounts: Vec<Mount>,
}

#[derive(Deserialize)]
struct Root {
    path: PathBuf,
    #[serde(default)]
    readonly: bool,
}

#[derive(Deserialize)]
struct Process {
    #[serde(default)]
    env: Vec<String>,
}

#[derive(Deserialize)]
struct Mount {
    destination: PathBuf,
    source: Option<PathBuf>,
    #[serde(default)]
    options: Vec<String>,
}

/// Looks at a container and opens its root file system: by whoever may look at it, for it may lie
/// where root sees nothing, or on a server that hangs.
///
/// # Errors
/// A sentence's end: what is wrong with it.
pub fn look(dir: &Path) -> Result<(Image, OwnedFd), String> {
    let failed =
        |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let (root, image) = match read_config(dir) {
        Ok(Some(config)) => {
            let image = taken(dir, &config);
            let root = config.root.map_or_else(|| PathBuf::from("rootfs"), |root| root.path);
            (dir.join(root), image)
        }
        Ok(None) => (dir.to_owned(), Image::default()),
        Err(error) => return Err(failed(&dir.join("config.json"), &error)),
    };
    let size = serde_json::to_vec(&image).map_or(usize::MAX, |text| text.len());
    if size > TAKEN_BYTES_MAX {
        let most = TAKEN_BYTES_MAX >> 10;
        return Err(format!("the variables and mounts of its config.json are over {most} KiB"));
    }
    let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let opened = open(&root, flags, Mode::empty()).map_err(|error| failed(&root, &error))?;
    Ok((image, opened))
}

/// `None`: it is no bundle.
fn read_config(dir: &Path) -> io::Result<Option<Config>> {
    let file = match opening::read_regular(&dir.join("config.json")) {
        Err(nix::Error::ENOENT) => return Ok(None),
        Ok(None) => return Err(io::Error::other("it is no file")),
        Ok(Some(file)) => file,
        Err(error) => return Err(error.into()),
    };
    let mut text = Vec::new();
    file.take(CONFIG_BYTES_MAX).read_to_end(&mut text)?;
    Ok(Some(serde_json::from_slice(&text)?))
}

fn taken(dir: &Path, config: &Config) -> Image {
    let bind = |mount: &Mount| {
        let is_bind = mount.options.iter().any(|word| word == "bind" || word == "rbind");
        let source = dir.join(mount.source.as_ref().filter(|_| is_bind)?);
        // What is not there is left out, as with the node's own mounts.
        let is_dir = source.metadata().ok()?.is_dir();
        let read_only = mount.options.iter().any(|word| word == "ro" || word == "rro");
        Some(Bind { source, target: mount.destination.clone(), read_only, is_dir })
    };
    let environment = config.process.as_ref().map(|process| process.env.clone());
    Image {
        environment: environment.unwrap_or_default(),
        binds: config.mounts.iter().filter_map(bind).collect(),
        read_only: config.root.as_ref().is_some_and(|root| root.readonly),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_directory_without_a_config_is_a_root_file_system() {
        let dir = tempfile::tempdir().unwrap();
        let (image, _root) = look(dir.path()).unwrap();
        assert_eq!(image, Image::default());
    }

    #[test]
    fn of_a_bundle_only_what_is_harmless_is_taken() {
        let dir = tempfile::tempdir().unwrap();
        let config = r#"{"ociVersion": "1.0.2",
            "process": {"user": {"uid": 0}, "args": ["rm"], "env": ["A=1"]},
            "root": {"path": "tree", "readonly": true}, "hooks": {"prestart": [{"path": "/x"}]},
            "mounts": [{"destination": "/data", "source": "d", "options": ["rbind", "ro"]},
                       {"destination": "/gone", "source": "/nonexistent", "options": ["bind"]},
                       {"destination": "/proc", "type": "proc", "source": "proc"}]}"#;
        fs::write(dir.path().join("config.json"), config).unwrap();
        let missing = look(dir.path()).unwrap_err();
        assert!(missing.contains("tree"), "{missing}");
        for name in ["tree", "d"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        let (image, _root) = look(dir.path()).unwrap();
        let (source, target) = (dir.path().join("d"), PathBuf::from("/data"));
        let binds = vec![Bind { source, target, read_only: true, is_dir: true }];
        let environment = vec!["A=1".to_owned()];
        assert_eq!(image, Image { environment, binds, read_only: true });
    }

    #[test]
    fn what_is_no_config_is_named() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("config.json"), "{").unwrap();
        assert!(look(dir.path()).unwrap_err().contains("config.json"));
        fs::remove_file(dir.path().join("config.json")).unwrap();
        nix::unistd::mkfifo(&dir.path().join("config.json"), Mode::S_IRWXU).unwrap();
        assert!(look(dir.path()).unwrap_err().contains("it is no file"));
        assert!(look(Path::new("/nonexistent/image")).unwrap_err().contains("/nonexistent/image"));
    }
}
