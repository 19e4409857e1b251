//! The input of a launcher: a pipe, or a file to which a daemon appends. The current end of such a
//! file is not the end of input.

use super::Event;
use nix::fcntl::{FallocateFlags, fallocate};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

/// The polling interval if this user has no inotify watches left.
const LOOK: Duration = Duration::from_millis(20);
/// Processed data is released to the file system in pieces of this size.
pub const GIVE_BACK_BYTES: i64 = 1 << 20;

/// Starts reading, in a thread of its own.
///
/// # Errors
/// If there is no standard input.
pub fn start_reading(events: SyncSender<Event>) -> io::Result<()> {
    let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let watch = if input.metadata()?.is_file() { Some(Growth::of_stdin()) } else { None };
    std::thread::spawn(move || read(input, watch.as_ref(), &events));
    Ok(())
}

fn read(mut input: File, watch: Option<&Growth>, events: &SyncSender<Event>) {
    let mut buffer = vec![0; 64 << 10];
    let (mut taken, mut given_back) = (0_i64, 0_i64);
    loop {
        let event = match (input.read(&mut buffer), watch) {
            (Ok(0), Some(watch)) => {
                watch.wait();
                continue;
            }
            (Ok(count @ 1..), _) => {
                taken += i64::try_from(count).unwrap_or_default();
                if watch.is_some() && taken - given_back >= GIVE_BACK_BYTES {
                    release_file_range(&input, given_back, taken - given_back);
                    given_back = taken;
                }
                Event::Input(buffer[..count].to_vec())
            }
            (Err(error), _) if error.kind() == io::ErrorKind::Interrupted => continue,
            (Ok(_) | Err(_), _) => Event::InputEnd,
        };
        let is_over = matches!(event, Event::InputEnd);
        if events.send(event).is_err() || is_over {
            return;
        }
    }
}

/// Releases a range of a file to the file system. It has no effect on pipes, and on file systems
/// without holes, which keep the data until the program ends.
pub fn release_file_range(file: &File, from: i64, count: i64) {
    let flags = FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE;
    let _ = fallocate(file, flags, from, count);
}

/// Notification of the growth of a file; `None` stands for polling.
struct Growth(Option<Inotify>);

impl Growth {
    fn of_stdin() -> Self {
        let watched = Inotify::init(InitFlags::IN_CLOEXEC).and_then(|watch| {
            watch.add_watch("/proc/self/fd/0", AddWatchFlags::IN_MODIFY)?;
            Ok(watch)
        });
        Self(watched.ok())
    }

    /// Returns soon after the file has grown, possibly earlier.
    fn wait(&self) {
        let event = self.0.as_ref().map(Inotify::read_events);
        if !matches!(event, Some(Ok(_))) {
            std::thread::sleep(LOOK);
        }
    }
}
