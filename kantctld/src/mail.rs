//! Mail to users through the site's program (`mailer`), called like Slurm's MailProg: the arguments
//! `-s SUBJECT ADDRESS...`, the text on standard input, no shell. `lead` writes the messages.
//! Nothing waits for mail: a message that does not fit the queue, or that the program does not
//! accept in time, is dropped, counted and logged.

mod send;

pub use send::Mailer;

use common::job::Ask;
use lead::Notification;
use send::send_all;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::mpsc::{self, Receiver, Sender};

/// The most queued messages: an array of thousands of tasks may end at once.
const WAITING_MAX: usize = 4096;

/// The number of messages since the start, by outcome.
#[derive(Debug, Default)]
pub struct MailCounts {
    /// Accepted by the program.
    pub sent: AtomicU64,
    /// Not accepted, or not queued.
    pub lost: AtomicU64,
}

/// The queue of outgoing mail; without a mail program it drops everything.
#[derive(Debug, Clone, Default)]
pub struct MailQueue {
    notifications: Option<Sender<Notification>>,
    counts: Arc<MailCounts>,
}

/// The receiving end of the queue, and the counters.
pub type MailReceiver = (Receiver<Notification>, Arc<MailCounts>);

impl MailQueue {
    /// A queue with its receiver.
    #[must_use]
    pub fn open() -> (Self, MailReceiver) {
        let (notifications, receiver) = mpsc::channel(WAITING_MAX);
        let counts = Arc::<MailCounts>::default();
        (Self { notifications: Some(notifications), counts: counts.clone() }, (receiver, counts))
    }

    /// Whether mail is sent at all.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.notifications.is_some()
    }

    /// Queues messages without waiting.
    pub fn enqueue(&self, notifications: Vec<Notification>) {
        let Some(sender) = &self.notifications else { return };
        let lost = notifications
            .into_iter()
            .filter_map(|notification| sender.try_send(notification).err())
            .count();
        if lost > 0 {
            let all = self.counts.lost.fetch_add(lost as u64, Ordering::Relaxed) + lost as u64;
            tracing::warn!(
                "dropped {lost} mail messages, {all} since the start: the queue is full"
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

/// Starts sending if a mail program is configured, within a runtime. Messages still queued when the
/// process ends are lost.
#[must_use]
pub fn open(mailer: Option<Mailer>) -> MailQueue {
    let Some(mailer) = mailer else { return MailQueue::default() };
    tracing::info!("mail to users is sent with {}", mailer.program().display());
    let (queue, receiver) = MailQueue::open();
    tokio::spawn(send_all(mailer, receiver));
    queue
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notification() -> Notification {
        let (to, subject) = (vec!["ada".to_owned()], "s".to_owned());
        Notification { to, subject, body: String::new(), variables: Vec::new() }
    }

    #[test]
    fn messages_beyond_the_queue_are_dropped_and_counted() {
        let (queue, (mut receiver, counts)) = MailQueue::open();
        queue.enqueue(vec![notification(); WAITING_MAX + 3]);
        assert_eq!(counts.lost.load(Ordering::Relaxed), 3);
        assert_eq!(receiver.try_recv(), Ok(notification()));
        queue.enqueue(vec![notification()]);
        assert_eq!(counts.lost.load(Ordering::Relaxed), 3, "the queue has space again");
        MailQueue::default().enqueue(vec![notification()]);
    }

    #[test]
    fn a_job_that_asks_for_mail_where_none_is_sent_gets_a_warning() {
        let asks = |on: &str| Ask {
            mail: Some(common::job::Mail { on: on.parse().unwrap(), to: None }),
            ..Ask::default()
        };
        let nowhere = MailQueue::default();
        assert!(nowhere.warning(&asks("END")).unwrap().contains("`mailer`"));
        assert_eq!(
            (nowhere.warning(&asks("NONE")), nowhere.warning(&Ask::default())),
            (None, None)
        );
        assert_eq!(MailQueue::open().0.warning(&asks("END")), None);
    }
}
