//! Runs of the site's mail program: a few at once, with a timeout, without a shell, with a clean
//! environment and, if this process is root, as an unprivileged user. A failed message is not sent
//! again, because it may have been sent although the program was slow.

use super::{MailCounts, MailReceiver};
use common::causes::with_causes;
use common::config::ControllerConfig;
use common::text::shown;
use lead::Notification;
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

/// The most programs running at once.
const PROGRAMS_MAX: usize = 4;
/// A program that runs longer is killed.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The most bytes of a failed program's standard error that are logged.
const STDERR_BYTES_MAX: u64 = 512;
/// How long to read its standard error after its end.
const STDERR_WAIT: Duration = Duration::from_millis(200);
/// The program's PATH.
const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// The program and its settings.
#[derive(Debug, Clone)]
pub struct Mailer {
    program: PathBuf,
    /// Appended with `@` to names without a domain; empty: names stay as they are.
    domain: String,
    /// The uid and gid to run as; `None` for those of this process.
    user: Option<(u32, u32)>,
    timeout: Duration,
}

/// Why a message was not sent.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    #[error("failed to start {program}")]
    Start {
        program: String,
        #[source]
        source: io::Error,
    },
    #[error("{program} failed with {status}: {said}")]
    Failed {
        program: String,
        status: ExitStatus,
        /// From its standard error.
        said: String,
    },
    #[error("{program} did not end within {} s, and was killed", after.as_secs())]
    Slow { program: String, after: Duration },
    #[error("failed to wait for {program}")]
    Wait {
        program: String,
        #[source]
        source: io::Error,
    },
}

