//! The script of a submission: from a file, standard input or `--wrap`. At most the accepted size
//! is read.

use crate::failure::Failure;
use crate::output::screen::note;
use anyhow::Context;
use common::job::check::{SCRIPT_BYTES_MAX, check_script};
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::Path;

/// A script that has passed `common::job::check`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// Its name in messages.
    pub origin: String,
    /// The path that was given; `None` for standard input or a wrapped command.
    pub command: Option<String>,
    /// The default job name.
    pub job_name: String,
    pub text: String,
    /// Whether directives are read; not from a wrapped command.
    pub has_directives: bool,
}

/// Reads a script from a file, or from standard input (no path, or `-`).
///
/// # Errors
/// [`Failure`] when it cannot be read, or is not a script.
pub fn read(path: Option<&str>) -> Result<Script, Failure> {
    match path {
        None | Some("-") => read_stdin(),
        Some(path) => read_file(path),
    }
}

/// A script that runs a command.
///
/// # Errors
/// [`Failure`] when the command is empty or contains NUL bytes.
pub fn wrap(command: &str) -> Result<Script, Failure> {
    let text = if command.trim().is_empty() {
        String::new()
    } else {
        format!("#!/bin/sh\n# From kantctl submit --wrap.\n\n{command}\n")
    };
    checked("the wrapped command", None, "wrap", text.into_bytes(), false)
}

fn read_stdin() -> Result<Script, Failure> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        note("type the script, then press Ctrl-D");
    }
    let bytes =
        read_bounded(stdin.lock()).context("failed to read the script from standard input")?;
    checked("standard input", None, "stdin", bytes, true)
}

fn read_file(path: &str) -> Result<Script, Failure> {
    let failed = || format!("failed to read the script {path}");
    let file = File::open(path).map_err(|error| {
        let missing = error.kind() == io::ErrorKind::NotFound;
        let failure = Failure::refused(anyhow::Error::new(error).context(failed()));
        if missing {
            failure.with_hint("to submit a command instead of a script: --wrap \"command\"")
        } else {
            failure
        }
    })?;
    if file.metadata().with_context(failed)?.is_dir() {
        let text = format!("{}: is a directory", failed());
        return Err(Failure::from_message(text).with_hint("give the path of a script in it"));
    }
    let bytes = read_bounded(file).with_context(failed)?;
    let name = Path::new(path).file_name().map_or(path.into(), |n| n.to_string_lossy());
    let whole = std::path::absolute(path).with_context(failed)?;
    checked(path, Some(whole.display().to_string()), &name, bytes, true)
}

/// The whole content, or one byte more than accepted.
fn read_bounded(source: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(SCRIPT_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn checked(
    origin: &str,
    command: Option<String>,
    job_name: &str,
    bytes: Vec<u8>,
    has_directives: bool,
) -> Result<Script, Failure> {
    let failed = || format!("failed to submit {origin}");
    check_script(&bytes).with_context(failed)?;
    let text = String::from_utf8(bytes).with_context(failed)?;
    let (origin, job_name) = (origin.to_owned(), job_name.to_owned());
    Ok(Script { origin, command, job_name, text, has_directives })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(path: &Path) -> String {
        read(path.to_str()).unwrap_err().to_string()
    }

    #[test]
    fn invalid_scripts_are_refused_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let missing = refused(&dir.path().join("missing.sh"));
        assert!(missing.contains("missing.sh") && missing.contains("--wrap"), "{missing}");
        assert!(refused(dir.path()).contains("directory"));

        let file = dir.path().join("a.sh");
        for (content, word) in
            [(&b""[..], "empty"), (b"\x7fELF\0", "text file"), (b"echo hi\n", "#!")]
        {
            std::fs::write(&file, content).unwrap();
            let message = refused(&file);
            assert!(message.contains("a.sh") && message.contains(word), "{message}");
        }
    }

    #[test]
    fn the_default_job_name_is_the_file_name() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("train.sh");
        std::fs::write(&file, "#!/bin/sh\ntrue\n").unwrap();
        let script = read(file.to_str()).unwrap();
        assert_eq!((script.job_name.as_str(), script.has_directives), ("train.sh", true));
        assert_eq!(script.command.as_deref(), file.to_str());
        assert_eq!(wrap("echo hi").unwrap().command, None);
    }

    #[test]
    fn an_endless_script_is_refused() {
        assert!(refused(Path::new("/dev/zero")).contains("bytes, more than"));
    }

    #[test]
    fn a_command_is_wrapped_in_a_shell_script() {
        let script = wrap("echo hi").unwrap();
        assert!(script.text.starts_with("#!/bin/sh\n") && script.text.ends_with("\necho hi\n"));
        assert!(wrap(" ").is_err());
    }
}
