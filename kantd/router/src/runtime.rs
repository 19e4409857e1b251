//! Threads with an asynchronous runtime of their own.

use std::io;
use std::sync::mpsc;
use std::thread::JoinHandle;
use tokio::runtime::Builder;

/// Starts a thread that runs a future to its end; what it has spawned ends with it. The runtime
/// never leaves its thread, as it must not be dropped inside another one.
///
/// # Errors
/// If the system permits no thread or no runtime.
pub fn spawn(
    name: &str,
    run: impl Future<Output = ()> + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    let (report, started) = mpsc::channel();
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
        match Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => {
                drop(report.send(Ok(())));
                runtime.block_on(run);
            }
            Err(error) => drop(report.send(Err(error))),
        }
    })?;
    match started.recv() {
        Ok(Ok(())) => Ok(thread),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(io::Error::other("the thread has panicked")),
    }
}
