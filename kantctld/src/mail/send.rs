//! Runs the site's mail program for each letter: some at once, each for a while, without a shell,
//! with nothing of this process's environment and, where this process is root, as somebody who is
//! not. Never again for a letter that failed: it would come twice where the program was only slow.

use super::{Mailbag, Tally};
use common::config::ControllerConfig;
use common::text::shown;
use lead::Letter;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::{Pid, User, geteuid};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio::sync::Semaphore;

/// So many programs run at once.
const AT_ONCE: usize = 4;
/// A program that takes longer is ended.
const PATIENCE: Duration = Duration::from_secs(30);
/// So many bytes of what a program says of its failure are logged.
const SAID_BYTES_MAX: u64 = 512;
/// So long after its end its last words are waited for.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// Where it finds other programs.
const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// The program, and how it is run.
#[derive(Debug, Clone)]
pub struct Mailer {
    program: PathBuf,
    /// Behind `@` of names that have none; empty: they go as they are.
    domain: String,
    /// Whom it runs as; `None`: as this process.
    user: Option<(u32, u32)>,
    patience: Duration,
}

/// A letter that was not sent.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// There is no such program, or it may not be run.
    #[error("failed to start {program}")]
    Start {
        program: String,
        #[source]
        source: io::Error,
    },
    #[error("{program} ended with {status}: {said}")]
    Failed {
        program: String,
        status: ExitStatus,
        /// What it said of it.
        said: String,
    },
    /// It did not end.
    #[error("{program} did not end within {} s, and was killed", after.as_secs())]
    Slow { program: String, after: Duration },
    /// The system did not tell how it ended.
    #[error("failed to wait for {program}")]
    Wait {
        program: String,
        #[source]
        source: io::Error,
    },
}

impl Mailer {
    /// As configured; `None`: there is none.
    ///
    /// # Errors
    /// The name of a user who is not known here, where one is needed.
    pub fn configured(config: &ControllerConfig) -> Result<Option<Self>, String> {
        if config.mailer.is_empty() {
            return Ok(None);
        }
        let user = match geteuid().is_root() {
            false => None,
            true => {
                let found = User::from_name(&config.mailer_user).ok().flatten();
                let found = found.filter(|user| !user.uid.is_root() && user.gid.as_raw() != 0);
                let user = found.ok_or_else(|| config.mailer_user.clone())?;
                Some((user.uid.as_raw(), user.gid.as_raw()))
            }
        };
        let (program, domain) = (PathBuf::from(&config.mailer), config.mail_domain.clone());
        Ok(Some(Self { program, domain, user, patience: PATIENCE }))
    }

    #[must_use]
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Sends one letter; returns once the program has ended.
    async fn send(&self, letter: &Letter) -> Result<(), SendError> {
        let program = || self.program.display().to_string();
        let mut command = Command::new(&self.program);
        command.arg("-s").arg(&letter.subject);
        command.args(letter.to.iter().map(|to| self.address(to)));
        command.env_clear().env("PATH", PATH).env("HOME", "/").env("LANG", "C.UTF-8");
        command.envs(letter.variables.iter().map(|(name, value)| (*name, value)));
        command.current_dir("/").process_group(0).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        if let Some((uid, gid)) = self.user {
            // Without the groups of this process: the standard library drops them for a root.
            command.uid(uid).gid(gid);
        }
        let started = command.spawn();
        let mut child =
            started.map_err(|source| SendError::Start { program: program(), source })?;
        let group = child.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw);
        let ended = tokio::time::timeout(self.patience, talk(&mut child, &letter.body)).await;
        match ended {
            Err(_) => {
                // With its children. Those of one that ended in time may well carry the letter on.
                // Of one whose exit was taken the number may be another's by now.
                if let Some(group) = group.filter(|_| child.id().is_some()) {
                    let _ = killpg(group, Signal::SIGKILL);
                }
                // It is dead, and its exit is taken so that it leaves the table of processes.
                let _ = child.wait().await;
                Err(SendError::Slow { program: program(), after: self.patience })
            }
            Ok(Err(source)) => Err(SendError::Wait { program: program(), source }),
            Ok(Ok((status, _))) if status.success() => Ok(()),
            Ok(Ok((status, said))) => Err(SendError::Failed { program: program(), status, said }),
        }
    }

    fn address(&self, to: &str) -> String {
        match to.contains('@') || self.domain.is_empty() {
            true => to.to_owned(),
            false => format!("{to}@{}", self.domain),
        }
    }
}

/// Gives it the letter, hears what it complains of, and waits for its end.
async fn talk(child: &mut Child, body: &str) -> io::Result<(ExitStatus, String)> {
    if let Some(mut stdin) = child.stdin.take() {
        // One that does not read says by its exit whether it minds.
        let _ = stdin.write_all(body.as_bytes()).await;
    }
    let (mut said, stderr) = (Vec::new(), child.stderr.take());
    let status = {
        let mut hearing = std::pin::pin!(async {
            if let Some(mut stderr) = stderr {
                let _ = (&mut stderr).take(SAID_BYTES_MAX).read_to_end(&mut said).await;
                // What it says beyond that is read, so that it can go on.
                let _ = tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await;
            }
        });
        tokio::select! {
            status = child.wait() => {
                // Whoever carries the letter on may hold it open.
                let _ = tokio::time::timeout(LAST_WORDS, hearing).await;
                status?
            }
            () = &mut hearing => child.wait().await?,
        }
    };
    let said: String = shown(String::from_utf8_lossy(&said).trim()).into_owned();
    Ok((status, said))
}

