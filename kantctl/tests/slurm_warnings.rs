//! The notes and warnings of Slurm's commands about requests without effect.

use crate::support::elf;
use crate::support::slurm_link::{slurm, slurm_with};
use crate::support::{TestController, json, refusal};
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
async fn srun_warns_that_an_mpi_program_would_run_as_singletons() {
    let controller = TestController::empty();
    for (name, libraries) in
        [("solve", &["libc.so.6", "libmpi.so.40"][..]), ("plain", &["libc.so.6"])]
    {
        let path = controller.dir.path().join(name);
        std::fs::write(&path, elf::program(libraries)).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let text = "./solve is linked with libmpi.so.40, and srun does not start an MPI launcher: 3 \
                singletons would start";
    let done = slurm_with(&controller, &["srun", "./solve"], &INSIDE).await;
    assert!(done.err.contains(text) && done.err.contains("mpirun"), "{done:?}");
    for words in [
        &["srun", "--mpi=none", "./solve"][..],
        &["srun", "-n1", "./solve"],
        &["srun", "-Q", "./solve"],
        &["srun", "./plain"],
    ] {
        let done = slurm_with(&controller, words, &INSIDE).await;
        assert!(!done.err.contains("singletons"), "{words:?}: {done:?}");
    }
    // For a new job, the warning comes before the job is submitted.
    controller.serve(|_, _| refusal(403, "no jobs today"));
    let done = slurm(&controller, &["srun", "-n", "64", "./solve"]).await;
    assert!(done.err.contains("64 singletons") && done.code == Some(1), "{done:?}");
}

#[tokio::test]
async fn sbatch_reports_the_lines_that_request_burst_buffers() {
    let controller = TestController::answering(|_, _| json(value!({ "job": 42, "tasks": 0 })));
    let script = "#!/bin/sh\n#SBATCH -n 2\n#DW jobdw type=scratch capacity=1GB\n#BB create\n\
                  #BBQ is none\ntrue\n#DW too late to mean anything\n";
    let script = controller.file("a.sh", script);
    let done = slurm(&controller, &["sbatch", script.to_str().unwrap()]).await;
    assert_eq!(done.good(), "Submitted batch job 42\n");
    let lines: Vec<&str> = done.err.lines().collect();
    assert_eq!(lines.len(), 2, "{done:?}");
    assert!(lines[0].contains("a.sh, line 3: #DW is ignored"), "{done:?}");
    assert!(lines[1].contains("a.sh, line 4: #BB is ignored"), "{done:?}");
}
