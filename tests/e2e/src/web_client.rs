//! Clients of a service: requests over plain HTTP, and clients that ask again and again.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// A client that asks for the service again and again, and counts the answers.
#[derive(Debug)]
pub struct WebClient {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    answered: usize,
    /// What went wrong, for each failure.
    failed: Vec<String>,
}

impl WebClient {
    /// Starts a client whose answers are complete with this text, such as the last event of a
    /// stream.
    #[must_use]
    pub fn start(port: u16, path: &'static str, last: &'static str) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut counts = Counts::default();
            while !stopped.load(Ordering::Relaxed) {
                match get(port, path) {
                    Ok(answer) if answer.contains("200 OK") && answer.contains(last) => {
                        counts.answered += 1;
                    }
                    Ok(answer) => counts.failed.push(answer),
                    Err(error) => counts.failed.push(error.to_string()),
                }
            }
            counts
        });
        Self { stop, thread }
    }

    /// The number of answers.
    ///
    /// # Panics
    /// When a request failed.
    #[must_use]
    pub fn stop(self) -> usize {
        self.stop.store(true, Ordering::Relaxed);
        let counts = self.thread.join().unwrap_or_default();
        assert_eq!(counts.failed, Vec::<String>::new(), "after {} answers", counts.answered);
        counts.answered
    }
}

/// The answer to GET of a path, with its head.
///
/// # Errors
/// When nothing listens there, or the connection breaks.
pub fn get(port: u16, path: &str) -> anyhow::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}
