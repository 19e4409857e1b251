//! Warnings about a valid configuration that would not work on this machine: programs that are
//! missing, or hidden from jobs. They do not keep kantd from starting, because a missing file may
//! come with a later mount.

use crate::config::Settings;
use nix::unistd::{AccessFlags, access};
use std::path::Path;

/// The warnings, a sentence each.
#[must_use]
pub fn config_warnings(settings: &Settings) -> Vec<String> {
    let run = [
        ("prolog", settings.prolog.as_deref()),
        ("epilog", settings.epilog.as_deref()),
        ("task_prolog", settings.task_prolog.as_deref()),
        ("health_script", settings.health.script.as_deref()),
        ("container_runtime", settings.containers.runtime.as_deref()),
    ];
    let seen = [
        ("task_prolog", settings.task_prolog.as_deref()),
        ("kantctl", settings.kantctl.as_deref()),
        ("socket", settings.socket.as_deref()),
    ];
    let set = |(key, path): (&'static str, Option<&Path>)| path.map(|path| (key, path.to_owned()));
    let runs = run.into_iter().filter_map(set).filter_map(|(key, path)| {
        let why = why_not_runnable(&path)?;
        Some(format!("`{key}`: {} {why}", path.display()))
    });
    let hidden = seen.into_iter().filter_map(set).filter_map(|(key, path)| {
        let dir = settings.private_dirs.iter().find(|dir| path.starts_with(dir))?;
        let (path, dir) = (path.display(), dir.display());
        Some(format!(
            "`{key}`: jobs do not see {path}: each job has its own {dir} (`private_dirs`); \
             move it elsewhere, or `srun` and kantctl fail in jobs"
        ))
    });
    let idle = settings.sampling.hold_gpu_memory && settings.sampling.period.is_none();
    let idle = idle.then(|| {
        "`hold_gpu_memory`: shares of a GPU's memory are not enforced with \
         `accounting_seconds = 0`"
            .to_owned()
    });
    runs.chain(hidden).chain(idle).collect()
}

/// The reason why a program cannot be run, if there is one.
fn why_not_runnable(path: &Path) -> Option<String> {
    match path.metadata() {
        Err(error) => Some(format!("cannot be run: {error}")),
        Ok(found) if !found.is_file() => Some("is not a program".to_owned()),
        Ok(_) => match access(path, AccessFlags::X_OK) {
            Ok(()) => None,
            Err(error) => Some(format!("is not executable: {}", error.desc())),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::config;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn warnings_of(text: &str) -> Vec<String> {
        let config = config::read("kantd.toml", &format!("name = \"n\"\n{text}")).unwrap();
        config_warnings(&crate::config::check(config).unwrap())
    }

    #[test]
    fn a_missing_or_non_executable_program_is_reported_with_its_key() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("program");
        fs::write(&file, "#!/bin/sh\n").unwrap();
        for key in ["prolog", "epilog", "health_script", "container_runtime"] {
            let line = format!("{key} = {file:?}");
            let mode = |mode| fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            mode(0o755);
            assert_eq!(warnings_of(&line), [""; 0], "{line}");
            mode(0o644);
            let [warning] = &warnings_of(&line)[..] else { panic!("{line}") };
            assert!(warning.contains(key) && warning.contains("is not executable"), "{warning}");
            let [warning] = &warnings_of(&format!("{key} = \"/no/such\""))[..] else {
                panic!("{key}")
            };
            assert!(warning.contains("/no/such cannot be run: No such file"), "{warning}");
        }
    }

    #[test]
    fn hidden_paths_and_ineffective_settings_are_reported() {
        let config_warnings = warnings_of("kantctl = \"/tmp/kantctl\"\nsocket = \"/tmp/k/s\"");
        assert_eq!(config_warnings.len(), 2, "{config_warnings:?}");
        assert!(
            config_warnings[0].contains("`kantctl`: jobs do not see /tmp/kantctl"),
            "{config_warnings:?}"
        );
        assert!(warnings_of("kantctl = \"/tmp/kantctl\"\nprivate_dirs = []").is_empty());
        let config_warnings = warnings_of("accounting_seconds = 0");
        assert!(
            config_warnings[0].contains("`hold_gpu_memory`") && config_warnings.len() == 1,
            "{config_warnings:?}"
        );
        assert!(warnings_of("accounting_seconds = 0\nhold_gpu_memory = false").is_empty());
    }
}
