//! A thread for one kind of health probe, so that a driver or disk that hangs delays nothing else.
//! A probe that hangs is a symptom itself, until it answers. One probe runs at a time.

use node::Symptom;
use std::sync::mpsc;
use std::time::Duration;
use tokio::sync::mpsc as answers;
use tokio::time::timeout;

/// The handle of the thread.
pub struct ProbeThread {
    ask: mpsc::Sender<()>,
    answers: answers::UnboundedReceiver<Vec<Symptom>>,
    /// A request is not answered yet.
    waits: bool,
    hangs: Symptom,
}

impl ProbeThread {
    /// Starts a thread, which ends with this. `hangs` is the symptom of a missing answer.
    pub fn start(
        name: &str,
        hangs: Symptom,
        serve: impl FnOnce(ProbeRequests) + Send + 'static,
    ) -> Self {
        let (ask, requests) = mpsc::channel::<()>();
        let (answer, answers) = answers::unbounded_channel();
        let thread = std::thread::Builder::new().name(format!("health-{name}"));
        let started = thread.spawn(move || serve(ProbeRequests { requests, answer }));
        if let Err(error) = started {
            // Without a thread there is no answer, which is then the symptom.
            tracing::error!(%error, "failed to start a thread for health checks of {name}");
        }
        Self { ask, answers, waits: false, hangs }
    }

    /// The symptoms of one probe, or the symptom of a missing answer.
    pub async fn probe(&mut self, limit: Duration) -> Vec<Symptom> {
        // A thread that is gone does not answer.
        self.waits = self.waits || self.ask.send(()).is_ok();
        match timeout(limit, self.answers.recv()).await {
            Ok(Some(symptoms)) => {
                self.waits = false;
                symptoms
            }
            Ok(None) | Err(_) => vec![self.hangs.clone()],
        }
    }
}

pub struct ProbeRequests {
    requests: mpsc::Receiver<()>,
    answer: answers::UnboundedSender<Vec<Symptom>>,
}

impl ProbeRequests {
    /// Waits for a request; false if no more can come.
    pub fn wait_for_request(&self) -> bool {
        self.requests.recv().is_ok()
    }

    pub fn answer(&self, symptoms: Vec<Symptom>) {
        // The receiver may be gone; then no more requests come.
        let _ = self.answer.send(symptoms);
    }

    /// Answers every request with the result of `probe`.
    pub fn answer_all_with(&self, mut probe: impl FnMut() -> Vec<Symptom>) {
        while self.wait_for_request() {
            self.answer(probe());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::health::Check;

    #[tokio::test]
    async fn a_hanging_probe_is_a_symptom_until_it_answers() {
        let (release, held) = mpsc::channel::<()>();
        let hangs = Symptom::new(Check::GpuDriver, "hangs");
        let mut probe_thread = ProbeThread::start("test", hangs.clone(), move |requests| {
            requests.answer_all_with(|| {
                held.recv().unwrap();
                Vec::new()
            });
        });
        let brief = Duration::from_millis(10);
        assert_eq!(probe_thread.probe(brief).await, std::slice::from_ref(&hangs));
        assert_eq!(probe_thread.probe(brief).await, [hangs]);
        release.send(()).unwrap();
        assert_eq!(probe_thread.probe(Duration::from_secs(30)).await, []);
    }
}
