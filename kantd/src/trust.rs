//! Checks that only root may change what kantd obeys or runs. Missing files are left to
//! `config_warnings`.

use crate::config::{DEFAULT_FILE, Settings};
use net::{TrustError, check_trusted};
use std::path::Path;

/// Refuses a configuration, or a program named in it, that other users may change. `file` is the
/// configuration given on the command line.
///
/// # Errors
/// [`TrustError`] for the first of them.
pub fn check(file: Option<&Path>, settings: &Settings) -> Result<(), TrustError> {
    let tls = settings.router.as_ref().and_then(|router| router.tls.as_ref());
    let programs = [
        ("prolog", settings.prolog.as_deref()),
        ("epilog", settings.epilog.as_deref()),
        ("task_prolog", settings.task_prolog.as_deref()),
        ("health_script", settings.health.script.as_deref()),
        ("container_runtime", settings.containers.runtime.as_deref()),
        ("kantctl", settings.kantctl.as_deref()),
        ("router_certificate", tls.map(|tls| tls.certificate.as_path())),
        ("router_key", tls.map(|tls| tls.key.as_path())),
        // The loader finds a bare name where only root may write.
        ("nvml_library", settings.nvml_library.as_deref().filter(|path| path.is_absolute())),
    ];
    let configuration = ("configuration", Some(file.unwrap_or(Path::new(DEFAULT_FILE))));
    for (what, path) in [configuration].into_iter().chain(programs) {
        path.map_or(Ok(()), |path| check_program(what, path))?;
    }
    Ok(())
}

/// Refuses a program that other users may change.
///
/// # Errors
/// [`TrustError`].
pub fn check_program(what: &'static str, path: &Path) -> Result<(), TrustError> {
    match check_trusted(what, path) {
        Err(error) if error.is_missing() => Ok(()),
        checked => checked,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::config;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn every_program_and_the_configuration_are_checked() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("program");
        fs::write(&file, "#!/bin/sh\n").unwrap();
        let mode = |mode| fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let check_with = |text: &str, named: Option<&Path>| {
            let config = config::read("kantd.toml", &format!("name = \"n\"\n{text}")).unwrap();
            check(named, &crate::config::check(config).unwrap())
        };
        for key in [
            "prolog",
            "epilog",
            "task_prolog",
            "health_script",
            "container_runtime",
            "kantctl",
            "nvml_library",
        ] {
            let line = format!("{key} = {file:?}");
            mode(0o755);
            check_with(&line, None).unwrap();
            mode(0o777);
            let said = check_with(&line, None).unwrap_err().to_string();
            assert!(said.contains(&format!("failed to use {key} ")), "{said}");
            assert!(said.contains("0777") && said.contains("chmod go-w"), "{said}");
        }
        let said = check_with("", Some(&file)).unwrap_err().to_string();
        assert!(said.contains("failed to use configuration"), "{said}");
        check_with("prolog = \"/no/such\"", None).unwrap();
    }
}
