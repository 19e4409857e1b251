//! A spool that takes no more writes: a step that has ended is told all the same, so that its job
//! does not hang, and is written down as soon as that can be.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod stand;

use common::job::EndCause;
use stand::{Stand, until};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Does nobody write to an immutable file here, not even through one that is open? In memory they
/// do; other file systems have no such thing.
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
async fn an_end_that_cannot_be_written_down_is_told_and_is_written_later() {
    needs_root!();
    let mut stand = Stand::new().await;
    if !has_immutable_files(&stand.spool()) {
        println!("skipped: no chattr, or a file system whose immutable files are written to");
        return;
    }
    let id = stand.start(stand.order("while [ ! -e done ]; do sleep 0.02; done; exit 3")).await;
    let journal = stand.step_dir(id).join("journal");
    assert!(set_immutable(&journal, "+i"));
    fs::write(stand.work_dir().join("done"), "").unwrap();
    let end = stand.end(id).await;
    let written = || fs::read_to_string(&journal).unwrap().contains("ended");
    let was_written = written();
    // kantd is started again meanwhile: it hears the same.
    stand.close();
    stand.open().await;
    let again = stand.end(id).await;
    assert!(set_immutable(&journal, "-i"));
    assert!(!was_written, "the file took it: the test shows nothing");
    assert_eq!((end.cause, end.exit.code), (EndCause::Exited, 3), "{end:?}");
    assert_eq!(again, end);
    until("it is written down", written).await;
    stand.assert_no_group(id);
}
