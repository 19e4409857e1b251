//! Mail to users in Slurm's way: for each message that `lead` announces, one run of the site's
//! program (`mailer`) as `PROGRAM -s SUBJECT ADDRESS,...`, with the job in the environment and
//! nothing on standard input. The program does the rest.
//!
//! Nothing waits for mail, and nothing is sent again, because a slow program may have sent it: a
//! message that does not fit the queue, or that the program does not accept in time, is lost and
//! logged.

use common::config::ControllerConfig;
use common::job::Ask;
use lead::Notification;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::{Pid, User, geteuid};
use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tokio::process::Command;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{self, Receiver, Sender};

/// The most queued messages: an array of thousands of tasks may end at once.
const WAITING_MAX: usize = 4096;
/// The most programs running at once.
const PROGRAMS_MAX: u32 = 4;
/// A program that runs longer is killed.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The program's PATH.
const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// The queue of outgoing mail; without a mail program it drops everything.
#[derive(Debug, Clone, Default)]
pub struct MailQueue(Option<Sender<Notification>>);

impl MailQueue {
    /// Starts to send if a mail program is configured, within a runtime. Messages still queued
    /// when the process ends are lost.
    #[must_use]
    pub fn start(mailer: Option<Mailer>) -> Self {
        let Some(mailer) = mailer else { return Self::default() };
        tracing::info!("mail to users is sent with {}", mailer.program.display());
        let (queue, notifications) = mpsc::channel(WAITING_MAX);
        tokio::spawn(send_all(mailer, notifications));
        Self(Some(queue))
    }

    /// Whether mail is sent at all.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.0.is_some()
    }

    /// Queues messages without waiting.
    pub fn enqueue(&self, notifications: Vec<Notification>) {
        let Some(queue) = &self.0 else { return };
        let sent = notifications.into_iter().map(|notification| queue.try_send(notification));
        let lost = sent.filter(Result::is_err).count();
        if lost > 0 {
            tracing::warn!(
                "lost {lost} mail messages: {WAITING_MAX} already wait for `mailer`; use a program \
                 that only queues mail"
            );
        }
    }

    /// A warning for a job that asks for mail where none is sent.
    #[must_use]
    pub fn warning(&self, ask: &Ask) -> Option<String> {
        let asks = ask.mail.as_ref().is_some_and(|mail| !mail.on.is_none());
        (asks && !self.is_open()).then(|| {
            "--mail-type has no effect: this cluster sends no mail, because `mailer` is not set in \
             kantctld.toml"
                .to_owned()
        })
    }
}

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

impl Mailer {
    /// Reads the configuration; `None` if there is no mail program.
    ///
    /// # Errors
    /// The configured user name, if it is needed and is no valid user.
    pub fn from_config(config: &ControllerConfig) -> Result<Option<Self>, String> {
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

    /// Runs the program for one message, without a shell, until it ends. Its standard error is
    /// this process's, and so part of its log.
    async fn run(&self, notification: &Notification) -> io::Result<ExitStatus> {
        let mut command = Command::new(&self.program);
        command.arg("-s").arg(&notification.subject).arg(self.addresses(&notification.to));
        command.env_clear().env("PATH", PATH).env("HOME", "/").env("LANG", "C.UTF-8");
        command.envs(notification.variables.iter().map(|(name, value)| (*name, value)));
        command.current_dir("/").process_group(0).kill_on_drop(true);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        if let Some((uid, gid)) = self.user {
            // The standard library drops root's supplementary groups here.
            command.uid(uid).gid(gid);
        }
        let mut child = command.spawn()?;
        if let Ok(ended) = tokio::time::timeout(self.timeout, child.wait()).await {
            return ended;
        }
        // Kill its children too. After a normal end they may still be delivering.
        if let Some(id) = child.id().and_then(|id| i32::try_from(id).ok()) {
            let _ = killpg(Pid::from_raw(id), Signal::SIGKILL);
        }
        let _ = child.wait().await;
        let slow = format!("killed, because it did not end within {} s", self.timeout.as_secs());
        Err(io::Error::new(io::ErrorKind::TimedOut, slow))
    }

    /// Slurm's one argument: addresses separated by commas.
    fn addresses(&self, to: &[String]) -> String {
        let full = to.iter().map(|to| match to.contains('@') || self.domain.is_empty() {
            true => to.clone(),
            false => format!("{to}@{}", self.domain),
        });
        full.collect::<Vec<String>>().join(",")
    }

    /// Runs the program, and logs a failure.
    async fn send(&self, notification: &Notification) {
        let why = match self.run(notification).await {
            Ok(status) if status.success() => return,
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        };
        let (program, to) = (self.program.display(), self.addresses(&notification.to));
        tracing::warn!(
            "failed to send mail `{}`: {program}: {why}. To see why, run `{program} -s test {to} \
             </dev/null` as the user of `mailer`",
            notification.subject
        );
    }
}

/// Sends queued messages, a few at once, until the queue is closed.
async fn send_all(mailer: Mailer, mut notifications: Receiver<Notification>) {
    let (mailer, permits) = (Arc::new(mailer), Arc::new(Semaphore::new(PROGRAMS_MAX as usize)));
    while let Some(notification) = notifications.recv().await {
        let Ok(permit) = permits.clone().acquire_owned().await else { return };
        let mailer = mailer.clone();
        tokio::spawn(async move {
            mailer.send(&notification).await;
            drop(permit);
        });
    }
    // The last programs.
    let _ = permits.acquire_many(PROGRAMS_MAX).await;
}

#[cfg(test)]
mod tests;
