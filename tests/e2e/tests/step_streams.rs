//! The input and output of tasks with a slow or missing reader: buffers are bounded, and the step
//! can still be signalled and ended. Also the site's task prolog, and a program that does not
//! exist.

use anyhow::Context as _;
use e2e::{Cluster, ClusterOptions, Kantctl, Person, wait_for};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const MIB: usize = 1 << 20;

fn two_nodes() -> ClusterOptions {
    ClusterOptions::cpu_nodes(&["n1", "n2"])
}

fn spawned(kantctl: &Kantctl, words: &[&str]) -> anyhow::Result<Child> {
    let mut command = kantctl.command();
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Ok(command.spawn()?)
}

/// Waits for a file and returns its text.
fn wait_for_file(kantctl: &Kantctl, name: &str) -> anyhow::Result<String> {
    let file = kantctl.dir().join(name);
    let text = wait_for(name, || {
        Ok(std::fs::read_to_string(&file).ok().filter(|text| text.ends_with('\n')))
    })?;
    Ok(text.trim().to_owned())
}

/// The largest output file in a spool.
fn largest_output(spool: &Path) -> u64 {
    let steps = std::fs::read_dir(spool.join("steps")).into_iter().flatten().flatten();
    let files =
        steps.flat_map(|step| std::fs::read_dir(step.path()).into_iter().flatten().flatten());
    let sizes = files.filter_map(|file| file.metadata().ok()).map(|facts| facts.blocks() * 512);
    sizes.max().unwrap_or(0)
}

#[test]
fn a_step_whose_output_is_not_read_blocks_and_can_be_ended() -> anyhow::Result<()> {
    const WRITES: usize = 64;
    let cluster = Cluster::start(two_nodes())?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let script = format!(
        "echo $KANT_JOB_ID >job.$SLURM_PROCID; dd if=/dev/zero bs=1M count={WRITES} 2>/dev/null; \
         echo over >over.$SLURM_PROCID"
    );
    let words = ["run", "-N2", "--ntasks-per-node=1", "sh", "-c", &script];
    let mut child = spawned(&kantctl, &words)?;
    let mut stdout = child.stdout.take().context("no output")?;
    let job = wait_for_file(&kantctl, "job.0")?;
    assert_eq!(wait_for_file(&kantctl, "job.1")?, job);
    // On the node beside the one that kantctl talks to its starter on by a pipe.
    let spools = ["n1", "n2"].map(|node| cluster.dir().join(format!("spool-{node}")));
    let waiting = || spools.iter().map(|spool| largest_output(spool)).max().unwrap_or(0);
    wait_for("what waits", || Ok((waiting() >= 4 * MIB as u64).then_some(())))?;
    assert!(waiting() < 16 * MIB as u64, "{} bytes are in a spool", waiting());
    let names = kantctl.dir().join("names");
    kantctl.ok(&["install-slurm-names", &names.to_string_lossy()])?;
    let mut scancel = Command::new(names.join("scancel"));
    scancel.env_clear().env("KANT_SOCKET", cluster.dir().join("kantctld.sock"));
    Person::plain().dress(&mut scancel);
    let output = scancel.arg(format!("{job}.0")).output()?;
    assert!(output.status.success(), "{output:?}");
    let mut came = Vec::new();
    stdout.read_to_end(&mut came)?;
    let status = child.wait()?;
    assert_eq!(status.code(), Some(128 + 15), "{status:?}");
    assert!(came.len() < WRITES * MIB, "{} bytes arrived", came.len());
    for rank in 0..2 {
        assert!(!kantctl.dir().join(format!("over.{rank}")).exists(), "task {rank} did not block");
    }
    Ok(())
}

