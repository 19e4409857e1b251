//! Progress of a replay on a terminal, and its CPU time. The bar is on standard error and hidden if
//! that is no terminal.

use indicatif::{ProgressBar, ProgressStyle};
use nix::time::{ClockId, clock_gettime};
use sim::replay::{Progress, Watcher};

/// A progress bar.
pub(super) struct ReplayBar {
    bar: ProgressBar,
    shown: usize,
}

impl ReplayBar {
    pub fn new(name: &str, jobs: usize) -> Self {
        let bar = ProgressBar::new(jobs as u64).with_message(name.to_owned());
        let template = "{msg} [{bar:40}] {pos} of {len} jobs, {elapsed}, {eta} to go";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        Self { bar, shown: 0 }
    }

    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

impl Watcher for ReplayBar {
    /// Of this thread; 0 if it cannot be measured, and then no rate is reported.
    fn cpu_seconds(&mut self) -> f64 {
        let Ok(time) = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID) else { return 0.0 };
        time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9
    }

    fn progress(&mut self, progress: Progress) {
        if progress.over >= self.shown + 100 {
            self.shown = progress.over;
            self.bar.set_position(progress.over as u64);
        }
    }
}
