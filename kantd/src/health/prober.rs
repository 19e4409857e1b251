//! One kind of look on a thread of its own, so that a driver or a disk that never answers holds up
//! nobody. A look that hangs is a sign itself, until it comes back. Never looks twice at once.

use node::Sign;
use std::sync::mpsc;
use std::time::Duration;
use tokio::sync::mpsc as answers;
use tokio::time::timeout;

/// The thread, from outside.
pub struct Prober {
    ask: mpsc::Sender<()>,
    answers: answers::UnboundedReceiver<Vec<Sign>>,
    /// Asked, and not answered yet.
    waits: bool,
    hangs: Sign,
}

impl Prober {
    /// Starts one; it ends with this. `hangs` is what an answer that does not come means.
    pub fn start(name: &str, hangs: Sign, attend: impl FnOnce(Asked) + Send + 'static) -> Self {
        let (ask, asked) = mpsc::channel::<()>();
        let (answer, answers) = answers::unbounded_channel();
        let thread = std::thread::Builder::new().name(format!("health-{name}"));
        let started = thread.spawn(move || attend(Asked { asked, answer }));
        if let Err(error) = started {
            // Without a thread nobody answers, and that is told.
            tracing::error!(%error, "failed to start a thread for health checks of {name}");
        }
        Self { ask, answers, waits: false, hangs }
    }

    /// One look, or the sign that there is no answer.
    pub async fn look(&mut self, limit: Duration) -> Vec<Sign> {
        // A thread that is gone does not answer; that is the sign.
        self.waits = self.waits || self.ask.send(()).is_ok();
        match timeout(limit, self.answers.recv()).await {
            Ok(Some(signs)) => {
                self.waits = false;
                signs
            }
            Ok(None) | Err(_) => vec![self.hangs.clone()],
        }
    }
}

pub struct Asked {
    asked: mpsc::Receiver<()>,
    answer: answers::UnboundedSender<Vec<Sign>>,
}

impl Asked {
    /// Waits to be asked; false: nobody will ask again.
    pub fn next(&self) -> bool {
        self.asked.recv().is_ok()
    }

    pub fn answer(&self, signs: Vec<Sign>) {
        // Who asked may be gone; then nobody asks again.
        let _ = self.answer.send(signs);
    }

    /// Looks like this, whenever asked.
    pub fn always(&self, mut look: impl FnMut() -> Vec<Sign>) {
        while self.next() {
            self.answer(look());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::health::Check;

    #[tokio::test]
    async fn a_look_that_hangs_is_a_sign_until_it_answers() {
        let (release, held) = mpsc::channel::<()>();
        let hangs = Sign::new(Check::GpuDriver, "hangs");
        let mut prober = Prober::start("test", hangs.clone(), move |asked| {
            asked.always(|| {
                held.recv().unwrap();
                Vec::new()
            });
        });
        let brief = Duration::from_millis(10);
        assert_eq!(prober.look(brief).await, std::slice::from_ref(&hangs));
        assert_eq!(prober.look(brief).await, [hangs]);
        release.send(()).unwrap();
        assert_eq!(prober.look(Duration::from_secs(30)).await, []);
    }
}
