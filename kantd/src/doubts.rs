//! What in a configuration that reads well would not work on this machine: programs that are not
//! there, or lie where no job sees them. To be told before the first job finds out.
//! Never keeps kantd from starting: what is missing may come with a mount.

use crate::config::Settings;
use nix::unistd::{AccessFlags, access};
use std::path::Path;

/// A sentence for each.
#[must_use]
pub fn doubts(settings: &Settings) -> Vec<String> {
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
        let why = not_run(&path)?;
        Some(format!("`{key}`: {} {why}", path.display()))
    });
    let hidden = seen.into_iter().filter_map(set).filter_map(|(key, path)| {
        let dir = settings.private_dirs.iter().find(|dir| path.starts_with(dir))?;
        let (path, dir) = (path.display(), dir.display());
        Some(format!(
            "`{key}`: jobs do not see {path}: each has a {dir} of its own (`private_dirs`); \
             let it lie elsewhere, or `srun` and kantctl fail in jobs"
        ))
    });
    let idle = settings.hold_gpu_memory && settings.accounting_period.is_none();
    let idle = idle.then(|| {
        "`hold_gpu_memory`: nobody is held to a share of a GPU's memory with \
         `accounting_seconds = 0`"
            .to_owned()
    });
    runs.chain(hidden).chain(idle).collect()
}

/// Why it cannot be run, if it cannot.
fn not_run(path: &Path) -> Option<String> {
    match path.metadata() {
        Err(error) => Some(format!("cannot be run: {error}")),
        Ok(found) if !found.is_file() => Some("is no program".to_owned()),
        Ok(_) => match access(path, AccessFlags::X_OK) {
            Ok(()) => None,
            Err(error) => Some(format!("may not be run: {}", error.desc())),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::config;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn doubts_of(text: &str) -> Vec<String> {
        let config = config::read("kantd.toml", &format!("name = \"n\"\n{text}")).unwrap();
        doubts(&crate::config::check(config).unwrap())
    }

    #[test]
    fn a_program_that_is_not_there_or_may_not_be_run_is_told_with_its_key() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("program");
        fs::write(&file, "#!/bin/sh\n").unwrap();
        for key in ["prolog", "epilog", "health_script", "container_runtime"] {
            let line = format!("{key} = {file:?}");
            let mode = |mode| fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            mode(0o755);
            assert_eq!(doubts_of(&line), [""; 0], "{line}");
            mode(0o644);
            let [doubt] = &doubts_of(&line)[..] else { panic!("{line}") };
            assert!(doubt.contains(key) && doubt.contains("may not be run"), "{doubt}");
            let [doubt] = &doubts_of(&format!("{key} = \"/no/such\""))[..] else { panic!("{key}") };
            assert!(doubt.contains("/no/such cannot be run: No such file"), "{doubt}");
        }
    }

    #[test]
    fn what_jobs_would_not_see_and_what_never_happens_is_told() {
        let doubts = doubts_of("kantctl = \"/tmp/kantctl\"\nsocket = \"/tmp/k/s\"");
        assert_eq!(doubts.len(), 2, "{doubts:?}");
        assert!(doubts[0].contains("`kantctl`: jobs do not see /tmp/kantctl"), "{doubts:?}");
        assert!(doubts_of("kantctl = \"/tmp/kantctl\"\nprivate_dirs = []").is_empty());
        let doubts = doubts_of("accounting_seconds = 0");
        assert!(doubts[0].contains("`hold_gpu_memory`") && doubts.len() == 1, "{doubts:?}");
        assert!(doubts_of("accounting_seconds = 0\nhold_gpu_memory = false").is_empty());
    }
}