impl Mailer {
    /// Reads the configuration; `None` if there is no mail program.
    ///
    /// # Errors
    /// The configured user name, if it is needed and is no valid user.
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
        Ok(Some(Self { program, domain, user, timeout: TIMEOUT }))
    }

    #[must_use]
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Sends one message; returns once the program has ended.
    async fn send(&self, notification: &Notification) -> Result<(), SendError> {
        let program = || self.program.display().to_string();
        let mut command = Command::new(&self.program);
        command.arg("-s").arg(&notification.subject);
        command.args(notification.to.iter().map(|to| self.address(to)));
        command.env_clear().env("PATH", PATH).env("HOME", "/").env("LANG", "C.UTF-8");
        command.envs(notification.variables.iter().map(|(name, value)| (*name, value)));
        command.current_dir("/").process_group(0).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        if let Some((uid, gid)) = self.user {
            // The standard library drops root's supplementary groups here.
            command.uid(uid).gid(gid);
        }
        let started = command.spawn();
        let mut child =
            started.map_err(|source| SendError::Start { program: program(), source })?;
        let group = child.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw);
        let ended =
            tokio::time::timeout(self.timeout, run_child(&mut child, &notification.body)).await;
        match ended {
            Err(_) => {
                // Kill its children too. After a normal end they may still be delivering. Once the
                // exit status was taken, the process group id may belong to others.
                if let Some(group) = group.filter(|_| child.id().is_some()) {
                    let _ = killpg(group, Signal::SIGKILL);
                }
                // Reap it.
                let _ = child.wait().await;
                Err(SendError::Slow { program: program(), after: self.timeout })
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

/// Passes the message to the program, reads its standard error, and waits for its end.
async fn run_child(child: &mut Child, body: &str) -> io::Result<(ExitStatus, String)> {
    if let Some(mut stdin) = child.stdin.take() {
        // A program that does not read its input reports that by its exit status.
        let _ = stdin.write_all(body.as_bytes()).await;
    }
    let (mut said, stderr) = (Vec::new(), child.stderr.take());
    let status = {
        let mut reading = std::pin::pin!(async {
            if let Some(mut stderr) = stderr {
                let _ = (&mut stderr).take(STDERR_BYTES_MAX).read_to_end(&mut said).await;
                // The rest is read and dropped, so that the program does not block.
                let _ = tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await;
            }
        });
        tokio::select! {
            status = child.wait() => {
                // A child that still delivers may hold standard error open.
                let _ = tokio::time::timeout(STDERR_WAIT, reading).await;
                status?
            }
            () = &mut reading => child.wait().await?,
        }
    };
    let said: String = shown(String::from_utf8_lossy(&said).trim()).into_owned();
    Ok((status, said))
}

/// Sends queued messages until the queue is closed.
pub async fn send_all(mailer: Mailer, (mut notifications, counts): MailReceiver) {
    let (mailer, permits) = (Arc::new(mailer), Arc::new(Semaphore::new(PROGRAMS_MAX)));
    while let Some(notification) = notifications.recv().await {
        let Ok(permit) = permits.clone().acquire_owned().await else { return };
        let (mailer, counts) = (mailer.clone(), counts.clone());
        tokio::spawn(async move {
            let sent = mailer.send(&notification).await;
            drop(permit);
            count(&counts, &notification, sent);
        });
    }
}

fn count(counts: &MailCounts, notification: &Notification, sent: Result<(), SendError>) {
    match sent {
        Ok(()) => {
            counts.sent.fetch_add(1, Ordering::Relaxed);
            tracing::debug!("sent mail: {}", notification.subject);
        }
        Err(error) => {
            let lost = counts.lost.fetch_add(1, Ordering::Relaxed) + 1;
            // A broken program fails for each message: log failures 1, 2, 4, 8, ...
            if lost.is_power_of_two() {
                let why = with_causes(&error);
                tracing::warn!("failed to send mail ({lost} since the start): {why}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::time::Instant;

    /// A program in a world-writable directory, because it runs as another user if the tests run as
    /// root.
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

    fn notification() -> Notification {
        Notification {
            to: vec!["ada".to_owned(), "bob@x".to_owned()],
            subject: "kant Job_id=1 Name=$(id) `id` Began".to_owned(),
            body: "Job:  1\nName: $(touch evil)\n".to_owned(),
            variables: vec![("SLURM_JOB_ID", "1".to_owned())],
        }
    }

    #[tokio::test]
    async fn the_program_gets_the_message_as_data_and_no_shell_reads_it() {
        let script = "{ printf '%s\\n' \"$@\"; cat; env | grep -v ^PWD= | grep -v ^_= | \
                    grep -v ^SHLVL= | grep -v ^OLDPWD= | sort; id -u; } >output";
        let (dir, mailer) = program(script);
        mailer.send(&notification()).await.unwrap();
        let output = std::fs::read_to_string(dir.path().join("output")).unwrap();
        let (said, uid) = output.trim_end().rsplit_once('\n').unwrap();
        assert_eq!(
            said,
            "-s\nkant Job_id=1 Name=$(id) `id` Began\nada@example.org\nbob@x\nJob:  1\n\
             Name: $(touch evil)\nHOME=/\nLANG=C.UTF-8\n\
             PATH=/usr/sbin:/usr/bin:/sbin:/bin\nSLURM_JOB_ID=1"
        );
        assert_ne!(uid, "0", "not as root");
        assert!(!dir.path().join("evil").exists());
    }

    #[tokio::test]
    async fn a_failure_is_quoted_and_a_hanging_program_is_killed_with_its_children() {
        let (_dir, mailer) = program("echo 'no such host' >&2; exit 3");
        let error = mailer.send(&notification()).await.unwrap_err().to_string();
        assert!(error.contains("exit status: 3: no such host"), "{error}");

        let (dir, mailer) = program("exec >/dev/null; sleep 600 & echo $! >child; wait");
        let mailer = Mailer { timeout: Duration::from_millis(500), ..mailer };
        let begun = Instant::now();
        let error = mailer.send(&notification()).await.unwrap_err().to_string();
        assert!(error.contains("did not end within"), "{error}");
        assert!(begun.elapsed() < Duration::from_secs(20));
        let child = std::fs::read_to_string(dir.path().join("child")).unwrap();
        let stat = format!("/proc/{}/stat", child.trim());
        while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
            assert!(begun.elapsed() < Duration::from_secs(20), "{child} still runs");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }

        let (dir, mailer) = program("");
        std::fs::remove_file(dir.path().join("mailer")).unwrap();
        let error = mailer.send(&notification()).await.unwrap_err();
        assert!(matches!(error, SendError::Start { .. }), "{error}");
    }

    #[tokio::test]
    async fn a_few_messages_are_sent_at_a_time_and_all_are_counted() {
        let (dir, mailer) = program(
            "mkdir running.$$; ls -d running.* | wc -l >>at_once; sleep 0.1; rmdir running.$$; \
             case $2 in *bad*) exit 1;; esac",
        );
        let (queue, receiver) = super::super::MailQueue::open();
        let counts = receiver.1.clone();
        let bad = Notification { subject: "bad".to_owned(), ..notification() };
        queue.enqueue([vec![notification(); 20], vec![bad; 3]].concat());
        drop(queue);
        send_all(mailer, receiver).await;
        let count = || (counts.sent.load(Ordering::Relaxed), counts.lost.load(Ordering::Relaxed));
        let begun = Instant::now();
        while count() != (20, 3) {
            assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", count());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let at_once = std::fs::read_to_string(dir.path().join("at_once")).unwrap();
        let most = at_once.lines().map(|line| line.trim().parse::<usize>().unwrap()).max();
        assert!(most.unwrap() <= PROGRAMS_MAX, "{most:?}");
    }

    #[test]
    fn without_a_program_there_is_no_mailer() {
        assert!(Mailer::configured(&ControllerConfig::default()).unwrap().is_none());
    }
}
