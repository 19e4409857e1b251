//! What kantctl says under Slurm's names of a wish without effect here: none is passed over.

#![allow(clippy::unwrap_used)] // a test fails by panicking

#[path = "house/elf.rs"]
mod elf;
mod house;
#[path = "house/linked.rs"]
mod linked;

use house::{House, json, refusal};
use linked::{slurm, slurm_with};
use serde_json::json as value;
use std::os::unix::fs::PermissionsExt;

/// Inside a job of three tasks on a node with four CPUs.
const INSIDE: [(&str, &str); 6] = [
    ("KANT_JOB_ID", "42"),
    ("KANT_NODE", "g-1"),
    ("KANT_NODE_COUNT", "1"),
    ("KANT_TASKS", "3"),
    ("KANT_NODE_CPUS", "4"),
    ("SLURM_JOB_ID", "42"),
];

#[tokio::test]
async fn srun_says_that_an_mpi_program_would_run_as_singletons() {
    let house = House::empty();
    for (name, libraries) in
        [("solve", &["libc.so.6", "libmpi.so.40"][..]), ("plain", &["libc.so.6"])]
    {
        let path = house.dir.path().join(name);
        std::fs::write(&path, elf::program(libraries)).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let told = "./solve needs libmpi.so.40, and srun starts no server for it here: 3 singletons \
                would start";
    let done = slurm_with(&house, &["srun", "./solve"], &INSIDE).await;
    assert!(done.err.contains(told) && done.err.contains("mpirun"), "{done:?}");
    for words in [
        &["srun", "--mpi=none", "./solve"][..],
        &["srun", "-n1", "./solve"],
        &["srun", "-Q", "./solve"],
        &["srun", "./plain"],
    ] {
        let done = slurm_with(&house, words, &INSIDE).await;
        assert!(!done.err.contains("singletons"), "{words:?}: {done:?}");
    }
    // Of a job of its own that is said before one is asked for.
    house.open(|_, _| refusal(403, "no jobs today"));
    let done = slurm(&house, &["srun", "-n", "64", "./solve"]).await;
    assert!(done.err.contains("64 singletons") && done.code == Some(1), "{done:?}");
}

#[tokio::test]
async fn sbatch_names_the_lines_that_ask_for_burst_buffers() {
    let house = House::answering(|_, _| json(value!({ "job": 42, "tasks": 0 })));
    let script = "#!/bin/sh\n#SBATCH -n 2\n#DW jobdw type=scratch capacity=1GB\n#BB create\n\
                  #BBQ is none\ntrue\n#DW too late to mean anything\n";
    let script = house.file("a.sh", script);
    let done = slurm(&house, &["sbatch", script.to_str().unwrap()]).await;
    assert_eq!(done.good(), "Submitted batch job 42\n");
    let lines: Vec<&str> = done.err.lines().collect();
    assert_eq!(lines.len(), 2, "{done:?}");
    assert!(lines[0].contains("a.sh, line 3: #DW is ignored"), "{done:?}");
    assert!(lines[1].contains("a.sh, line 4: #BB is ignored"), "{done:?}");
}