#[test]
fn all_output_of_tasks_arrives_even_when_read_late() -> anyhow::Result<()> {
    const WRITES: usize = 24;
    let cluster = Cluster::start(two_nodes())?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let script =
        format!("dd if=/dev/zero bs=1M count={WRITES} 2>/dev/null; echo up >up.$SLURM_PROCID");
    let words = ["run", "-N2", "--ntasks-per-node=1", "sh", "-c", &script];
    let mut child = spawned(&kantctl, &words)?;
    let mut stdout = child.stdout.take().context("no output")?;
    let spool = cluster.dir().join("spool-n2");
    let other = cluster.dir().join("spool-n1");
    let waits = || largest_output(&spool).max(largest_output(&other)) >= 4 * MIB as u64;
    wait_for("what waits", || Ok(waits().then_some(())))?;
    let mut came = Vec::new();
    stdout.read_to_end(&mut came)?;
    assert_eq!(came.len(), 2 * WRITES * MIB);
    assert_eq!(child.wait()?.code(), Some(0));
    Ok(())
}

#[test]
fn input_that_a_task_does_not_read_blocks_its_writer() -> anyhow::Result<()> {
    const SENT: usize = 32 * MIB;
    let cluster = Cluster::start(two_nodes())?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let script = "echo up >up; until [ -e go ]; do sleep 0.05; done; wc -c";
    let mut child = spawned(&kantctl, &["run", "-N1", "sh", "-c", script])?;
    let mut input = child.stdin.take().context("no input")?;
    let taken = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&taken);
    let writer = std::thread::spawn(move || {
        for _ in 0..SENT / MIB {
            input.write_all(&[b'x'; MIB])?;
            count.fetch_add(MIB, Ordering::AcqRel);
        }
        std::io::Result::Ok(())
    });
    wait_for_file(&kantctl, "up")?;
    wait_for("a part of the input to be taken", || {
        Ok((taken.load(Ordering::Acquire) >= MIB).then_some(()))
    })?;
    let so_far = taken.load(Ordering::Acquire);
    kantctl.touch("go")?;
    assert!(so_far < 8 * MIB, "{so_far} bytes were taken without a reader");
    let output = child.wait_with_output()?;
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), SENT.to_string(), "{output:?}");
    writer.join().expect("it does not panic")?;
    Ok(())
}

#[test]
fn a_missing_program_has_the_exit_code_of_srun_or_of_a_shell() -> anyhow::Result<()> {
    let cluster = Cluster::start(two_nodes())?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let names = kantctl.dir().join("names").to_string_lossy().into_owned();
    kantctl.ok(&["install-slurm-names", &names])?;
    let script = format!(
        "#!/bin/sh\n{names}/srun -N1 /no/such\necho $? >codes\n\
         {names}/srun -N1 /etc/passwd\necho $? >>codes\nkantctl run -N1 /no/such\necho $? >>codes\n"
    );
    let id = kantctl.submit(&["-N2", "--ntasks-per-node=1"], &script)?;
    kantctl.finished(&id)?;
    let codes = kantctl.read("codes")?;
    let log = kantctl.ok(&["logs", &id])?;
    // ENOENT and EACCES, as in Slurm; and a shell's code.
    assert_eq!(codes, "2\n13\n127\n", "{log}");
    assert!(log.contains("failed to start /no/such: No such file"), "{log}");
    Ok(())
}

#[test]
fn the_sites_task_prolog_also_runs_before_each_task_of_srun() -> anyhow::Result<()> {
    let with_prolog = |config: &mut common::config::NodeConfig| {
        let file = format!("{}-prolog", config.spool_dir);
        let text = "#!/bin/sh\necho export FROM_PROLOG=$SLURM_PROCID\n";
        std::fs::write(&file, text).expect("the cluster's directory takes a file");
        let all = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&file, all).expect("it is ours");
        config.task_prolog = file;
    };
    let node = Some(with_prolog as fn(&mut common::config::NodeConfig));
    let cluster = Cluster::start(ClusterOptions { node, ..two_nodes() })?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let words = ["run", "-N2", "--ntasks-per-node=1", "-l", "sh", "-c", "echo has $FROM_PROLOG"];
    let answer = kantctl.run(&words)?;
    let mut lines: Vec<&str> = answer.stdout.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["0: has 0", "1: has 1"], "{answer:?}");
    Ok(())
}
