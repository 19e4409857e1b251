//! The snapshot of a controller's state: its size, and the time to write it durably and to read it
//! back. It is measured on a copy from a backup, not in the controller's own directory.

use crate::figures::Figures;
use anyhow::Context as _;
use e2e::Controllers;
use std::time::Instant;
use wal::{Index, Options, RealDisk, Snapshot, Term, Wal};

pub fn measure(
    controllers: &Controllers,
    jobs: usize,
    rounds: usize,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    let (leader, _) = controllers.leader()?;
    let path = controllers.dir().join("backup");
    let file = path.to_str().context("the directory's name")?;
    controllers.kantctl(&leader)?.ok(&["admin", "backup", file])?;
    let (_, payload) = kantctld::backup::from_bytes(&std::fs::read(&path)?)?;
    let state = state::persist::from_bytes(&payload)?;
    let mib = u32::try_from(payload.len() >> 10).map(f64::from)? / 1024.0;
    figures.add(&format!("snapshot, {jobs} jobs wait: size"), "MiB", mib);
    for _ in 0..rounds {
        // In the directory of the controllers, so that it is on the same disk.
        let dir = tempfile::tempdir_in(controllers.dir())?;
        let open = || anyhow::Ok(Wal::open(RealDisk::open(dir.path())?, Options::default())?);
        let (mut log, _) = open()?;
        let begin = Instant::now();
        let frozen = state.clone();
        figures.time(&format!("snapshot, {jobs} jobs wait: freeze"), begin.elapsed());
        let begin = Instant::now();
        let payload = state::persist::to_bytes(&frozen)?;
        figures.time(&format!("snapshot, {jobs} jobs wait: encode"), begin.elapsed());
        let begin = Instant::now();
        log.install_snapshot(&Snapshot { index: Index(9), term: Term(1), payload })?;
        figures.time(&format!("snapshot, {jobs} jobs wait: write and sync"), begin.elapsed());
        log.close()?;
        let begin = Instant::now();
        let (_log, recovered) = open()?;
        let found = recovered.snapshot.context("no snapshot was found")?;
        figures.time(&format!("snapshot, {jobs} jobs wait: read and check"), begin.elapsed());
        let begin = Instant::now();
        let read = state::persist::from_bytes(&found.payload)?;
        figures.time(&format!("snapshot, {jobs} jobs wait: decode"), begin.elapsed());
        drop(read);
    }
    Ok(())
}
