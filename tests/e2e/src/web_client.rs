//! Clients of a service: requests over plain HTTP, and clients that ask again and again.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// The longest time that a client waits for more of an answer.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// A client ends after this number of failures.
const FAILURES_MAX: usize = 100;

/// A client that asks for the service again and again, and counts the answers.
#[derive(Debug)]
pub struct WebClient {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<WebAnswers>>,
}

/// Its thread ends after the request that it makes.
impl Drop for WebClient {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// What a client got.
#[derive(Debug, Default)]
pub struct WebAnswers {
    pub answered: usize,
    /// Those among them for which a request was made a second time.
    pub repeated: usize,
    /// What went wrong, for each failure.
    pub failed: Vec<String>,
}

impl WebAnswers {
    fn note(&mut self, answer: Result<(), String>) {
        match answer {
            Ok(()) => self.answered += 1,
            Err(why) => self.failed.push(why),
        }
    }
}

impl WebClient {
    /// Starts a client whose answers are complete with this text, such as the last event of a
    /// stream.
    #[must_use]
    pub fn start(port: u16, path: &'static str, last: &'static str) -> Self {
        Self::ask_with(move |answers| answers.note(ask(port, path, last)))
    }

    /// Starts a client that makes a failed request once more, as clients do whose requests may be
    /// repeated: an answer that has begun ends with its replica.
    #[must_use]
    pub fn start_repeating(port: u16, path: &'static str, last: &'static str) -> Self {
        Self::ask_with(move |answers| {
            let mut answer = ask(port, path, last);
            if let Err(first) = answer {
                answer = ask(port, path, last).map_err(|again| format!("{first}; again: {again}"));
                answers.repeated += usize::from(answer.is_ok());
            }
            answers.note(answer);
        })
    }

    fn ask_with(once: impl Fn(&mut WebAnswers) + Send + 'static) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut answers = WebAnswers::default();
            while !stopped.load(Ordering::Relaxed) && answers.failed.len() < FAILURES_MAX {
                once(&mut answers);
            }
            answers
        });
        Self { stop, thread: Some(thread) }
    }

    /// Ends the client. What it got.
    ///
    /// # Panics
    /// When its thread did.
    #[must_use]
    pub fn answers(mut self) -> WebAnswers {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().and_then(|thread| thread.join().ok()).expect("a client panicked")
    }

    /// Ends the client. The number of answers.
    ///
    /// # Panics
    /// When a request failed.
    #[must_use]
    pub fn stop(self) -> usize {
        let answers = self.answers();
        assert_eq!(answers.failed, Vec::<String>::new(), "after {} answers", answers.answered);
        answers.answered
    }
}

/// One request, whose answer must be complete. The error is what was answered, or why nothing was.
fn ask(port: u16, path: &str, last: &str) -> Result<(), String> {
    match get(port, path) {
        Ok(answer) if answer.contains("200 OK") && answer.contains(last) => Ok(()),
        Ok(answer) => Err(answer),
        Err(error) => Err(error.to_string()),
    }
}

/// The answer to GET of a path, with its head.
///
/// # Errors
/// When nothing listens there, or the connection breaks.
pub fn get(port: u16, path: &str) -> anyhow::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(SILENCE_MAX))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}
