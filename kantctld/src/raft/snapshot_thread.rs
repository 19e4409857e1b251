//! The thread that writes a snapshot while the log continues; at most one.

use super::ThreadMachine;
use replica::{LogError, SnapshotOutcome, SnapshotTask};
use std::thread::JoinHandle;
use wal::Disk;

#[derive(Default)]
pub(super) struct SnapshotThread(Option<JoinHandle<SnapshotOutcome>>);

impl SnapshotThread {
    /// Starts to write.
    ///
    /// # Errors
    /// [`LogError`] if the thread cannot be started.
    pub fn begin<M: ThreadMachine, D: Disk + 'static>(
        &mut self,
        saving: SnapshotTask<M, D>,
    ) -> Result<(), LogError> {
        let spawn = std::thread::Builder::new().name("snapshot".to_owned());
        self.0 = Some(spawn.spawn(move || saving.run())?);
        Ok(())
    }

    /// The result, once the thread has finished.
    pub fn take(&mut self) -> Option<SnapshotOutcome> {
        let written = self.0.take_if(|thread| thread.is_finished())?;
        // A panic is a defect and ends this thread too.
        Some(written.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    }
}

impl Drop for SnapshotThread {
    /// Waits for the thread: the next opener of the log must be alone with its files.
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            // The result and a panic no longer matter.
            let _ = thread.join();
        }
    }
}
