//! Work on a copy of the state while the log continues: writing a snapshot, computing a checksum.
//! At most one of each kind.

use replica::LogError;
use std::thread::JoinHandle;

/// A thread whose result is taken once it has finished.
pub(super) struct Background<T>(Option<JoinHandle<T>>);

impl<T> Default for Background<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T: Send + 'static> Background<T> {
    /// Starts to work.
    ///
    /// # Errors
    /// [`LogError`] if the thread cannot be started.
    pub fn begin(
        &mut self,
        name: &str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<(), LogError> {
        let spawn = std::thread::Builder::new().name(name.to_owned());
        self.0 = Some(spawn.spawn(work)?);
        Ok(())
    }

    /// The result, once the thread has finished.
    pub fn take(&mut self) -> Option<T> {
        let done = self.0.take_if(|thread| thread.is_finished())?;
        // A panic is a defect and ends this thread too.
        Some(done.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    }

    /// Waits for the thread. Its result and a panic no longer matter.
    pub fn join(&mut self) {
        if let Some(thread) = self.0.take() {
            let _ = thread.join();
        }
    }
}
