//! A spool that accepts no more writes: the end of a step is reported all the same, so that its job
//! does not hang, and is recorded as soon as possible.

use crate::harness::{StepHarness, assert_exited, until};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Whether immutable files work here, even for files that are open. In memory they do not; other
/// file systems may lack them.
fn has_immutable_files(dir: &Path) -> bool {
    let probe = dir.join("probe");
    let mut open = File::create(&probe).unwrap();
    let holds = set_immutable(&probe, "+i") && open.write_all(b"more").is_err();
    set_immutable(&probe, "-i");
    fs::remove_file(probe).unwrap();
    holds
}

fn set_immutable(file: &Path, flag: &str) -> bool {
    let status = Command::new("chattr").arg(flag).arg(file).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

#[tokio::test]
async fn an_end_that_cannot_be_recorded_is_reported_and_recorded_later() {
    let Some(mut harness) = StepHarness::new().await else { return };
    if !has_immutable_files(&harness.spool()) {
        println!("skipped: no chattr, or a file system without immutable files");
        return;
    }
    let id = harness.start(harness.order("while [ ! -e done ]; do sleep 0.02; done; exit 3")).await;
    let journal = harness.step_dir(id).join("journal");
    assert!(set_immutable(&journal, "+i"));
    fs::write(harness.work_dir().join("done"), "").unwrap();
    let end = harness.end(id).await;
    let written = || fs::read_to_string(&journal).unwrap().contains("ended");
    let was_written = written();
    // A kantd that starts meanwhile gets the same report.
    harness.restart().await;
    let again = harness.end(id).await;
    assert!(set_immutable(&journal, "-i"));
    assert!(!was_written, "the file was written: the test shows nothing");
    assert_exited(&end, 3);
    assert_eq!(again, end);
    until("the end is recorded", written).await;
    harness.assert_no_group(id);
}
