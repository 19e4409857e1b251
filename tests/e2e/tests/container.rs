//! `kantctl submit --container` on real daemons with a real runtime: the script runs in the image,
//! its output and exit code are handled as usual, and it can be cancelled.

use common::job::{Outcome, Phase};
use e2e::{Cluster, ClusterOptions, Person, wait_for};
use std::fs;
use std::path::Path;
use std::process::Command;

const RUNTIMES: [&str; 4] =
    ["/usr/bin/crun", "/usr/local/bin/crun", "/usr/bin/runc", "/usr/sbin/runc"];

pub(crate) fn has_runtime() -> bool {
    RUNTIMES.iter().any(|path| Path::new(path).exists())
}

/// A root file system with a shell and a marker file.
pub(crate) fn make_image(root: &Path) -> anyhow::Result<()> {
    for dir in ["bin", "etc"] {
        fs::create_dir_all(root.join(dir))?;
    }
    fs::write(root.join("etc/word"), "of the image\n")?;
    for name in ["sh", "cat", "sleep"] {
        let program = Path::new("/bin").join(name);
        fs::copy(&program, root.join("bin").join(name))?;
        let linked = String::from_utf8(Command::new("ldd").arg(&program).output()?.stdout)?;
        for library in linked.split_whitespace().filter(|word| word.starts_with('/')) {
            let to = root.join(library.trim_start_matches('/'));
            fs::create_dir_all(to.parent().unwrap_or(root))?;
            fs::copy(library, to)?;
        }
    }
    Ok(())
}

#[test]
fn a_script_runs_in_its_container() -> anyhow::Result<()> {
    if Person::other().is_none() || !has_runtime() {
        eprintln!("skipped: not root, or neither crun nor runc (apt-get install crun)");
        return Ok(());
    }
    let cluster = Cluster::start(ClusterOptions::gpu_nodes(&["g1"], "pcie-2"))?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let image = cluster.dir().join("image");
    make_image(&image)?;
    let image = image.display().to_string();
    let flags = ["--container", &image, "--gpus=1", "--output=%j.out"];
    let script = "#!/bin/sh\ncat /etc/word\necho $CUDA_VISIBLE_DEVICES\nexit 4\n";
    let id = kantctl.submit(&flags, script)?;
    let job = kantctl.finished(&id)?;
    let out = kantctl.read(&format!("{id}.out"))?;
    assert_eq!(job.outcome, Some(Outcome::Failed), "{:?} {out}", job.message);
    assert_eq!(job.exit.map(|exit| exit.code), Some(4), "{out}");
    assert!(out.starts_with("of the image\nGPU-"), "{out}");
    assert!(kantctl.ok(&["logs", &id])?.contains("of the image"), "logs");
    assert!(kantctl.ok(&["show", &id])?.contains(&image), "show");

    let lasting =
        "#!/bin/sh\ntrap 'echo told; exit 0' TERM\necho up\nwhile :; do sleep 0.05; done\n";
    let id = kantctl.submit(&flags, lasting)?;
    let out = kantctl.dir().join(format!("{id}.out"));
    let says = |word: &str| fs::read_to_string(&out).is_ok_and(|text| text.contains(word));
    wait_for("its word", || Ok(says("up\n").then_some(())))?;
    kantctl.ok(&["cancel", &id])?;
    let job = kantctl.finished(&id)?;
    assert_eq!((job.phase, job.outcome), (Phase::Done, Some(Outcome::Cancelled)));
    assert!(says("told\n"), "the script got no SIGTERM");

    let nowhere = kantctl.submit(&["--container=/nonexistent/image"], "#!/bin/sh\n")?;
    let job = kantctl.finished(&nowhere)?;
    assert_eq!(job.outcome, Some(Outcome::LaunchFailed));
    assert!(job.message.is_some_and(|why| why.contains("/nonexistent/image")));
    Ok(())
}
