//! Health findings of a node whose GPUs fail while it runs: the stand-in library reads its file
//! again when that changes. One test only, because the library has one state.

#![allow(clippy::unwrap_used)] // a test fails by panicking

#[path = "../../tests/nvml-standin/find.rs"]
mod standin;

use common::health::{Check, Finding, Response};
use common::unit::Bytes;
use kantd::cgroup::{CgroupParent, Kind};
use kantd::config::HealthSettings;
use kantd::gpu::nvml;
use kantd::health::{Findings, Watched, watch};
use node::HealthPolicy;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::task::JoinHandle;

/// The longest time that the test waits for anything, even on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// A node whose machine can be made to fail.
struct Node {
    dir: TempDir,
    findings: Findings,
    watching: JoinHandle<()>,
}

impl Node {
    fn new(machine: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("machine.toml");
        fs::copy(standin::machine(machine), &file).unwrap();
        // SAFETY: this program has one test, and no thread that reads the environment was started
        // yet.
        unsafe { std::env::set_var(standin::VARIABLE, &file) };
        let library = Some(standin::library());
        let gpus = nvml::discover(library.as_deref()).unwrap().unwrap().gpus;
        let settings = HealthSettings {
            period: Some(Duration::from_millis(20)),
            script: None,
            script_limit: PATIENCE,
            disk_free_min: Bytes(1),
            policy: HealthPolicy { warn: [Check::GpuLink].into(), ..HealthPolicy::default() },
        };
        let spool = dir.path().join("spool");
        fs::create_dir(&spool).unwrap();
        let cgroup = CgroupParent { kind: Kind::None, root: "kant-test".to_owned() };
        let watched = Watched {
            settings,
            gpus,
            nvml_library: library,
            spool,
            cgroup,
            probe_now: Arc::default(),
            symptoms: vec![],
        };
        let (watching, findings) = watch(watched);
        Self { dir, findings, watching: tokio::spawn(watching) }
    }

    fn machine(&self) -> PathBuf {
        self.dir.path().join("machine.toml")
    }

    /// Changes the machine file atomically.
    fn change(&self, change: impl FnOnce(String) -> String) {
        let text = change(fs::read_to_string(self.machine()).unwrap());
        let new = self.dir.path().join("new");
        fs::write(&new, text).unwrap();
        fs::rename(new, self.machine()).unwrap();
    }

    /// Waits until exactly these checks fail; returns the findings.
    async fn until(&mut self, checks: &[Check]) -> Vec<Finding> {
        let as_wanted =
            |found: &[Finding]| found.iter().map(|f| f.check).collect::<Vec<_>>() == checks;
        self.wait(&format!("{checks:?}"), as_wanted).await
    }

    /// Waits until a finding ends with this text.
    async fn until_says(&mut self, end: &str) {
        self.wait(end, |found| found.iter().any(|finding| finding.says.ends_with(end))).await;
    }

    async fn wait(&mut self, what: &str, wanted: impl Fn(&[Finding]) -> bool) -> Vec<Finding> {
        let as_wanted = |found: &Option<Vec<Finding>>| found.as_ref().is_some_and(|f| wanted(f));
        let waited = tokio::time::timeout(PATIENCE, self.findings.wait_for(as_wanted)).await;
        let found = waited.map(|found| found.unwrap().clone()).ok();
        let now = || self.findings.borrow().clone();
        found.unwrap_or_else(|| panic!("not {what} but {:?}", now())).unwrap_or_default()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.watching.abort();
    }
}

/// Adds keys to the GPU at this address.
fn with(text: &str, address: &str, more: &str) -> String {
    let line = format!("pci = \"{address}\"\n");
    assert!(text.contains(&line), "no {line} in {text}");
    text.replacen(&line, &format!("{line}{more}\n"), 1)
}

#[tokio::test]
async fn failing_gpus_are_reported_with_number_uuid_and_remedy() {
    let mut node = Node::new("dgx-1v");
    node.until(&[]).await;

    // A finding that goes when its cause does.
    let whole = fs::read_to_string(node.machine()).unwrap();
    node.change(|text| with(&text, "0000:07:00.0", "down_links = [0]"));
    let found = node.until(&[Check::GpuLink, Check::GpuLink]).await;
    assert!(found.iter().all(|finding| finding.response == Response::Warn), "{found:?}");
    assert!(found[0].says.ends_with("NVLink 0 is down"), "{found:?}");
    node.change(|_| whole);
    node.until(&[]).await;

    // Without the fabric manager no program can start on GPUs behind NVSwitches.
    let whole = fs::read_to_string(node.machine()).unwrap();
    let uuid = [0; 16];
    let fabric = format!("fabric = {{ cluster_uuid = {uuid:?}, clique = 1, state = ");
    node.change(|text| format!("{fabric}\"not-started\" }}\n{text}"));
    let found = node.until(&[Check::GpuLink; 8]).await;
    assert!(found[0].says.ends_with("check nvidia-fabricmanager"), "{found:?}");
    node.change(|_| format!("{fabric}\"completed\" }}\n{whole}"));
    node.until(&[]).await;
    node.change(|_| whole);

    // An XID that a program causes is ignored; the hardware's is the node's, and lasts.
    node.change(|text| text + "\n[[xid]]\ngpu = 1\ncode = 13\n\n[[xid]]\ngpu = 2\ncode = 48\n");
    let found = node.until(&[Check::GpuXid]).await;
    assert_eq!(found[0].response, Response::Drain);
    assert!(found[0].says.starts_with("GPU 2 (GPU-"), "{found:?}");
    assert!(found[0].says.ends_with("XID 48: uncorrectable memory error"), "{found:?}");

    let sick = "ecc = { volatile = { uncorrected = 3 } }\nremapped_rows = { pending = true }";
    node.change(|text| with(&text, "0000:85:00.0", sick));
    let found = node.until(&[Check::GpuXid, Check::GpuEcc, Check::GpuRows]).await;
    assert!(found[1].says.ends_with("uncorrectable memory error (3 times)"), "{found:?}");
    assert!(found[2].says.ends_with("reset the GPU or reboot"), "{found:?}");

    // Another occurrence is another finding, even after an operator has handled the first.
    node.change(|text| text + "\n[[xid]]\ngpu = 2\ncode = 48\n");
    node.until_says("XID 48: uncorrectable memory error (2 times)").await;
    node.change(|text| text.replace("uncorrected = 3", "uncorrected = 4"));
    node.until_says("uncorrectable memory error (4 times)").await;

    let before = fs::read_to_string(node.machine()).unwrap();
    let lasting = [Check::GpuLost, Check::GpuXid, Check::GpuEcc, Check::GpuRows];
    node.change(|text| with(&text, "0000:07:00.0", "lost = true"));
    let found = node.until(&lasting).await;
    assert!(found[0].says.starts_with("GPU 1 (GPU-"), "{found:?}");
    // It may answer again, but an operator must check it all the same.
    node.change(|_| before);

    let spool = node.dir.path().join("spool");
    fs::remove_dir(&spool).unwrap();
    let found = node.until(&[[Check::ReadOnly].as_slice(), &lasting].concat()).await;
    assert_eq!(found[0].response, Response::DrainNow);
    fs::create_dir(&spool).unwrap();
    node.until(&lasting).await;
}
