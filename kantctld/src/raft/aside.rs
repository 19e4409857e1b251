//! The thread that writes a snapshot while the log's own goes on. Never more than one.

use super::Driven;
use replica::{LogError, Saved, Saving};
use std::thread::JoinHandle;
use wal::Disk;

/// It, if it is there.
#[derive(Default)]
pub(super) struct Aside(Option<JoinHandle<Saved>>);

impl Aside {
    /// Begins to write.
    ///
    /// # Errors
    /// [`LogError`] when the system has no thread left.
    pub fn begin<M: Driven, D: Disk + 'static>(
        &mut self,
        saving: Saving<M, D>,
    ) -> Result<(), LogError> {
        let spawn = std::thread::Builder::new().name("snapshot".to_owned());
        self.0 = Some(spawn.spawn(move || saving.run())?);
        Ok(())
    }

    /// What came of it, once it is done.
    pub fn take(&mut self) -> Option<Saved> {
        let written = self.0.take_if(|thread| thread.is_finished())?;
        // It panicked: a bug, that ends this thread too.
        Some(written.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    }
}

impl Drop for Aside {
    /// Whoever opens the log next is alone with its files.
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            // Nobody wants it any more, nor its panic.
            let _ = thread.join();
        }
    }
}
