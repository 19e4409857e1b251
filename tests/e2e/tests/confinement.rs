//! A job sees exactly its allocation, and leaves nothing behind. Needs root and cgroups.

use common::job::Outcome;
use e2e::{Cluster, ClusterOptions, Kantctl, Person};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Why the test cannot run on this host, if it cannot.
fn cannot() -> Option<&'static str> {
    if Person::other().is_none() {
        return Some("not root");
    }
    let writable = ["/sys/fs/cgroup/cpuset", "/sys/fs/cgroup/cgroup.controllers"];
    let usable = writable.iter().any(|path| Path::new(path).exists());
    (!usable).then_some("no cgroups here")
}

/// The cgroups of a node's jobs that still exist.
fn leftover_groups(root: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![PathBuf::from("/sys/fs/cgroup")];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            if dir.ends_with(root) {
                found.push(entry.path());
            }
            open.push(entry.path());
        }
    }
    found
}

/// The processes of a user.
fn processes_of(uid: u32) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let status = std::fs::read_to_string(entry.path().join("status")).unwrap_or_default();
        let line = format!("Uid:\t{uid}\t");
        if status.contains(&line) && !status.contains("State:\tZ") {
            found.push(status.lines().next().unwrap_or_default().to_owned());
        }
    }
    found
}

fn assert_nothing_left(cluster: &Cluster, node: &str) -> anyhow::Result<()> {
    assert_eq!(leftover_groups(&cluster.cgroup_root(node)), Vec::<PathBuf>::new());
    e2e::wait_for("kantctl's own end", || Ok(processes_of(CAGED.uid).is_empty().then_some(())))
}

/// A user of no other test, so that the processes can be counted.
const CAGED: Person = Person { uid: 23_017 };

fn output(kantctl: &Kantctl, flags: &[&str], script: &str) -> anyhow::Result<String> {
    let id = kantctl.submit(&[&["--output=%j.out"], flags].concat(), script)?;
    let job = kantctl.finished(&id)?;
    let text = kantctl.read(&format!("{id}.out"))?;
    assert_eq!(job.outcome, Some(Outcome::Completed), "{:?}\n{text}", job.message);
    Ok(text)
}

#[test]
fn a_job_sees_exactly_its_share_and_leaves_nothing_behind() -> anyhow::Result<()> {
    if let Some(why) = cannot() {
        eprintln!("skipped: {why}");
        return Ok(());
    }
    let cluster = Cluster::start(ClusterOptions::gpu_nodes(&["g1"], "pcie-2"))?;
    let kantctl = cluster.kantctl(CAGED)?;
    sees_its_cpus_and_memory(&kantctl)?;
    opens_only_its_gpu(&cluster, &kantctl)?;
    dies_of_too_much_memory(&kantctl)?;
    dies_of_too_much_time(&kantctl)?;
    leaves_no_daemon(&kantctl)?;
    assert_nothing_left(&cluster, "g1")
}

fn sees_its_cpus_and_memory(kantctl: &Kantctl) -> anyhow::Result<()> {
    let script = "#!/bin/sh\nnproc\ngrep Cpus_allowed_list /proc/self/status\n\
        cat /sys/fs/cgroup/memory$(grep :memory: /proc/self/cgroup | cut -d: -f3)\
        /memory.limit_in_bytes 2>/dev/null \
        || cat /sys/fs/cgroup$(grep ^0:: /proc/self/cgroup | cut -d: -f3)/memory.max\n";
    let text = output(kantctl, &["-c", "1", "--mem=96M"], script)?;
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "1", "nproc: {text}");
    let list = lines[1].split_whitespace().last().unwrap_or_default();
    assert!(list.parse::<u32>().is_ok(), "one CPU alone: {list}");
    assert_eq!(lines[2], (96 << 20).to_string(), "memory limit");
    Ok(())
}

/// The test makes its own device nodes with NVIDIA's major number 195. Without a driver, a
/// permitted open fails with ENXIO (6) and a forbidden one with EPERM (1).
fn opens_only_its_gpu(cluster: &Cluster, kantctl: &Kantctl) -> anyhow::Result<()> {
    let nodes: common::wire::api::NodeList = kantctl.nodes()?;
    let gpus = nodes.nodes[0].inventory.gpus.clone();
    assert_eq!(gpus.len(), 2, "the stand-in's machine");
    for gpu in &gpus {
        let path = cluster.dir().join(format!("gpu-{}", gpu.uuid));
        let path = path.display().to_string();
        let minor = gpu.minor.to_string();
        let made = Command::new("mknod").args(["-m", "666", &path, "c", "195", &minor]).status()?;
        assert!(made.success());
    }
    let script = format!(
        "#!/usr/bin/env python3\nimport os, glob\nprint(os.environ['CUDA_VISIBLE_DEVICES'])\n\
         for path in sorted(glob.glob('{}/gpu-*')):\n    try:\n        os.open(path, os.O_RDWR)\n\
         \x20   except OSError as e:\n        print(path.split('/gpu-')[1], e.errno)\n",
        cluster.dir().display()
    );
    let text = output(kantctl, &["--gpus=1"], &script)?;
    let mut lines = text.lines();
    let visible = lines.next().unwrap_or_default().to_owned();
    assert!(gpus.iter().any(|gpu| gpu.uuid == visible), "one GPU, by uuid: {visible}");
    for line in lines {
        let (uuid, errno) = line.split_once(' ').unwrap_or_default();
        let expected = if uuid == visible { "6" } else { "1" };
        assert_eq!(errno, expected, "open of {uuid}, given {visible}:\n{text}");
    }
    assert_eq!(text.lines().count(), 3, "both were opened:\n{text}");
    let text = output(kantctl, &[], &script)?;
    assert_eq!(text.lines().filter(|line| line.ends_with(" 1")).count(), 2, "none given:\n{text}");
    Ok(())
}

fn dies_of_too_much_memory(kantctl: &Kantctl) -> anyhow::Result<()> {
    let script = "#!/usr/bin/env python3\nx = bytearray(300 << 20)\nprint(len(x))\n";
    let id = kantctl.submit(&["--mem=64M", "-o", "/dev/null"], script)?;
    let job = kantctl.finished(&id)?;
    assert_eq!(job.outcome, Some(Outcome::OutOfMemory), "{job:?}");
    assert!(job.message.unwrap_or_default().contains("64M"), "the message names the limit");
    Ok(())
}

fn dies_of_too_much_time(kantctl: &Kantctl) -> anyhow::Result<()> {
    let script = "#!/bin/sh\ntrap '' TERM\nsleep 600 & sleep 600\nsleep 600\n";
    let id = kantctl.submit(&["--time=1s", "-o", "/dev/null"], script)?;
    let job = kantctl.finished(&id)?;
    assert_eq!(job.outcome, Some(Outcome::TimedOut), "{job:?}");
    Ok(())
}

/// A process that leaves its session and its parent still belongs to the job.
fn leaves_no_daemon(kantctl: &Kantctl) -> anyhow::Result<()> {
    let script = "#!/bin/sh\n\
        setsid sh -c 'sleep 600 & exec sleep 600' </dev/null >/dev/null 2>&1 &\n\
        echo left\n";
    assert_eq!(output(kantctl, &[], script)?, "left\n");
    Ok(())
}
