//! Sends letters to users through the site's program (`mailer`): as Slurm's MailProg is called,
//! `-s SUBJECT ADDRESS...`, the letter on its standard input; no shell. Never writes one: `lead`
//! does, and never waits for one: what there is no room for, and what a program does not take in
//! its time, is dropped, counted, and told in the log.

mod send;

pub use send::Mailer;

use common::job::Ask;
use lead::Letter;
use send::deliver;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::mpsc::{self, Receiver, Sender};

/// So many letters wait to be sent: an array of thousands may end at once.
const WAITING_MAX: usize = 4096;

/// What became of letters since the start.
#[derive(Debug, Default)]
pub struct Tally {
    /// The program took them.
    pub sent: AtomicU64,
    /// It did not, or there was no room for them.
    pub lost: AtomicU64,
}

/// Where letters are put; one that leads nowhere where no program is configured.
#[derive(Debug, Clone, Default)]
pub struct Postbox {
    letters: Option<Sender<Letter>>,
    tally: Arc<Tally>,
}

/// Letters to be sent, and the count of them.
pub type Mailbag = (Receiver<Letter>, Arc<Tally>);

impl Postbox {
    /// One that somebody empties.
    #[must_use]
    pub fn open() -> (Self, Mailbag) {
        let (letters, bag) = mpsc::channel(WAITING_MAX);
        let tally = Arc::<Tally>::default();
        (Self { letters: Some(letters), tally: tally.clone() }, (bag, tally))
    }

    /// Does it lead anywhere?
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.letters.is_some()
    }

    /// Puts letters in. Never waits.
    pub fn put(&self, letters: Vec<Letter>) {
        let Some(box_) = &self.letters else { return };
        let lost = letters.into_iter().filter_map(|letter| box_.try_send(letter).err()).count();
        if lost > 0 {
            let all = self.tally.lost.fetch_add(lost as u64, Ordering::Relaxed) + lost as u64;
            tracing::warn!("{lost} letters were dropped, {all} since the start: too many wait");
        }
    }

    /// What whoever asks for letters should know, in a sentence.
    #[must_use]
    pub fn note(&self, ask: &Ask) -> Option<String> {
        let asks = ask.mail.as_ref().is_some_and(|mail| !mail.on.is_none());
        (asks && !self.is_open()).then(|| {
            "--mail-type changes nothing: kant sends no mail here, since its operators named no \
             `mailer` in kantctld.toml"
                .to_owned()
        })
    }
}

/// Where letters are put; and, with a program, somebody who empties it until this process ends:
/// what is not sent by then is not sent. Only within a runtime.
#[must_use]
pub fn open(mailer: Option<Mailer>) -> Postbox {
    let Some(mailer) = mailer else { return Postbox::default() };
    tracing::info!("letters to users go through {}", mailer.program().display());
    let (postbox, bag) = Postbox::open();
    tokio::spawn(deliver(mailer, bag));
    postbox
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letter() -> Letter {
        let (to, subject) = (vec!["ada".to_owned()], "s".to_owned());
        Letter { to, subject, body: String::new(), variables: Vec::new() }
    }

    #[test]
    fn what_there_is_no_room_for_is_dropped_and_counted() {
        let (postbox, (mut bag, tally)) = Postbox::open();
        postbox.put(vec![letter(); WAITING_MAX + 3]);
        assert_eq!(tally.lost.load(Ordering::Relaxed), 3);
        assert_eq!(bag.try_recv(), Ok(letter()));
        postbox.put(vec![letter()]);
        assert_eq!(tally.lost.load(Ordering::Relaxed), 3, "there is room again");
        Postbox::default().put(vec![letter()]);
    }

    #[test]
    fn who_asks_for_letters_that_nobody_sends_is_told() {
        let asks = |on: &str| Ask {
            mail: Some(common::job::Mail { on: on.parse().unwrap(), to: None }),
            ..Ask::default()
        };
        let nowhere = Postbox::default();
        assert!(nowhere.note(&asks("END")).unwrap().contains("`mailer`"));
        assert_eq!((nowhere.note(&asks("NONE")), nowhere.note(&Ask::default())), (None, None));
        assert_eq!(Postbox::open().0.note(&asks("END")), None);
    }
}
