//! The image of a container: an OCI bundle (a directory with `config.json` and a root file system;
//! OCI runtime specification, config.md), or a root file system alone. From a bundle only its
//! variables, its bind mounts and its read-only flag are used. User, program and privileges come
//! from the job.

use super::Bind;
use crate::safe_open;
use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;
use serde::{Deserialize, Serialize};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// The largest `config.json` that is read, in bytes.
const CONFIG_BYTES_MAX: u64 = 1 << 20;

/// The largest image description, in bytes of JSON: it must fit into one message.
const TAKEN_BYTES_MAX: usize = 48 << 10;

/// The parts of a bundle that are used, apart from its root file system.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Image {
    pub environment: Vec<String>,
    /// Bind mounts; relative sources lie in the bundle.
    pub binds: Vec<Bind>,
    pub read_only: bool,
}

/// The parts of `config.json` that are used.
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

/// Reads an image and opens its root file system. Runs as the job's user: the image may lie where
/// root has no access, or on a file server that hangs.
///
/// # Errors
/// The end of a sentence that says what is wrong with the image.
pub fn open_image(dir: &Path) -> Result<(Image, OwnedFd), String> {
    let failed =
        |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let (root, image) = match read_config(dir) {
        Ok(Some(config)) => {
            let image = describe(dir, &config);
            let root = config.root.map_or_else(|| PathBuf::from("rootfs"), |root| root.path);
            (dir.join(root), image)
        }
        Ok(None) => (dir.to_owned(), Image::default()),
        Err(error) => return Err(failed(&dir.join("config.json"), &error)),
    };
    let size = serde_json::to_vec(&image).map_or(usize::MAX, |text| text.len());
    if size > TAKEN_BYTES_MAX {
        let most = TAKEN_BYTES_MAX >> 10;
        return Err(format!("the variables and mounts of its config.json exceed {most} KiB"));
    }
    let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let opened = open(&root, flags, Mode::empty()).map_err(|error| failed(&root, &error))?;
    Ok((image, opened))
}

/// Reads `config.json`; `None` if there is none.
fn read_config(dir: &Path) -> io::Result<Option<Config>> {
    let file = match safe_open::open_regular(&dir.join("config.json")) {
        Err(nix::Error::ENOENT) => return Ok(None),
        Ok(None) => return Err(io::Error::other("not a regular file")),
        Ok(Some(file)) => file,
        Err(error) => return Err(error.into()),
    };
    let mut text = Vec::new();
    file.take(CONFIG_BYTES_MAX).read_to_end(&mut text)?;
    Ok(Some(serde_json::from_slice(&text)?))
}

fn describe(dir: &Path, config: &Config) -> Image {
    let bind = |mount: &Mount| {
        let is_bind = mount.options.iter().any(|word| word == "bind" || word == "rbind");
        let source = dir.join(mount.source.as_ref().filter(|_| is_bind)?);
        // Missing sources are left out, as with the configured mounts.
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
        let (image, _root) = open_image(dir.path()).unwrap();
        assert_eq!(image, Image::default());
    }

    #[test]
    fn only_harmless_parts_of_a_bundle_are_used() {
        let dir = tempfile::tempdir().unwrap();
        let config = r#"{"ociVersion": "1.0.2",
            "process": {"user": {"uid": 0}, "args": ["rm"], "env": ["A=1"]},
            "root": {"path": "tree", "readonly": true}, "hooks": {"prestart": [{"path": "/x"}]},
            "mounts": [{"destination": "/data", "source": "d", "options": ["rbind", "ro"]},
                       {"destination": "/gone", "source": "/nonexistent", "options": ["bind"]},
                       {"destination": "/proc", "type": "proc", "source": "proc"}]}"#;
        fs::write(dir.path().join("config.json"), config).unwrap();
        let missing = open_image(dir.path()).unwrap_err();
        assert!(missing.contains("tree"), "{missing}");
        for name in ["tree", "d"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        let (image, _root) = open_image(dir.path()).unwrap();
        let (source, target) = (dir.path().join("d"), PathBuf::from("/data"));
        let binds = vec![Bind { source, target, read_only: true, is_dir: true }];
        let environment = vec!["A=1".to_owned()];
        assert_eq!(image, Image { environment, binds, read_only: true });
    }

    #[test]
    fn an_invalid_config_is_named() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("config.json"), "{").unwrap();
        assert!(open_image(dir.path()).unwrap_err().contains("config.json"));
        fs::remove_file(dir.path().join("config.json")).unwrap();
        nix::unistd::mkfifo(&dir.path().join("config.json"), Mode::S_IRWXU).unwrap();
        assert!(open_image(dir.path()).unwrap_err().contains("not a regular file"));
        assert!(
            open_image(Path::new("/nonexistent/image")).unwrap_err().contains("/nonexistent/image")
        );
    }
}