/// Sends what is put in, until nobody puts anything in any more.
pub async fn deliver(mailer: Mailer, (mut letters, tally): Mailbag) {
    let (mailer, places) = (Arc::new(mailer), Arc::new(Semaphore::new(AT_ONCE)));
    while let Some(letter) = letters.recv().await {
        let Ok(place) = places.clone().acquire_owned().await else { return };
        let (mailer, tally) = (mailer.clone(), tally.clone());
        tokio::spawn(async move {
            let sent = mailer.send(&letter).await;
            drop(place);
            note(&tally, &letter, sent);
        });
    }
}

fn note(tally: &Tally, letter: &Letter, sent: Result<(), SendError>) {
    match sent {
        Ok(()) => {
            tally.sent.fetch_add(1, Ordering::Relaxed);
            tracing::debug!("sent a letter: {}", letter.subject);
        }
        Err(error) => {
            let lost = tally.lost.fetch_add(1, Ordering::Relaxed) + 1;
            // One that is broken fails for each: that is said at 1, 2, 4, 8, ... of them.
            if lost.is_power_of_two() {
                let why = crate::settings::with_causes(&error);
                tracing::warn!("a letter was not sent ({lost} since the start): {why}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::time::Instant;

    /// A program in a directory that everybody may write to: where tests are root, it is run as
    /// somebody else.
    fn program(script: &str) -> (tempfile::TempDir, Mailer) {
        let dir = tempfile::tempdir().unwrap();
        let open = std::fs::Permissions::from_mode(0o777);
        std::fs::set_permissions(dir.path(), open.clone()).unwrap();
        let path = dir.path().join("mailer");
        let here = dir.path().display();
        std::fs::write(&path, format!("#!/bin/sh\ncd {here}\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, open).unwrap();
        let mailer = path.display().to_string();
        let config = ControllerConfig {
            mailer,
            mail_domain: "example.org".to_owned(),
            ..ControllerConfig::default()
        };
        let mailer = Mailer::configured(&config).unwrap().unwrap();
        (dir, mailer)
    }

    fn letter() -> Letter {
        Letter {
            to: vec!["ada".to_owned(), "bob@x".to_owned()],
            subject: "kant Job_id=1 Name=$(id) `id` Began".to_owned(),
            body: "Job:  1\nName: $(touch evil)\n".to_owned(),
            variables: vec![("SLURM_JOB_ID", "1".to_owned())],
        }
    }

    #[tokio::test]
    async fn a_letter_is_what_the_program_is_given_and_nobodys_command() {
        let told = "{ printf '%s\\n' \"$@\"; cat; env | grep -v ^PWD= | grep -v ^_= | \
                    grep -v ^SHLVL= | grep -v ^OLDPWD= | sort; id -u; } >told";
        let (dir, mailer) = program(told);
        mailer.send(&letter()).await.unwrap();
        let told = std::fs::read_to_string(dir.path().join("told")).unwrap();
        let (said, uid) = told.trim_end().rsplit_once('\n').unwrap();
        assert_eq!(
            said,
            "-s\nkant Job_id=1 Name=$(id) `id` Began\nada@example.org\nbob@x\nJob:  1\n\
             Name: $(touch evil)\nHOME=/\nLANG=C.UTF-8\n\
             PATH=/usr/sbin:/usr/bin:/sbin:/bin\nSLURM_JOB_ID=1"
        );
        assert_ne!(uid, "0", "never root");
        assert!(!dir.path().join("evil").exists());
    }

    #[tokio::test]
    async fn one_that_fails_is_quoted_and_one_that_hangs_is_killed_with_its_children() {
        let (_dir, mailer) = program("echo 'no such host' >&2; exit 3");
        let told = mailer.send(&letter()).await.unwrap_err().to_string();
        assert!(told.contains("exit status: 3: no such host"), "{told}");

        let (dir, mailer) = program("exec >/dev/null; sleep 600 & echo $! >child; wait");
        let mailer = Mailer { patience: Duration::from_millis(500), ..mailer };
        let begun = Instant::now();
        let told = mailer.send(&letter()).await.unwrap_err().to_string();
        assert!(told.contains("did not end within"), "{told}");
        assert!(begun.elapsed() < Duration::from_secs(20));
        let child = std::fs::read_to_string(dir.path().join("child")).unwrap();
        let stat = format!("/proc/{}/stat", child.trim());
        while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
            assert!(begun.elapsed() < Duration::from_secs(20), "{child} lives");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }

        let (dir, mailer) = program("");
        std::fs::remove_file(dir.path().join("mailer")).unwrap();
        let told = mailer.send(&letter()).await.unwrap_err();
        assert!(matches!(told, SendError::Start { .. }), "{told}");
    }

    #[tokio::test]
    async fn letters_are_sent_some_at_a_time_and_counted() {
        let (dir, mailer) = program(
            "mkdir running.$$; ls -d running.* | wc -l >>at_once; sleep 0.1; rmdir running.$$; \
             case $2 in *bad*) exit 1;; esac",
        );
        let (postbox, bag) = super::super::Postbox::open();
        let tally = bag.1.clone();
        let bad = Letter { subject: "bad".to_owned(), ..letter() };
        postbox.put([vec![letter(); 20], vec![bad; 3]].concat());
        drop(postbox);
        deliver(mailer, bag).await;
        let count = || (tally.sent.load(Ordering::Relaxed), tally.lost.load(Ordering::Relaxed));
        let begun = Instant::now();
        while count() != (20, 3) {
            assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", count());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let at_once = std::fs::read_to_string(dir.path().join("at_once")).unwrap();
        let most = at_once.lines().map(|line| line.trim().parse::<usize>().unwrap()).max();
        assert!(most.unwrap() <= AT_ONCE, "{most:?}");
    }

    #[test]
    fn without_a_program_there_is_no_mailer() {
        assert!(Mailer::configured(&ControllerConfig::default()).unwrap().is_none());
    }
}
